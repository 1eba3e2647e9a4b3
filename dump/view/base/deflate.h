/* SPDX-License-Identifier: MIT */
/*
 * What zlib does: compresses as it is given, into a text, so to memory or to a file. The only user
 * of zlib. Raw for pages (a browser's DecompressionStream takes it), gzip for files of other tools.
 */
#pragma once

#include <stddef.h>

struct deflate;
struct err;
struct text;

enum deflate_kind { DEFLATE_RAW, DEFLATE_GZIP };

/* Of zlib's levels. */
#define DEFLATE_FAST   1
#define DEFLATE_NORMAL 6

/* What is compressed is put at the end of `to`, which is flushed now and then where it has a file;
 * `to` must outlive the result. 0, -ENOMEM. */
int deflate_new(enum deflate_kind kind, int level, struct text *to, struct deflate **out,
		struct err *err);
void deflate_free(struct deflate *d);

/* 0, or the first error of `to`. */
int deflate_put(struct deflate *d, const void *p, size_t n);
/* Nothing follows: what is left is put out. The text is for the caller to flush. The same. */
int deflate_end(struct deflate *d);
