/* SPDX-License-Identifier: MIT */
/*
 * Compares a measured value with a threshold, for all sources that measure a value. Each excursion
 * beyond the threshold is one hit. Pure.
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
	bool above; /* true: hit above the threshold; false: below */
	uint64_t for_ns;
	enum threshold_state state;
	uint64_t began_ns; /* time of the first value beyond, in PENDING and FIRED */
};

/* From the rule's comparison, for= and hysteresis= (default: 10% of the threshold). `most` is the
 * largest possible value, so that `rearm` stays reachable; 0: no limit. */
void threshold_init(struct threshold *l, const struct rule *r, double threshold, double most);

/* Takes the value at time `ns`, which must not decrease. True: a hit. */
bool threshold_feed(struct threshold *l, double value, uint64_t ns);

/* The distance of the value from the threshold; 0: beyond it or not ARMED, so that any value may
 * change the state. */
double threshold_distance(const struct threshold *l, double value);

/* For a condition that the kernel watches and reports repeatedly while it holds, such as pressure
 * (at most once per window). A gap of `gap_ns` ends the excursion. */
struct pulse {
	uint64_t gap_ns, for_ns;
	uint64_t began_ns, last_ns; /* of the excursion; 0: none yet */
	bool fired;
};

/* Takes a report at `ns`. True: a hit, once per excursion, when it has lasted for_ns. */
bool pulse_feed(struct pulse *p, uint64_t ns);
