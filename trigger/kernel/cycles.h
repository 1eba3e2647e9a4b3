/* SPDX-License-Identifier: MIT */
/*
 * The processor's own clock, which hardware traces are stamped with: the TSC on x86, CNTVCT on
 * arm64. Elsewhere there is none that is known here, and it reads 0.
 */
#pragma once

#include <stdint.h>

uint64_t cycles_now(void);

/* One moment in both clocks: in cycles, and in ns of CLOCK_MONOTONIC. Off by some 20 ns. */
struct cycles_pair {
	uint64_t cycles, ns;
};

void cycles_pair(struct cycles_pair *out);

/*
 * From cycles to perf's own clock, as the kernel tells it (time_zero, time_mult and time_shift of
 * perf_event_mmap_page). All 0 where it does not.
 */
struct cycles_scale {
	uint64_t zero;
	uint32_t mult, shift;
};

void cycles_scale(struct cycles_scale *out);
