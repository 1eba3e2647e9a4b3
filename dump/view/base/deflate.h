/* SPDX-License-Identifier: MIT */
/*
 * Streaming compression into a text, in memory or to a file. The only user of zlib. Raw for the
 * HTML page (DecompressionStream), gzip for files of other tools.
 */
#pragma once

#include <stddef.h>

struct deflate;
struct err;
struct text;

enum deflate_kind { DEFLATE_RAW, DEFLATE_GZIP };

/* Levels of zlib. */
#define DEFLATE_FAST   1
#define DEFLATE_NORMAL 6

/* Appends to `to`, and flushes it now and then where it has a file; `to` must outlive the result.
 * 0, -ENOMEM. */
int deflate_new(enum deflate_kind kind, int level, struct text *to, struct deflate **out,
		struct err *err);
void deflate_free(struct deflate *d);

/* 0, or the first error of `to`. */
int deflate_put(struct deflate *d, const void *p, size_t n);
/* Ends the stream. Does not flush `to`. Returns as deflate_put(). */
int deflate_end(struct deflate *d);
