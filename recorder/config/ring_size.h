/* SPDX-License-Identifier: MIT */
/*
 * Sizes of rings without a given size: --memory is divided among them in proportion to the preset's
 * sizes, which are also their minimum. Pure arithmetic, called by recording.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caps;

/* --memory: a size, or a percentage of the machine's memory. */
struct ring_size_memory {
	uint64_t bytes;	  /* 0: the preset's sizes */
	unsigned percent; /* of the machine's memory; not 0: `bytes` is ignored */
};

/* Limits of a percentage: in total, */
#define RINGSIZE_MAX_BYTES (1ull << 30)
/* and per CPU. A dump contains half of it and must be written within seconds. */
#define RINGSIZE_MAX_CPU_BYTES (128ull << 20)

/* The rings of one channel. */
struct ring_size {
	uint64_t bytes;	 /* of one ring, a power of two of pages; initially the preset's */
	size_t nr_rings; /* over all banks and CPUs */
	bool fixed;	 /* given by the user */
};

/* Bytes for all rings: `memory` of a machine with this memory and number of CPUs, within the user's
 * limit. 0: the rings keep their sizes. */
uint64_t ring_size_budget(const struct ring_size_memory *memory, uint64_t machine_bytes,
			  unsigned nr_cpus, const struct caps *caps);
/*
 * Enlarges the rings that are not fixed in proportion, so that all rings take at most `budget`; none
 * becomes smaller. True if any became larger.
 */
bool ring_size_divide(struct ring_size *rings, size_t nr, uint64_t budget);

/* The memory of this machine in bytes. */
uint64_t ring_size_machine(void);
