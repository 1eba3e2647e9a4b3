// SPDX-License-Identifier: MIT
/*
 * Source "load>N": the load average over one minute, read every 5 s, the kernel's update interval.
 */
#include "trigger/sources/polled.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define UPDATED_S 5

struct load_source {
	struct source polled;
	double five, fifteen;
	unsigned runnable, threads;
};

static int load_look(struct source *p, uint64_t now_ns, double *value, uint64_t *began_ns,
		     struct err *err)
{
	struct load_source *s = (struct load_source *)p;
	char text[128];
	int rc = polled_read(p, text, sizeof(text));

	if (rc)
		return err_sys(err, rc, "can't read /proc/loadavg");
	if (sscanf(text, "%lf %lf %lf %u/%u", value, &s->five, &s->fifteen, &s->runnable,
		   &s->threads) != 5)
		return err_set(err, -EPROTO, "unexpected text in /proc/loadavg: %.40s", text);
	return 1;
}

static void load_text(const struct source *s, double value, char *out, size_t n)
{
	snprintf(out, n, "%.2f", value);
}

static void load_more(const struct source *p, struct sighting *what)
{
	const struct load_source *s = (const struct load_source *)p;

	sighting_add(what, "load5=%.2f", s->five);
	sighting_add(what, "load15=%.2f", s->fifteen);
	sighting_add(what, "runnable=%u", s->runnable);
	sighting_add(what, "threads=%u", s->threads);
}

static const struct polled_ops ops = {sizeof(struct load_source), load_look, load_text, load_more};

static int check(const struct rule *r, double *threshold, struct err *err)
{
	int rc = rule_check_value(r, NULL, "><", "load>16", err);

	if (!rc)
		rc = rule_check_number(r, threshold, err);
	if (!rc && r->op == RULE_OP_BELOW && *threshold <= 0)
		rc = rule_err(r->text, r->threshold_at, err,
			      "the load is never below %s, so the rule can't be met", r->threshold);
	return rc;
}

static int load_open(const struct rule *r, const struct source_env *env, struct source **out,
		     struct err *err)
{
	struct source *s;
	double threshold = 0;
	int rc = check(r, &threshold, err);

	if (rc)
		return rc;
	rc = polled_new(&ops, r, &s, err);
	if (rc)
		return rc;
	threshold_init(&s->level, r, threshold, 0);
	snprintf(s->threshold, sizeof(s->threshold), "%g", threshold);
	s->step_s = UPDATED_S;
	s->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	rc = s->fd < 0 ? err_sys(err, -errno, "can't open /proc/loadavg") : 0;
	return polled_start(s, rc, out, err);
}

static void load_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "the one-minute load average in /proc/loadavg");
	polled_costs(s, out);
}

const struct source_ops source_load = {
	.name = "load",
	.syntax = "load>N",
	.help = "the load average over one minute is above (or below)",
	.example = "load>16",
	.open = load_open,
	.plan = load_plan,
	POLLED_OPS,
};
