/* SPDX-License-Identifier: MIT */
/*
 * Hashing: a mixing function, and a table from hashes to rows of an array that the caller owns.
 * Rows are numbered as they are added and never removed. The table keeps half of each hash, so it
 * grows without rehashing by the caller, and rarely returns a row with another key:
 *
 *	uint64_t h = hash_mix(hash_mix(0, key->a), key->b);
 *	uint32_t at = 0, row;
 *
 *	while (hash_next(&t, h, &at, &row))
 *		if (is_same(&rows[row], key))
 *			return row;
 *	... make room for one row, hash_add(&t, h), and append it ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Both halves of the result are well mixed. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline uint64_t hash_bytes(uint64_t hash, const void *from, size_t n)
{
	const uint8_t *p = from;
	uint64_t v;

	for (; n >= sizeof(v); p += sizeof(v), n -= sizeof(v)) {
		memcpy(&v, p, sizeof(v));
		hash = hash_mix(hash, v);
	}
	for (v = n; n; n--)
		v = v << 8 | *p++;
	return hash_mix(hash, v);
}

struct hash_slot {
	uint32_t hash; /* the lower half */
	uint32_t row;  /* + 1; 0: free */
};

/* Zero-initialise; hash_free() ends it. */
struct hash {
	struct hash_slot *slots; /* at most three in four are used */
	size_t nr_slots;	 /* a power of two */
	uint32_t nr;		 /* rows */
};

/* The next row that has the hash; false: there is none. *at is 0 at first. */
static inline bool hash_next(const struct hash *t, uint64_t hash, uint32_t *at, uint32_t *row)
{
	if (!t->nr_slots)
		return false;
	for (;;) {
		const struct hash_slot *s = &t->slots[(hash + (*at)++) & (t->nr_slots - 1)];

		if (!s->row)
			return false;
		if (s->hash == (uint32_t)hash) {
			*row = s->row - 1;
			return true;
		}
	}
}

/* Adds row t->nr, which the caller then appends to its rows. 0 or -ENOMEM. */
int hash_add(struct hash *t, uint64_t hash);
void hash_free(struct hash *t);
