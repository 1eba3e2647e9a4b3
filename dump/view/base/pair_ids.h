/* SPDX-License-Identifier: MIT */
/*
 * Numbers for pairs: equal pairs get the same number, 1 for the first, then +1. A number can be the
 * first of another pair, so paths get numbers, too: exporters store each call stack once this way,
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

/* The pair's number; 0: out of memory. *is_new (may be NULL): it was added now. */
uint32_t pair_ids_add(struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new);
/* The pair of a number that was given out. */
void pair_ids_get(const struct pair_ids *m, uint32_t id, uint64_t *a, uint64_t *b);
/* The largest number given out. */
static inline uint32_t pair_ids_nr(const struct pair_ids *m)
{
	return m->index.nr;
}
void pair_ids_free(struct pair_ids *m);
