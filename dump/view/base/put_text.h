/* SPDX-License-Identifier: MIT */
/*
 * Fast formatting of digits and short text into memory; used by text.h, script and the print
 * programs. The caller provides the room. Each function returns the end of what it wrote.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The length of the longest number. */
#define DIGITS_MAX 20
/* put_wide() reads and writes up to this much past the end. */
#define PUT_SLACK 16

extern const char digits_pairs[200]; /* "00" to "99" */

/* Numbers of five digits and more. */
char *put_large(char *to, uint64_t v);

static inline char *put_pair(char *to, uint32_t v)
{
	memcpy(to, digits_pairs + 2 * (size_t)v, 2);
	return to + 2;
}

static inline char *put_four(char *to, uint32_t v)
{
	return put_pair(put_pair(to, v / 100), v % 100);
}

/* Decimal. */
static inline char *put_u64(char *to, uint64_t v)
{
	uint32_t n = (uint32_t)v;

	if (v >= 10000)
		return put_large(to, v);
	if (n >= 100) {
		if (n >= 1000)
			return put_four(to, n);
		*to++ = (char)('0' + n / 100);
		return put_pair(to, n % 100);
	}
	if (n >= 10)
		return put_pair(to, n);
	*to = (char)('0' + n);
	return to + 1;
}

/* `v`, below 10^9, as exactly nine decimal digits. */
char *put_nine(char *to, uint32_t v);

/* The eight hexadecimal digits of `v`, the most significant in the lowest byte. */
static inline uint64_t hex_digits(uint32_t v)
{
	uint64_t x = v, letters;

	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
	letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
	return __builtin_bswap64(x + 0x3030303030303030ull + letters * ('a' - '0' - 10));
}

/* All sixteen hexadecimal digits. */
static inline char *put_hex16(char *to, uint64_t v)
{
	uint64_t high = hex_digits((uint32_t)(v >> 32)), low = hex_digits((uint32_t)v);

	memcpy(to, &high, 8);
	memcpy(to + 8, &low, 8);
	return to + 16;
}

static inline unsigned hex_len(uint64_t v)
{
	return (67u - (unsigned)__builtin_clzll(v | 1)) / 4;
}

/* Hexadecimal, lower case, without leading zeros; always writes 16 bytes. */
static inline char *put_hex(char *to, uint64_t v)
{
	unsigned n = hex_len(v);

	put_hex16(to, v << (64 - 4 * n));
	return to + n;
}

/* Copies in steps of 16 bytes, which is fast for short text; see PUT_SLACK. */
static inline char *put_wide(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i += 16)
		memcpy(to + i, from + i, 16);
	return to + n;
}

/*
 * How many of the eight bytes at `p` come before the first that needs escaping for a terminal or
 * JSON: not printable ASCII, a quote or a backslash.
 */
static inline unsigned plain_bytes(const void *p)
{
	const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
	uint64_t w, quote, slash, stop;

	/* Borrows and carries only affect bits above the first hit. */
	memcpy(&w, p, sizeof(w));
	quote = w ^ ones * '"';
	slash = w ^ ones * '\\';
	stop = ((w - ones * 0x20) | (w + ones) | w | ((quote - ones) & ~quote) |
		((slash - ones) & ~slash)) &
	       tops;
	return stop ? (unsigned)__builtin_ctzll(stop) / 8 : 8;
}
