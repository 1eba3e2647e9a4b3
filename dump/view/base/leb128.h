/* SPDX-License-Identifier: MIT */
/* LEB128 numbers, as DWARF has them, read from the front of bounded bytes. */
#pragma once

#include "dump/base/bytes.h"

/* False, with *v untouched, when the bytes end too early or the number exceeds 64 bits. */
static inline bool leb128_u64(struct bytes *b, uint64_t *v)
{
	uint64_t sum = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (shift > 63 || !bytes_get(b, &byte, 1) || (shift == 63 && (byte & 0x7e)))
			return false;
		sum |= (uint64_t)(byte & 0x7f) << shift;
	}
	*v = sum;
	return true;
}

static inline bool leb128_i64(struct bytes *b, int64_t *v)
{
	uint64_t sum = 0;
	uint8_t byte = 0x80;
	unsigned shift;

	for (shift = 0; byte & 0x80; shift += 7) {
		if (shift > 63 || !bytes_get(b, &byte, 1))
			return false;
		sum |= (uint64_t)(byte & 0x7f) << shift;
	}
	if (shift < 64 && (byte & 0x40))
		sum |= UINT64_MAX << shift;
	*v = (int64_t)sum;
	return true;
}
