/* SPDX-License-Identifier: MIT */
/*
 * Rows found by a number: counts and sums per system call, thread, vector. A row is a struct of the
 * caller's whose first member is `uint64_t key`, which the map sets and the caller leaves alone;
 * new ones are zero but for it. Bounded: beyond MAP_MAX_ROWS nothing new is taken.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/hash.h"

#include <stddef.h>

#define MAP_MAX_ROWS (4u << 20)

struct map {
	struct buf rows;
	struct hash index;
	size_t row_bytes;
};

#define MAP_INIT(type) ((struct map){.row_bytes = sizeof(type) + 0 * sizeof(struct MAP_KEY(type))})
/* Does not compile where the row does not begin with its key. */
#define MAP_KEY(type)                                                                              \
	{                                                                                          \
		_Static_assert(offsetof(type, key) == 0 &&                                         \
				       sizeof(((type *)0)->key) == sizeof(uint64_t),               \
			       "a row begins with uint64_t key");                                  \
		char c;                                                                            \
	}

void map_free(struct map *m);
/* The row of `key`, made if it isn't there: valid until the next one is made. NULL: out of memory,
 * or too many. */
void *map_row(struct map *m, uint64_t key);
/* NULL when it isn't there. */
void *map_find(const struct map *m, uint64_t key);

static inline size_t map_nr(const struct map *m)
{
	return m->row_bytes ? m->rows.len / m->row_bytes : 0;
}

static inline void *map_nth(const struct map *m, size_t i)
{
	return m->rows.p + i * m->row_bytes;
}

/* Puts the rows in another order; they can't be found by key any more. */
void map_sort(struct map *m, int (*compare)(const void *, const void *));
