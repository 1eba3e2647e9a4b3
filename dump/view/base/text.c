// SPDX-License-Identifier: MIT
/* See text.h. */
#include "dump/view/base/text.h"

#include "dump/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void text_free(struct text *t)
{
	buf_free(&t->b);
}

char *text_grow(struct text *t, size_t n)
{
	int rc;

	if (t->rc)
		return NULL;
	rc = buf_reserve(&t->b, n ? n : 1);
	if (rc) {
		t->rc = rc;
		return NULL;
	}
	return (char *)t->b.p + t->b.len;
}

void text_fill(struct text *t, char c, int n)
{
	char *to = n > 0 ? text_room(t, (size_t)n) : NULL;

	if (!to)
		return;
	memset(to, c, (size_t)n);
	t->b.len += (size_t)n;
}

void text_i64(struct text *t, int64_t v)
{
	if (v < 0)
		text_char(t, '-');
	text_u64(t, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void text_hex(struct text *t, uint64_t v, int digits)
{
	char *to;

	text_fill(t, '0', digits - (int)hex_len(v));
	to = text_room(t, 16);
	if (to)
		text_end(t, put_hex(to, v));
}

/* The length of the prefix that needs no escaping. */
static size_t plain_prefix(const char *s, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		unsigned plain = plain_bytes(s + i);

		if (plain < 8)
			return i + plain;
	}
	while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

void text_safe(struct text *t, const char *s, size_t n)
{
	size_t plain = plain_prefix(s, n);
	char *to;

	text_put(t, s, plain);
	if (plain == n)
		return;
	to = text_room(t, 4 * (n - plain) + 1);
	if (to)
		t->b.len += strlen(str_safe(to, 4 * (n - plain) + 1, s + plain, n - plain));
}

void text_json(struct text *t, const char *s, size_t n)
{
	size_t plain = plain_prefix(s, n);
	char *to;

	text_put(t, s, plain);
	if (plain == n)
		return;
	to = text_room(t, 6 * (n - plain) + 1);
	if (to)
		t->b.len += strlen(str_json(to, 6 * (n - plain) + 1, s + plain, n - plain));
}

void text_hexdump(struct text *t, struct bytes b, char sep)
{
	for (size_t i = 0; i < b.len; i++) {
		char *to = text_room(t, 3);

		if (!to)
			return;
		if (i && sep)
			*to++ = sep;
		*to++ = "0123456789abcdef"[b.p[i] >> 4];
		*to++ = "0123456789abcdef"[b.p[i] & 15];
		text_end(t, to);
	}
}

void text_fmt(struct text *t, const char *fmt, ...)
{
	char *to = text_room(t, 128);
	va_list ap;
	int n;

	if (!to)
		return;
	va_start(ap, fmt);
	n = vsnprintf(to, 128, fmt, ap);
	va_end(ap);
	if (n >= 128) {
		to = text_room(t, (size_t)n + 1);
		if (!to)
			return;
		va_start(ap, fmt);
		n = vsnprintf(to, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	if (n > 0)
		t->b.len += (size_t)n;
}

int text_flush(struct text *t)
{
	if (!t->out)
		return t->rc;
	errno = 0;
	if (!t->rc && t->b.len && fwrite(t->b.p, 1, t->b.len, t->out) != t->b.len)
		t->rc = errno ? -errno : -EIO;
	t->b.len = 0;
	return t->rc;
}
