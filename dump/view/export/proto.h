/* SPDX-License-Identifier: MIT */
/*
 * Writes the wire format of protobuf (protobuf.dev/programming-guides/encoding), field by field.
 * Field numbers and types are those of the .proto files beside this header. The first error stays
 * in the text's rc.
 */
#pragma once

#include "dump/view/base/text.h"

/* The longest varint. */
#define PROTO_VARINT_BYTES 10

static inline char *proto_varint(char *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (char)(v | 0x80);
	*to++ = (char)v;
	return to;
}

/* A field of any integer type, bool or enum. Pass a negative int32 sign-extended. */
static inline void proto_number(struct text *t, uint32_t field, uint64_t v)
{
	char *to = text_room(t, 2 * PROTO_VARINT_BYTES);

	if (to)
		text_end(t, proto_varint(proto_varint(to, field << 3), v));
}

static inline void proto_bytes(struct text *t, uint32_t field, const void *p, size_t n)
{
	char *to = text_room(t, 2 * PROTO_VARINT_BYTES + n);

	if (!to)
		return;
	to = proto_varint(proto_varint(to, field << 3 | 2), n);
	if (n)
		memcpy(to, p, n);
	text_end(t, to + n);
}

/* `s` must be UTF-8. NULL: the field is left out. */
static inline void proto_string(struct text *t, uint32_t field, const char *s)
{
	if (s)
		proto_bytes(t, field, s, strlen(s));
}

/* Begins a message or a packed list. Its fields follow, then proto_close() with the result. */
static inline size_t proto_open(struct text *t, uint32_t field)
{
	proto_bytes(t, field, NULL, 0);
	return t->b.len;
}

/* The length precedes the body: one byte is reserved for it; a longer one moves the body. */
static inline void proto_close(struct text *t, size_t body)
{
	char length[PROTO_VARINT_BYTES];
	size_t bytes = t->b.len - body;
	size_t more = (size_t)(proto_varint(length, bytes) - length) - 1;

	if (!text_room(t, more))
		return;
	memmove(t->b.p + body + more, t->b.p + body, bytes);
	memcpy(t->b.p + body - 1, length, more + 1);
	text_used(t, more);
}
