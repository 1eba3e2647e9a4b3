// SPDX-License-Identifier: MIT
/* Bounded bytes; see bytes.h. */
#include "dump/base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bytes_get_grown(struct bytes b, void *dst, size_t n)
{
	size_t have = b.len < n ? b.len : n;

	if (have)
		memcpy(dst, b.p, have);
	memset((uint8_t *)dst + have, 0, n - have);
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t want = b->len + n, cap = b->cap ? b->cap : 256;
	uint8_t *p;

	if (want < n)
		return -ENOMEM;
	if (want <= b->cap)
		return 0;
	while (cap < want)
		cap = cap > SIZE_MAX / 2 ? want : cap * 2;
	p = realloc(b->p, cap);
	if (!p)
		return -ENOMEM;
	b->p = p;
	b->cap = cap;
	return 0;
}

int buf_put(struct buf *b, const void *src, size_t n)
{
	int rc = buf_reserve(b, n);

	if (rc)
		return rc;
	if (n)
		memcpy(b->p + b->len, src, n);
	b->len += n;
	return 0;
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}
