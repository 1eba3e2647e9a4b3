// SPDX-License-Identifier: MIT
/* A hash table of rows in one array; see row_map.h. */
#include "dump/view/base/row_map.h"

#include <stdlib.h>
#include <string.h>

void map_free(struct map *m)
{
	buf_free(&m->rows);
	free(m->slots);
	m->slots = NULL;
	m->nr_slots = 0;
	memset(m->lately, 0, sizeof(m->lately));
}

static uint64_t key_of(const struct map *m, size_t i)
{
	uint64_t key;

	memcpy(&key, map_nth(m, i), sizeof(key));
	return key;
}

/* Where the key is, or the free slot where it would be. */
static size_t slot_of(const struct map *m, uint64_t key)
{
	uint64_t h = (key ^ key >> 31) * 0x9e3779b97f4a7c15ull;
	size_t at = (h ^ h >> 29) & (m->nr_slots - 1);

	while (m->slots[at] && key_of(m, m->slots[at] - 1) != key)
		at = (at + 1) & (m->nr_slots - 1);
	return at;
}

static bool grow(struct map *m)
{
	size_t nr = m->nr_slots ? m->nr_slots * 2 : 64;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return false;
	free(m->slots);
	m->slots = slots;
	m->nr_slots = nr;
	for (size_t i = 0; i < map_nr(m); i++)
		m->slots[slot_of(m, key_of(m, i))] = (uint32_t)i + 1;
	return true;
}

/* Where the row is noted that was asked for last, of this and few other keys. */
static size_t lately_of(uint64_t key)
{
	return (key ^ key >> 6) & (MAP_LATELY - 1);
}

/* The row with the key, + 1; 0: there is none. */
static uint32_t number_of(const struct map *m, uint64_t key)
{
	uint32_t lately = m->lately[lately_of(key)];

	if (lately && key_of(m, lately - 1) == key)
		return lately;
	return m->nr_slots ? m->slots[slot_of(m, key)] : 0;
}

void *map_find(const struct map *m, uint64_t key)
{
	uint32_t nr = number_of(m, key);

	return nr ? map_nth(m, nr - 1) : NULL;
}

void *map_row(struct map *m, uint64_t key)
{
	uint32_t nr = number_of(m, key);
	uint8_t *row;

	if (nr) {
		m->lately[lately_of(key)] = nr;
		return map_nth(m, nr - 1);
	}
	if (map_nr(m) >= MAP_MAX_ROWS || (2 * (map_nr(m) + 1) > m->nr_slots && !grow(m)) ||
	    buf_reserve(&m->rows, m->row_bytes))
		return NULL;
	row = m->rows.p + m->rows.len;
	memset(row, 0, m->row_bytes);
	memcpy(row, &key, sizeof(key));
	m->slots[slot_of(m, key)] = (uint32_t)map_nr(m) + 1;
	m->rows.len += m->row_bytes;
	return row;
}

void map_sort(struct map *m, int (*compare)(const void *, const void *))
{
	memset(m->lately, 0, sizeof(m->lately));
	if (map_nr(m) > 1)
		qsort(m->rows.p, map_nr(m), m->row_bytes, compare);
}
