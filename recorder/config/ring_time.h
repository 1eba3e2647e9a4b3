/* SPDX-License-Identifier: MIT */
/*
 * Sizes of rings that shall hold a time: from what was written to them lately, within a budget. Pure
 * arithmetic, called by resize.c.
 *
 * A ring is looked at whenever a quarter of it was written. It has room for half more than the time
 * asked, so at a look, with the oldest quarter about to be overwritten, the other three hold the time
 * and an eighth: whatever the load becomes, the next look is early enough.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_TIME_MIN_BYTES (64u << 10)

/* What was written to a ring since it was armed. Times are those that the newest bytes took. */
struct ring_load {
	uint64_t size; /* of the ring */
	uint64_t written;
	uint64_t since_ns;   /* of all that was written */
	uint64_t quarter_ns; /* of a quarter of the ring */
	uint64_t most_ns;    /* of three quarters */
	uint64_t all_ns;     /* of as much as the ring holds */
};

/* Bytes a second, lately. */
uint64_t ring_time_rate(const struct ring_load *l);

/* The size of a ring that holds `horizon_ns` of so many bytes a second. */
uint64_t ring_time_bytes(uint64_t bytes_per_second, int64_t horizon_ns);

/*
 * The size that a ring needs to hold `horizon_ns`; its own size as long as that will do: it grows
 * when three quarters of it took less than the time, and shrinks when a quarter of it is enough.
 */
uint64_t ring_time_need(const struct ring_load *l, int64_t horizon_ns);

/* One ring, for ring_time_fit(). */
struct ring_want {
	size_t channel;	   /* a number below nr_channels */
	unsigned nr_banks; /* rings of that size */
	uint64_t now, need;
	uint64_t size;	/* result: equal to `now`, or smaller or larger */
	uint64_t share; /* of the budget, for all its banks; set by ring_time_fit() */
};

/* Growing takes this many times at most: a short burst in a small ring tells little. */
#define RING_TIME_MAX_GROWTH 8

/*
 * Sizes that together take at most `budget`. Each channel has an equal share of it, and each of its
 * rings an equal share of that. What a ring does not need, others may have until it does.
 */
void ring_time_fit(struct ring_want *v, size_t nr, size_t nr_channels, uint64_t budget);
