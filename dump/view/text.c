// SPDX-License-Identifier: MIT
/* Building text in memory; see text.h. Called by everything in dump/view/ that prints. */
#include "dump/view/text.h"

#include "dump/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

void text_free(struct text *t)
{
	buf_free(&t->b);
}

char *text_room(struct text *t, size_t n)
{
	int rc;

	if (t->rc)
		return NULL;
	rc = buf_reserve(&t->b, n);
	if (rc) {
		t->rc = rc;
		return NULL;
	}
	return (char *)t->b.p + t->b.len;
}

void text_put(struct text *t, const void *p, size_t n)
{
	char *to = n ? text_room(t, n) : NULL;

	if (!to)
		return;
	memcpy(to, p, n);
	t->b.len += n;
}

void text_str(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

void text_char(struct text *t, char c)
{
	text_put(t, &c, 1);
}

void text_fill(struct text *t, char c, int n)
{
	char *to = n > 0 ? text_room(t, (size_t)n) : NULL;

	if (!to)
		return;
	memset(to, c, (size_t)n);
	t->b.len += (size_t)n;
}

void text_u64(struct text *t, uint64_t v)
{
	char raw[20];
	size_t at = sizeof(raw);

	do {
		raw[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	text_put(t, raw + at, sizeof(raw) - at);
}

void text_i64(struct text *t, int64_t v)
{
	if (v < 0)
		text_char(t, '-');
	text_u64(t, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void text_hex(struct text *t, uint64_t v, int digits)
{
	char raw[16];
	int at = 16;

	do {
		raw[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	text_fill(t, '0', digits - (16 - at));
	text_put(t, raw + at, (size_t)(16 - at));
}

/* Printable ASCII that neither a terminal nor JSON takes for anything else. */
static size_t plain_prefix(const char *s, size_t n)
{
	size_t i = 0;

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
		if (i && sep)
			text_char(t, sep);
		text_hex(t, b.p[i], 2);
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
