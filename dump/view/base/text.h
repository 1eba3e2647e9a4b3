/* SPDX-License-Identifier: MIT */
/*
 * Text that is built fast and written in large pieces: script prints a line for each of millions of
 * records, so numbers are formatted here and not by printf. A failed allocation or write is
 * remembered and everything after it ignored: check text_flush() or `rc` once at the end.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/base/put_text.h"

#include <stdio.h>
#include <string.h>

struct text {
	struct buf b;
	FILE *out; /* where text_flush() writes; NULL: it stays in memory */
	int rc;	   /* 0, or the first negative errno */
};

#define TEXT_INIT(file) ((struct text){.out = (file)})

void text_free(struct text *t);

char *text_grow(struct text *t, size_t n);

/* Room for `n` more bytes; NULL when there is none. Followed by text_used() or text_end(). */
static inline char *text_room(struct text *t, size_t n)
{
	if (t->b.cap - t->b.len >= n && t->b.p && !t->rc)
		return (char *)t->b.p + t->b.len;
	return text_grow(t, n);
}

static inline void text_used(struct text *t, size_t n)
{
	t->b.len += n;
}

/* `end` is where what was written into the room ends. */
static inline void text_end(struct text *t, const char *end)
{
	t->b.len = (size_t)(end - (char *)t->b.p);
}

static inline void text_put(struct text *t, const void *p, size_t n)
{
	char *to = n ? text_room(t, n) : NULL;

	if (!to)
		return;
	memcpy(to, p, n);
	t->b.len += n;
}

static inline void text_str(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

static inline void text_char(struct text *t, char c)
{
	char *to = text_room(t, 1);

	if (!to)
		return;
	*to = c;
	t->b.len++;
}

/* `n` times the same character; nothing when n is not positive. */
void text_fill(struct text *t, char c, int n);

static inline void text_u64(struct text *t, uint64_t v)
{
	char *to = text_room(t, DIGITS_MAX);

	if (to)
		text_end(t, put_u64(to, v));
}

void text_i64(struct text *t, int64_t v);
/* Hexadecimal without 0x, at least `digits` long. */
void text_hex(struct text *t, uint64_t v, int digits);
/* Foreign text as str_safe() and str_json() make it. */
void text_safe(struct text *t, const char *s, size_t n);
void text_json(struct text *t, const char *s, size_t n);
/* Bytes as hexadecimal digits with `sep` between them ('\0': none). */
void text_hexdump(struct text *t, struct bytes b, char sep);
void text_fmt(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes what is there. 0, or the first error. */
int text_flush(struct text *t);
/* Writes when there is enough of it to be worth a call. */
static inline int text_flush_large(struct text *t)
{
	return t->b.len >= (256u << 10) ? text_flush(t) : t->rc;
}
