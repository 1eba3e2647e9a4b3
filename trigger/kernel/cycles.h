/* SPDX-License-Identifier: MIT */
/* The processor's cycle counter, which stamps hardware traces: the TSC on x86, CNTVCT on arm64. On
 * other architectures it reads as 0. */
#pragma once

#include <stdint.h>

uint64_t cycles_now(void);

/* One moment in cycles and in ns of CLOCK_MONOTONIC, accurate to some 20 ns. */
struct cycles_pair {
	uint64_t cycles, ns;
};

void cycles_pair(struct cycles_pair *out);

/* Conversion from cycles to perf's clock, from time_zero, time_mult and time_shift of
 * perf_event_mmap_page. All 0 if the kernel does not provide it. */
struct cycles_scale {
	uint64_t zero;
	uint32_t mult, shift;
};

void cycles_scale(struct cycles_scale *out);
