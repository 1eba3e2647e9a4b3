/* SPDX-License-Identifier: MIT */
/*
 * Symbols of numbers in a column and their canonical code; PACKED.md ("Columns") specifies both. A
 * number below 16 is its own symbol. Above, the symbol is the position of its highest bit and the
 * next bit; the other bits follow as extra bits.
 */
#pragma once

#include "dump/format/format.h"

#define MAX_BITS   FMT_COLUMN_MAX_BITS
#define NR_SYMBOLS FMT_COLUMN_SYMBOLS
#define DIRECT	   16u /* numbers below are their own symbol */

/* Without branches, since small and large numbers are mixed. */
static inline unsigned symbol_of(uint64_t v)
{
	unsigned e = 63 - (unsigned)__builtin_clzll(v | DIRECT);
	unsigned large = DIRECT + (e - 4) * 2 + (unsigned)(v >> (e - 1) & 1);

	return v < DIRECT ? (unsigned)v : large;
}

/* Number of extra bits. */
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

/* The optimal length-limited code for symbols 0 to `used` - 1 with these counts. */
void code_make(const uint32_t *count, unsigned used, struct huffman_code *c);
/* Assigns codes to symbols 0 to `used` - 1 from their lengths. */
void code_assign(struct huffman_code *c, unsigned used);
