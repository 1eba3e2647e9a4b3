/* SPDX-License-Identifier: MIT */
/*
 * The fields of a tracepoint, parsed from its `format` file, and checked access to their bytes in a
 * record (the raw data of a sample). The format comes from tracefs or a dump. Both are untrusted.
 *
 *	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
 *	      └─────── declaration ─┘
 */
#pragma once

#include "dump/base/bytes.h"

#include <string.h>

#define FIELD_SIGNED   1u
#define FIELD_ARRAY    2u
#define FIELD_STRING   4u  /* an array of char: text up to its first NUL */
#define FIELD_DYNAMIC  8u  /* __data_loc, __rel_loc: the field holds the place of its bytes */
#define FIELD_RELATIVE 16u /* __rel_loc: counted from the end of the field itself */
#define FIELD_POINTER  32u
#define FIELD_COMMON   64u  /* common_type, common_pid, ... */
#define FIELD_REST     128u /* size 0: the rest of the record */

struct field {
	const char *name;
	uint32_t offset, size;
	uint32_t elem_bytes; /* arrays: of one element: 1, 2, 4 or 8 */
	uint32_t flags;
};

struct tpfields {
	char *name; /* without its system */
	struct field *fields;
	size_t nr_fields;
	uint32_t min_bytes; /* the shortest record that has all fields */
	bool has_dynamic;
	char *names; /* backs the fields' names */
};

/*
 * Parses a `format` file. -EBADMSG: a line in another form than the kernel's, a field over 64 KiB,
 * or more than 256 fields. Else 0 or -ENOMEM. Free with tpfields_close().
 */
int tpfields_open(struct bytes format, struct tpfields *out);
void tpfields_close(struct tpfields *tp);

const struct field *tpfields_find(const struct tpfields *tp, const char *name, size_t len);

/* True when `raw` holds all fields and everything that its dynamic fields point to. */
bool tpfields_fits(const struct tpfields *tp, struct bytes raw);

/* A field's bytes (of dynamic ones, what they point to); false when they are not within `raw`. */
bool field_bytes(const struct field *f, struct bytes raw, struct bytes *out);
/* A string field's text up to its NUL. */
bool field_string(const struct field *f, struct bytes raw, struct bytes *out);
/* A little-endian number of 1, 2, 4 or 8 bytes, optionally sign-extended; 0 for other lengths. */
static inline uint64_t field_value(const uint8_t *p, size_t n, bool is_signed)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (n) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*p : *p;
	case 2:
		memcpy(&two, p, sizeof(two));
		return is_signed ? (uint64_t)(int16_t)two : two;
	case 4:
		memcpy(&four, p, sizeof(four));
		return is_signed ? (uint64_t)(int32_t)four : four;
	case 8:
		memcpy(&eight, p, sizeof(eight));
		return eight;
	default:
		return 0;
	}
}

/* A number field; 0 when it is not within `raw`. */
static inline uint64_t field_number(const struct field *f, struct bytes raw)
{
	if (!span_fits(f->offset, f->size, raw.len))
		return 0;
	return field_value(raw.p + f->offset, f->size, f->flags & FIELD_SIGNED);
}
