/* SPDX-License-Identifier: MIT */
/* The monotonic clock, for tests and for load programs that link no library. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
