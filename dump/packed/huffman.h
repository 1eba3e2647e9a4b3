/* SPDX-License-Identifier: MIT */
/*
 * The symbols that numbers of a column are made of, and a canonical code for them; PACKED.md
 * ("Columns") has both. A symbol is the number itself below 16; above, the place of its highest bit
 * and the bit below that, with the rest following as plain bits. Part of columns.
 */
#pragma once

#include "dump/format/format.h"

#define MAX_BITS   FMT_COLUMN_MAX_BITS
#define NR_SYMBOLS FMT_COLUMN_SYMBOLS
#define DIRECT	   16u /* numbers below are their own symbol */

/* No branches: numbers of both kinds come mixed. */
static inline unsigned symbol_of(uint64_t v)
{
	unsigned e = 63 - (unsigned)__builtin_clzll(v | DIRECT);
	unsigned large = DIRECT + (e - 4) * 2 + (unsigned)(v >> (e - 1) & 1);

	return v < DIRECT ? (unsigned)v : large;
}

/* How many bits follow a symbol's code. */
static inline unsigned extra_bits(unsigned symbol)
{
	return symbol < DIRECT ? 0 : (symbol - DIRECT) / 2 + 3;
}

/* The smallest number of a symbol. */
static inline uint64_t symbol_base(unsigned symbol)
{
	return symbol < DIRECT ? symbol : (uint64_t)(2 + (symbol & 1)) << extra_bits(symbol);
}

struct huffman_code {
	uint8_t bits[NR_SYMBOLS]; /* 0: not used */
	uint16_t word[NR_SYMBOLS];
};

/* The best code for symbols 0 to `used` - 1 that are met so often. */
void code_make(const uint32_t *count, unsigned used, struct huffman_code *c);
/* Gives the symbols 0 to `used` - 1, whose lengths are there, their words. */
void code_assign(struct huffman_code *c, unsigned used);
