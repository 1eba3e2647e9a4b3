/* SPDX-License-Identifier: MIT */
/*
 * Orders in which numbers cost few bits: by frequency, or ascending. Part of the packer.
 */
#pragma once

#include <stdint.h>
#include <string.h>

/*
 * order[r] is the index of the r-th largest count; stable. Counts from 255 on compare equal.
 */
static inline void rank_by_count(const uint32_t *count, uint32_t nr, uint32_t *order)
{
	uint32_t start[257] = {0};

#define RANK_DIGIT(n) (255 - ((n) < 255 ? (n) : 255))
	for (uint32_t i = 0; i < nr; i++)
		start[RANK_DIGIT(count[i]) + 1]++;
	for (unsigned d = 0; d < 256; d++)
		start[d + 1] += start[d];
	for (uint32_t i = 0; i < nr; i++)
		order[start[RANK_DIGIT(count[i])]++] = i;
#undef RANK_DIGIT
}

/*
 * Radix sort of the indexes `a[0..nr)` by their keys; skips digits that are equal in all keys. `b`
 * is as large as `a`. Returns the array with the result.
 */
static inline uint16_t *sort_by_key(const uint64_t *key, uint32_t nr, uint16_t *a, uint16_t *b)
{
	unsigned digit = nr < 1024 ? 8 : 11, digits = 1u << digit;
	uint64_t differ = 0;

	for (uint32_t i = 1; i < nr; i++)
		differ |= key[a[i]] ^ key[a[0]];
	for (unsigned shift = 0; shift < 64; shift += digit) {
		uint32_t start[2049];
		uint16_t *swap = a;

		if (!(differ >> shift & (digits - 1)))
			continue;
		memset(start, 0, (digits + 1) * sizeof(start[0]));
		for (uint32_t i = 0; i < nr; i++)
			start[(key[a[i]] >> shift & (digits - 1)) + 1]++;
		for (unsigned d = 0; d < digits; d++)
			start[d + 1] += start[d];
		for (uint32_t i = 0; i < nr; i++)
			b[start[key[a[i]] >> shift & (digits - 1)]++] = a[i];
		a = b;
		b = swap;
	}
	return a;
}
