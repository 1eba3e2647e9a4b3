// SPDX-License-Identifier: MIT
/* Thresholds with for= and hysteresis=; see threshold.h. */
#include "trigger/sources/threshold.h"

#include "trigger/engine/rule.h"

#include <assert.h>

#define DEFAULT_HYSTERESIS 10

static bool is_beyond(const struct threshold *l, double value)
{
	return l->above ? value > l->threshold : value < l->threshold;
}

static bool is_back(const struct threshold *l, double value)
{
	return l->above ? value <= l->rearm : value >= l->rearm;
}

void threshold_init(struct threshold *l, const struct rule *r, double threshold, double most)
{
	double percent = r->hysteresis_percent >= 0 ? r->hysteresis_percent : DEFAULT_HYSTERESIS;
	double back = threshold * percent / 100;

	assert(r->op == RULE_OP_ABOVE || r->op == RULE_OP_BELOW);
	*l = (struct threshold){
		.threshold = threshold,
		.above = r->op == RULE_OP_ABOVE,
		.for_ns = r->for_ns > 0 ? (uint64_t)r->for_ns : 0,
	};
	/* At most half the way to the maximum: a value rarely reaches the maximum itself. */
	if (!l->above && most > threshold && back > (most - threshold) / 2)
		back = (most - threshold) / 2;
	l->rearm = l->above ? threshold - back : threshold + back;
}

bool threshold_feed(struct threshold *l, double value, uint64_t ns)
{
	if (l->state == LEVEL_FIRED) {
		if (is_back(l, value))
			l->state = LEVEL_ARMED;
		return false;
	}
	if (!is_beyond(l, value)) {
		l->state = LEVEL_ARMED;
		return false;
	}
	if (l->state == LEVEL_ARMED) {
		l->state = LEVEL_PENDING;
		l->began_ns = ns;
	}
	if (ns - l->began_ns < l->for_ns)
		return false;
	l->state = LEVEL_FIRED;
	return true;
}

double threshold_distance(const struct threshold *l, double value)
{
	double d = l->above ? l->threshold - value : value - l->threshold;

	return l->state == LEVEL_ARMED && d > 0 ? d : 0;
}

bool pulse_feed(struct pulse *p, uint64_t ns)
{
	if (!p->last_ns || ns - p->last_ns > p->gap_ns) {
		p->began_ns = ns;
		p->fired = false;
	}
	p->last_ns = ns;
	if (p->fired || ns - p->began_ns < p->for_ns)
		return false;
	p->fired = true;
	return true;
}
