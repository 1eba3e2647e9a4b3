/* SPDX-License-Identifier: MIT */
/*
 * A bounded view that is read from the front and cannot be overrun, a growing buffer, and the one
 * check of an offset and a length against a limit. All parsers of untrusted bytes use these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* True when [off, off + len) lies inside [0, limit); can't overflow. */
static inline bool span_fits(uint64_t off, uint64_t len, uint64_t limit)
{
	return off <= limit && len <= limit - off;
}

static inline uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* A borrowed view. Taking from it moves `p` on; it never owns what it points to. */
struct bytes {
	const uint8_t *p;
	size_t len;
};

/* Takes `n` bytes off the front into `out`; false, with `b` untouched, when there are fewer. */
static inline bool bytes_take(struct bytes *b, size_t n, struct bytes *out)
{
	if (n > b->len)
		return false;
	*out = (struct bytes){b->p, n};
	b->p += n;
	b->len -= n;
	return true;
}

/* Copies `n` bytes off the front; false, with `b` and `dst` untouched, when there are fewer. */
static inline bool bytes_get(struct bytes *b, void *dst, size_t n)
{
	struct bytes got;

	if (!bytes_take(b, n, &got))
		return false;
	if (n)
		memcpy(dst, got.p, n);
	return true;
}

static inline bool bytes_u16(struct bytes *b, uint16_t *v)
{
	return bytes_get(b, v, sizeof(*v));
}

static inline bool bytes_u32(struct bytes *b, uint32_t *v)
{
	return bytes_get(b, v, sizeof(*v));
}

static inline bool bytes_u64(struct bytes *b, uint64_t *v)
{
	return bytes_get(b, v, sizeof(*v));
}

/*
 * Copies min(n, b.len) bytes and zeroes the rest: reads a struct that an older or newer writer
 * wrote with another length. See dump/format/FORMAT.md, "Items".
 */
void bytes_get_grown(struct bytes b, void *dst, size_t n);

/* A growing buffer that owns its memory. Zero-initialise; buf_free() ends it. */
struct buf {
	uint8_t *p;
	size_t len, cap;
};

/* Makes room for `n` more bytes; 0 or -ENOMEM. */
int buf_reserve(struct buf *b, size_t n);
int buf_put(struct buf *b, const void *src, size_t n);
void buf_free(struct buf *b);
