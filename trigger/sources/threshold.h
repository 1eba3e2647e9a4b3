/* SPDX-License-Identifier: MIT */
/*
 * A measured value against a threshold: when it is a hit, and when the next one may be. Pure; for
 * all sources that measure something. One hit an excursion:
 *
 *	             beyond               beyond for for_ns
 *	  ARMED ───────────────▶ PENDING ───────────────────▶ FIRED
 *	    ▲ ▲      not beyond     │       (at once: 0)         │
 *	    │ └─────────────────────┘                            │
 *	    └────────────────────────────────────────────────────┘
 *	          back by the hysteresis: at `rearm` or past it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rule;

enum threshold_state { LEVEL_ARMED, LEVEL_PENDING, LEVEL_FIRED };

struct threshold {
	double threshold, rearm;
	bool above; /* met above the threshold; else below it */
	uint64_t for_ns;
	enum threshold_state state;
	uint64_t began_ns; /* in PENDING and FIRED: the first value beyond */
};

/*
 * From the rule's comparison, for= and hysteresis= (10% of the threshold when not given). `most`:
 * the largest value there can be, so that the way back is never out of reach; 0: no such limit.
 */
void threshold_init(struct threshold *l, const struct rule *r, double threshold, double most);

/* A value, as of `ns`; times must not go back. Whether it is a hit. */
bool threshold_feed(struct threshold *l, double value, uint64_t ns);

/* How far the value has to go until the rule may be met; 0: no distance, or it is of no use to wait
 * since the state may change with each value. */
double threshold_distance(const struct threshold *l, double value);

/*
 * For a condition that somebody else watches, who tells again and again as long as it holds: the
 * kernel does so of pressure, at most once a window. Silence for `gap_ns` ends the excursion.
 */
struct pulse {
	uint64_t gap_ns, for_ns;
	uint64_t began_ns, last_ns; /* of the excursion; 0: none yet */
	bool fired;
};

/* It was told at `ns`. Whether that is a hit: one an excursion, when it has lasted for_ns. */
bool pulse_feed(struct pulse *p, uint64_t ns);
