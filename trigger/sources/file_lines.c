// SPDX-License-Identifier: MIT
/* Splits input into bounded lines; see file_lines.h. */
#include "trigger/sources/file_lines.h"

#include <string.h>

static void take(struct file_lines *l, const char *from, size_t n)
{
	size_t room = sizeof(l->buf) - l->len;

	if (n > room)
		n = room;
	memcpy(l->buf + l->len, from, n);
	l->len += n;
}

bool file_lines_rest(struct file_lines *l, const char **line, size_t *len)
{
	bool any = l->any;

	*line = l->buf;
	*len = l->len;
	l->len = 0;
	l->any = false;
	return any;
}

bool file_lines_next(struct file_lines *l, const char **at, size_t *n, const char **line,
		     size_t *len)
{
	const char *from = *at, *end = *n ? memchr(from, '\n', *n) : NULL;
	size_t length = end ? (size_t)(end - from) : *n;

	*at += length + !!end;
	*n -= length + !!end;
	/* Most lines arrive in one piece and need no copy. */
	if (end && !l->any) {
		*line = from;
		*len = length < LINES_MAX ? length : LINES_MAX;
		return true;
	}
	take(l, from, length);
	l->any |= length > 0;
	return end && file_lines_rest(l, line, len);
}
