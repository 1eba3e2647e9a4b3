/* SPDX-License-Identifier: MIT */
/*
 * How large rings are that nobody gave a size: --memory is divided over them in proportion to the
 * sizes that their preset names, which they are never below. Pure arithmetic; recording.c asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caps;

/* --memory: a size, or a part of the machine's memory. */
struct ring_size_memory {
	uint64_t bytes;	  /* 0: rings are as large as their preset says */
	unsigned percent; /* not 0: of the memory; then `bytes` is not looked at */
};

/* A part of the memory is at most this in all, ... */
#define RINGSIZE_MAX_BYTES (1ull << 30)
/* ... and this for each CPU: a dump is of half of it, and shall be written in seconds. */
#define RINGSIZE_MAX_CPU_BYTES (128ull << 20)

/* The rings of one channel. */
struct ring_size {
	uint64_t bytes;	 /* of one, a power of two of pages; what the preset says */
	size_t nr_rings; /* all banks and CPUs */
	bool fixed;	 /* somebody gave the size: it stays */
};

/* Bytes that all rings together may have: of `memory`, for a machine with so many bytes and CPUs;
 * for a user with a limit at most that. 0: rings stay as they are. */
uint64_t ring_size_budget(const struct ring_size_memory *memory, uint64_t machine_bytes,
			  unsigned nr_cpus, const struct caps *caps);
/*
 * Makes the rings that are not fixed larger, in the proportion in which they are, so that all
 * together are at most `budget`; none gets smaller. True when any did get larger.
 */
bool ring_size_divide(struct ring_size *rings, size_t nr, uint64_t budget);

/* The memory of this machine. */
uint64_t ring_size_machine(void);
