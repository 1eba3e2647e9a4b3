/* SPDX-License-Identifier: MIT */
/*
 * The timer of rules that have to look. All of them are due at whole seconds of CLOCK_MONOTONIC, so
 * that any number of rules wakes the recorder at most once a second: whichever timer wakes it, all
 * that are due look at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

#define TICK_NS 1000000000ull

struct poll_timer {
	int fd; /* readable when due */
	uint64_t due_ns;
};

int poll_timer_open(struct poll_timer *t, struct err *err);
void poll_timer_close(struct poll_timer *t); /* closed or never opened (fd -1) allowed */

uint64_t poll_timer_now(void);

/* Whether it is due; asks the clock only, so it may be called at each wake-up of the recorder. */
bool poll_timer_is_due(const struct poll_timer *t, uint64_t now_ns);
/* Due at the next multiple of `seconds` (at least 1). */
void poll_timer_in(struct poll_timer *t, uint64_t now_ns, unsigned seconds);
/* Due at `ns`, which should be a whole second unless it is now; UINT64_MAX: not at all. */
void poll_timer_at(struct poll_timer *t, uint64_t ns);

/*
 * For how many seconds it is of no use to look: what can change by `fastest` a second has to go
 * `distance`. 1 to `most`.
 */
unsigned poll_timer_seconds(double distance, double fastest, unsigned most);
