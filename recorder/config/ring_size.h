/* SPDX-License-Identifier: MIT */
/*
 * Sizes of rings without a size of their own: --memory is divided among them in proportion to their
 * preset's sizes, and never below these. Pure arithmetic, called by recording.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caps;

/* --memory: a size, or a part of the machine's memory. */
struct ring_size_memory {
	uint64_t bytes;	  /* 0: the preset's sizes */
	unsigned percent; /* not 0: of the machine's memory; `bytes` is ignored */
};

/* Limits of a percentage: in total, */
#define RINGSIZE_MAX_BYTES (1ull << 30)
/* and for each CPU. A dump has half of it, and must be written in seconds. */
#define RINGSIZE_MAX_CPU_BYTES (128ull << 20)

/* The rings of one channel. */
struct ring_size {
	uint64_t bytes;	 /* of one, a power of two of pages; at first the preset's */
	size_t nr_rings; /* all banks and CPUs */
	bool fixed;	 /* given by the user */
};

/* Bytes for all rings: `memory` of a machine with so many bytes and CPUs, within the user's limit.
 * 0: rings keep their sizes. */
uint64_t ring_size_budget(const struct ring_size_memory *memory, uint64_t machine_bytes,
			  unsigned nr_cpus, const struct caps *caps);
/*
 * Enlarges the rings that are not fixed in proportion, so that all rings take at most `budget`; none
 * becomes smaller. True if any became larger.
 */
bool ring_size_divide(struct ring_size *rings, size_t nr, uint64_t budget);

/* The memory of this machine. */
uint64_t ring_size_machine(void);
