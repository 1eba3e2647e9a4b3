/* SPDX-License-Identifier: MIT */
/* Builds payloads of SYMBOLS blocks from names as they are found. Each payload is self-contained
 * and at most FMT_BLOCK_BYTES long. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct cfi_rule;
struct elf_segment;

struct symbols_writer {
	/* Called with each finished payload, borrowed during the call. 0 or -errno; an error stops
	 * the writer. */
	int (*out)(void *ctx, struct bytes payload);
	void *ctx;
	/* Private. */
	struct buf payload;
	struct fmt_image image;
	const char *path;
	uint32_t next_id;
	bool stands; /* the image is in this payload */
	int rc;	     /* 0, or the first -errno: later calls are ignored */
};

void symbols_writer_free(struct symbols_writer *s);

/* Sets the image for the following items, and its id. It is written with the first item. `path` is
 * borrowed until the next call. */
void symbols_writer_image(struct symbols_writer *s, const struct fmt_image *image,
			  const char *path);
void symbols_writer_function(struct symbols_writer *s, uint64_t start, uint64_t bytes,
			     const char *name);
void symbols_writer_place(struct symbols_writer *s, uint64_t at, uint32_t depth,
			  const char *function, const char *file, uint32_t line);
/* `flags`: FMT_SEGMENT_*. */
void symbols_writer_segment(struct symbols_writer *s, uint32_t flags, const struct elf_segment *e);
/* A rule after cfi_clean(), with places as addresses. */
void symbols_writer_rule(struct symbols_writer *s, const struct cfi_rule *r);
/* At most 64 KiB. */
void symbols_writer_code(struct symbols_writer *s, uint64_t start, struct bytes code);
void symbols_writer_note(struct symbols_writer *s, const char *text);

/* Passes the current payload to out(). Returns s->rc. */
int symbols_writer_flush(struct symbols_writer *s);
