/* SPDX-License-Identifier: MIT */
/*
 * The timer of rules that poll. All timers expire at whole seconds of CLOCK_MONOTONIC, so any
 * number of rules wakes the recorder at most once per second; at each wake-up all rules that are
 * due poll.
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
void poll_timer_close(struct poll_timer *t); /* a closed or unopened timer (fd -1) is allowed */

uint64_t poll_timer_now(void);

/* True if it is due. Compares times only, so it may be called at each wake-up. */
bool poll_timer_is_due(const struct poll_timer *t, uint64_t now_ns);
/* Due at the next multiple of `seconds` (at least 1). */
void poll_timer_in(struct poll_timer *t, uint64_t now_ns, unsigned seconds);
/* Due at `ns`, a whole second or 0 for now; UINT64_MAX: stops it. */
void poll_timer_at(struct poll_timer *t, uint64_t ns);

/* Seconds until a value that changes by at most `fastest` per second can have moved by `distance`;
 * 1 to `most`. */
unsigned poll_timer_seconds(double distance, double fastest, unsigned most);
