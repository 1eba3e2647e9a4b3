/* SPDX-License-Identifier: MIT */
/* Events with fixed names: the kernel's software counters, generic hardware events, hardware cache
 * events (L1-dcache-load-misses) and raw ones (r1a8). Pure tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct closest;

struct event_name {
	uint32_t type; /* PERF_TYPE_SOFTWARE, _HARDWARE, _HW_CACHE or _RAW */
	uint64_t config;
	bool clock;	  /* counts time: sampled by frequency */
	bool sample_addr; /* faults: PERF_SAMPLE_ADDR is the faulting address */
};

bool event_name_find(const char *name, struct event_name *out);
/* Name `i` of the software events; NULL: end of the list. */
const char *event_name_software(size_t i);
/* Offers all names except raw ones. */
void event_name_closest(struct closest *c);
