/* SPDX-License-Identifier: MIT */
/*
 * Numbers for pairs: the same pair gets the same number, 1 for the first, then +1. With a number as
 * the first of the next pair, paths become numbers too: that is how exporters keep each call stack
 * once, outer frames shared.
 */
#pragma once

#include "dump/base/bytes.h"

struct pair_ids {
	struct buf pairs;
	uint32_t *slots; /* nr_slots of them, a power of two; 0: free */
	size_t nr_slots;
};

/* The pair's number; 0: out of memory. *is_new (may be NULL): it was not there before. */
uint32_t pair_ids_add(struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new);
/* The pair of a number that was given out. */
void pair_ids_get(const struct pair_ids *m, uint32_t id, uint64_t *a, uint64_t *b);
/* The largest number given out. */
uint32_t pair_ids_nr(const struct pair_ids *m);
/* Zero-initialised is empty. */
void pair_ids_free(struct pair_ids *m);
