/* SPDX-License-Identifier: MIT */
/*
 * A column of unsigned numbers; PACKED.md ("Columns") specifies the bytes. Equal numbers are a
 * constant, few numbers have a fixed width, others are a Huffman-coded symbol for the magnitude plus
 * extra bits.
 *
 * Writing does not fail and takes at most column_bound() bytes. Reading accepts any bytes.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

#define COLUMN_MAX 32768u /* maximum numbers in a column to write */
#define PLACES_MAX 2048u  /* maximum distinct numbers of column_put_places() */

/* Maximum size of a column of `nr` numbers of `bytes` (4 or 8) bytes, with slack. */
static inline size_t column_bound(size_t nr, size_t bytes)
{
	return sizeof(struct fmt_column) + 16 + nr * bytes + 8;
}

/* Writes to `dst`, which has column_bound() bytes; returns the size used. */
size_t column_put_u32(uint8_t *dst, const uint32_t *v, uint32_t nr);
size_t column_put_u64(uint8_t *dst, const uint64_t *v, uint32_t nr);
/*
 * The same for the numbers place[ref[i]]. `place` is a permutation of the numbers below `places`;
 * count[k], at least 1, is how often k occurs in `ref`.
 */
size_t column_put_places(uint8_t *dst, const uint16_t *ref, uint32_t nr, const uint32_t *place,
			 const uint32_t *count, uint32_t places);

/* A column to read; `body` follows its header. */
struct packed_column {
	struct fmt_column h;
	struct bytes body;
};

/* 0 or -EBADMSG. */
int column_open(struct bytes stream, struct packed_column *c);
/*
 * Reads all c->h.nr numbers, never past the stream. 0, or -EBADMSG when the stream is too short or a
 * number is too large for the type.
 */
int column_get_u32(const struct packed_column *c, uint32_t *v);
int column_get_u64(const struct packed_column *c, uint64_t *v);
