/* SPDX-License-Identifier: MIT */
/*
 * Numbers for pairs: the same pair gets the same number, 1 for the first, then +1. With a number as
 * the first of the next pair, paths get numbers too: exporters keep each call stack once that way,
 * and stacks share their outer frames.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/hash.h"

/* Zero-initialise; pair_ids_free() ends it. */
struct pair_ids {
	struct buf pairs;
	struct hash index;
};

/* The pair's number; 0: out of memory. *is_new (may be NULL): it was not there before. */
uint32_t pair_ids_add(struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new);
/* The pair of a number that was given out. */
void pair_ids_get(const struct pair_ids *m, uint32_t id, uint64_t *a, uint64_t *b);
/* The largest number given out. */
static inline uint32_t pair_ids_nr(const struct pair_ids *m)
{
	return m->index.nr;
}
void pair_ids_free(struct pair_ids *m);
