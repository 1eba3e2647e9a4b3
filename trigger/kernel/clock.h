/* SPDX-License-Identifier: MIT */
/* The recorder's clock, CLOCK_MONOTONIC, which also stamps its events. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* In ns. */
static inline uint64_t clock_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}
