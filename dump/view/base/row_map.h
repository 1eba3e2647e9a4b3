/* SPDX-License-Identifier: MIT */
/*
 * A hash table of rows by number, such as counts per system call or thread. A row is a struct of
 * the caller with `uint64_t key` as its first member. The map sets the key and zeroes the rest of a
 * new row. Holds at most MAP_MAX_ROWS.
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
/* The row of `key`, added if needed; valid until the next addition. NULL: out of memory, or too
 * many rows. */
void *map_row(struct map *m, uint64_t key);
/* NULL: there is none. */
void *map_find(const struct map *m, uint64_t key);

static inline size_t map_nr(const struct map *m)
{
	return m->row_bytes ? m->rows.len / m->row_bytes : 0;
}

static inline void *map_nth(const struct map *m, size_t i)
{
	return m->rows.p + i * m->row_bytes;
}

/* Sorts the rows; after that, map_find() and map_row() find none of them. */
void map_sort(struct map *m, int (*compare)(const void *, const void *));
