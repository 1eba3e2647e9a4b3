/* SPDX-License-Identifier: MIT */
/*
 * A text buffer that is flushed in large pieces. It formats numbers itself, since printf is too
 * slow for the millions of lines of script. After a failed allocation or write, all calls do
 * nothing: check text_flush() or `rc` once at the end.
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

/* Room for `n` more bytes, or NULL. Follow with text_used() or text_end(). */
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

/* `end`: the end of what was written into the room. */
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

/* Appends `c` n times; does nothing if n <= 0. */
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
/* Untrusted text, escaped by str_safe() and str_json(). */
void text_safe(struct text *t, const char *s, size_t n);
void text_json(struct text *t, const char *s, size_t n);
/* Bytes as hexadecimal digits with `sep` between them ('\0': none). */
void text_hexdump(struct text *t, struct bytes b, char sep);
void text_fmt(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes the buffer to `out`. 0, or the first error. */
int text_flush(struct text *t);
/* Flushes if the buffer holds 256 KiB or more. */
static inline int text_flush_large(struct text *t)
{
	return t->b.len >= (256u << 10) ? text_flush(t) : t->rc;
}
