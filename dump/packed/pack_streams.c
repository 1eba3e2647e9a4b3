// SPDX-License-Identifier: MIT
/* Writes streams; see pack_streams.h. */
#include "dump/packed/pack_streams.h"

#include "dump/packed/column.h"
#include "dump/packed/pack_rank.h"

#include <string.h>

#define MAX_TABLE  2048u /* maximum distinct numbers of a column with a table */
#define INDEX_BITS 12	 /* twice MAX_TABLE */
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
#define FREQUENT   3u /* from this count on, a small index saves more than a small difference */

uint8_t *pack_streams_take(struct pack_streams *s, size_t n)
{
	uint8_t *at = s->at;

	if (n > (size_t)(s->end - s->at)) {
		s->full = true;
		return NULL;
	}
	s->at += n;
	return at;
}

void pack_streams_put(struct pack_streams *s, const void *src, size_t n)
{
	uint8_t *to = pack_streams_take(s, n);

	if (to && n)
		memcpy(to, src, n);
}

void pack_streams_end_stream(struct pack_streams *s, const uint8_t *start)
{
	uint32_t n = (uint32_t)(s->at - start);

	memcpy(s->lengths, &n, sizeof(n));
	s->lengths += sizeof(n);
}

/* Whether a column of `nr` numbers of `bytes` bytes fits in any case. */
static bool has_room(struct pack_streams *s, uint32_t nr, size_t bytes)
{
	if (column_bound(nr, bytes) > (size_t)(s->end - s->at))
		s->full = true;
	return !s->full;
}

static void put_column(struct pack_streams *s, const uint32_t *v, uint32_t nr)
{
	if (has_room(s, nr, 4))
		s->at += column_put_u32(s->at, v, nr);
}

void pack_streams_u32(struct pack_streams *s, const uint32_t *v, uint32_t nr)
{
	uint8_t *start = s->at;

	put_column(s, v, nr);
	pack_streams_end_stream(s, start);
}

void pack_streams_u64(struct pack_streams *s, const uint64_t *v, uint32_t nr)
{
	uint8_t *start = s->at;

	if (has_room(s, nr, 8))
		s->at += column_put_u64(s->at, v, nr);
	pack_streams_end_stream(s, start);
}

/* ---- tables ---- */

/* The distinct numbers of a column. */
struct word_table {
	uint32_t v[MAX_TABLE], count[MAX_TABLE], place[MAX_TABLE], nr;
	uint16_t index[1 << INDEX_BITS]; /* entry + 1 */
};

/* Finds or adds the entry for `v`; `max` when the table is full. */
static inline uint32_t table_entry(struct word_table *t, uint32_t v, uint32_t max)
{
	uint32_t at = v * 0x9e3779b1u >> (32 - INDEX_BITS), e;

	for (; (e = t->index[at]); at = (at + 1) & INDEX_MASK)
		if (t->v[e - 1] == v)
			return e - 1;
	if (t->nr == max)
		return max;
	t->v[t->nr] = v;
	t->count[t->nr] = 0;
	t->index[at] = (uint16_t)(t->nr + 1);
	return t->nr++;
}

/* Fills `t` and `refs` (entry of each number). False when a table would save nothing. */
static bool make_table(struct word_table *t, const uint32_t *v, uint32_t nr, uint16_t *refs)
{
	uint32_t max = nr / 2 < MAX_TABLE ? nr / 2 : MAX_TABLE;

	t->nr = 0;
	memset(t->index, 0, sizeof(t->index));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t e = table_entry(t, v[i], max);

		if (e == max)
			return false;
		refs[i] = (uint16_t)e;
		t->count[e]++;
		/* Almost all distinct so far: give up. */
		if (i == 63 && t->nr > 56)
			return false;
	}
	return true;
}

/* A column preceded by its length in bytes. */
static void put_sized(struct pack_streams *s, const uint32_t *v, uint32_t nr)
{
	uint8_t *start = pack_streams_take(s, sizeof(uint32_t));
	uint32_t bytes;

	put_column(s, v, nr);
	if (!start || s->full)
		return;
	bytes = (uint32_t)(s->at - start - sizeof(bytes));
	memcpy(start, &bytes, sizeof(bytes));
}

/* Frequent numbers get the first indexes; the others are cheaper in ascending order. */
static void put_table(struct pack_streams *s, struct word_table *t)
{
	uint32_t order[MAX_TABLE], v[MAX_TABLE], frequent = 0, last = 0;
	uint16_t rest[2][MAX_TABLE], *sorted;
	uint64_t key[MAX_TABLE];

	rank_by_count(t->count, t->nr, order);
	for (; frequent < t->nr && t->count[order[frequent]] >= FREQUENT; frequent++) {
		t->place[order[frequent]] = frequent;
		v[frequent] = t->v[order[frequent]];
	}
	put_sized(s, v, frequent);
	for (uint32_t i = frequent; i < t->nr; i++) {
		rest[0][i - frequent] = (uint16_t)order[i];
		key[order[i]] = t->v[order[i]];
	}
	sorted = sort_by_key(key, t->nr - frequent, rest[0], rest[1]);
	for (uint32_t i = 0; i < t->nr - frequent; i++) {
		t->place[sorted[i]] = frequent + i;
		v[i] = t->v[sorted[i]] - last;
		last = t->v[sorted[i]];
	}
	put_sized(s, v, t->nr - frequent);
}

/* ---- words ---- */

/* Average bits of a number, in 16ths, from a sample. */
static uint32_t mean_bits(const uint32_t *v, uint32_t nr)
{
	uint32_t step = nr / 128 + 1, bits = 0, seen = 0;

	for (uint32_t i = 0; i < nr; i += step, seen++)
		bits += 32u - (unsigned)__builtin_clz(v[i] | 1);
	return bits * 16 / seen;
}

/* Writes a table and indexes; false when that would save nothing. */
static bool put_by_table(struct pack_streams *s, const uint32_t *v, uint32_t nr)
{
	uint16_t refs[COLUMN_MAX];
	struct word_table t;

	if (!make_table(&t, v, nr, refs))
		return false;
	put_table(s, &t);
	if (has_room(s, nr, 4))
		s->at += column_put_places(s->at, refs, nr, t.place, t.count, t.nr);
	return true;
}

void pack_streams_words(struct pack_streams *s, const uint32_t *v, const uint32_t *deltas,
			uint32_t nr)
{
	uint8_t *start = s->at, coding = FMT_CODING_PLAIN;

	pack_streams_put(s, &coding, 1);
	if (nr >= 16) {
		uint32_t plain = mean_bits(v, nr), differences = mean_bits(deltas, nr);

		if (differences < plain)
			coding = FMT_CODING_DELTA;
		if ((differences < plain ? differences : plain) > 6 * 16 && put_by_table(s, v, nr))
			coding = FMT_CODING_TABLE;
	}
	if (coding != FMT_CODING_TABLE)
		put_column(s, coding == FMT_CODING_DELTA ? deltas : v, nr);
	if (!s->full)
		*start = coding;
	pack_streams_end_stream(s, start);
}
