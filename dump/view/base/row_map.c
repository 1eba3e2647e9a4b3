// SPDX-License-Identifier: MIT
/* Rows by key; see row_map.h. */
#include "dump/view/base/row_map.h"

#include <stdlib.h>
#include <string.h>

void map_free(struct map *m)
{
	buf_free(&m->rows);
	hash_free(&m->index);
}

void *map_find(const struct map *m, uint64_t key)
{
	uint64_t hash = hash_mix(0, key), other;
	uint32_t at = 0, row;

	while (hash_next(&m->index, hash, &at, &row)) {
		memcpy(&other, map_nth(m, row), sizeof(other));
		if (other == key)
			return map_nth(m, row);
	}
	return NULL;
}

void *map_row(struct map *m, uint64_t key)
{
	uint8_t *row = map_find(m, key);

	if (row)
		return row;
	if (map_nr(m) >= MAP_MAX_ROWS || buf_reserve(&m->rows, m->row_bytes) ||
	    hash_add(&m->index, hash_mix(0, key)))
		return NULL;
	row = m->rows.p + m->rows.len;
	memset(row, 0, m->row_bytes);
	memcpy(row, &key, sizeof(key));
	m->rows.len += m->row_bytes;
	return row;
}

void map_sort(struct map *m, int (*compare)(const void *, const void *))
{
	hash_free(&m->index);
	if (map_nr(m) > 1)
		qsort(m->rows.p, map_nr(m), m->row_bytes, compare);
}
