/* SPDX-License-Identifier: MIT */
/*
 * A column: whole numbers, all of one meaning, as few bits as is cheap. PACKED.md ("Columns") has
 * the bytes. Numbers that are alike are a constant, few ones have a fixed width, and else each is a
 * Huffman-coded symbol for its magnitude with the bits below it.
 *
 * Writing never fails and never takes more than column_bound() bytes. Reading takes any bytes.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

#define COLUMN_MAX 32768u /* numbers that a column is given to write, at most */
#define PLACES_MAX 2048u  /* different ones of column_put_places() */

/* Bytes that `nr` numbers of at most `bytes` (4 or 8) bytes take at most, slack included. */
static inline size_t column_bound(size_t nr, size_t bytes)
{
	return sizeof(struct fmt_column) + 16 + nr * bytes + 8;
}

/* Writes to `dst`, which has column_bound() bytes; returns how many are used. Coding is PLAIN. */
size_t column_put_u32(uint8_t *dst, const uint32_t *v, uint32_t nr);
size_t column_put_u64(uint8_t *dst, const uint64_t *v, uint32_t nr);
/*
 * The same of the numbers place[ref[i]], u32. `place` has each number below `places` once, and
 * count[k] says how often k is in `ref`: at least once.
 */
size_t column_put_places(uint8_t *dst, const uint16_t *ref, uint32_t nr, const uint32_t *place,
			 const uint32_t *count, uint32_t places);

/* A column to be read; `body` is what follows its header. */
struct packed_column {
	struct fmt_column h;
	struct bytes body;
};

/* 0 or -EBADMSG. */
int column_open(struct bytes stream, struct packed_column *c);
/*
 * All numbers, c->h.nr of them. The bytes behind the stream are never looked at. 0, or -EBADMSG
 * when the stream ends before, or a number is too large for the type.
 */
int column_get_u32(const struct packed_column *c, uint32_t *v);
int column_get_u64(const struct packed_column *c, uint64_t *v);
