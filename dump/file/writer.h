/* SPDX-License-Identifier: MIT */
/*
 * Writes one dump front to back into a file descriptor: header, blocks, footer, trailer. Nothing is
 * valid before writer_finish() has returned 0. All memory is taken in writer_new(); between
 * writer_begin() and writer_finish() nothing is allocated (the directory has room for
 * `max_blocks`; more is -E2BIG). One writer makes many dumps, one after the other.
 *
 * Item sections are collected in a buffer and flushed as a block when it is full or the section
 * changes, so items can be put one at a time: writer_section(), writer_item()..., the next section.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/file/block.h"
#include "dump/format/format.h"

struct err;
struct writer;

struct writer_options {
	uint32_t max_blocks; /* 1 to FMT_MAX_BLOCKS */
	enum block_level level;
	/*
	 * Asked before each write of `bytes` bytes; `file_bytes` are written already. Not 0: the
	 * dump ends with that error. May be NULL.
	 */
	int (*room)(void *ctx, uint64_t file_bytes, uint64_t bytes, struct err *err);
	void *ctx;
};

int writer_new(const struct writer_options *opt, struct writer **out, struct err *err);
void writer_free(struct writer *w);

/* Starts a dump at the present offset 0 of `fd`, which stays the caller's. Writes the header. */
int writer_begin(struct writer *w, int fd, uint64_t created_real_ns, struct err *err);

/* As writer_begin, with the id and time of another dump: for salvage. */
int writer_begin_as(struct writer *w, int fd, const uint8_t id[16], uint64_t created_real_ns,
		    struct err *err);

/* Starts (or goes on with) a section of items. Flushes what another section had collected. */
int writer_section(struct writer *w, uint16_t section, struct err *err);

/*
 * Appends an item made of a fixed part and a variable one (either may be NULL and 0 long). Sets
 * *new_block when the item opened a block, so that a section whose blocks stand alone (LEDGER) can
 * repeat what it refers to; NULL when not needed. An item larger than FMT_BLOCK_BYTES gets a block
 * of its own, up to FMT_MAX_BLOCK_BYTES.
 */
int writer_item(struct writer *w, uint16_t kind, const void *fixed, size_t fixed_bytes,
		const void *var, size_t var_bytes, bool *new_block, struct err *err);

/* Ends the block being collected now: the next item opens one. */
int writer_flush(struct writer *w, struct err *err);

/* Where a run of records stands; see fmt_block for the fields. */
struct writer_run {
	uint32_t ring;
	uint8_t encoding;
	uint32_t content_bytes;
	uint32_t nr_records;
	uint64_t first_ns, last_ns;
	uint64_t ring_off;
};

/* The header of its block, as far as block_pack() does not set it. */
struct fmt_block writer_run_header(const struct writer_run *run);

/* Writes one RECORDS block from up to two pieces, compressed where they lie. */
int writer_records(struct writer *w, const struct writer_run *run, const struct bytes *pieces,
		   int nr, struct err *err);

/*
 * `content_bytes` of the AUX area of `ring`, oldest first: how many of its bytes in the dump are
 * newer than these. At most FMT_AUX_BLOCK_BYTES is a good size; the newest first is a good order.
 */
struct writer_area {
	uint32_t ring;
	uint32_t content_bytes;
	uint64_t newer_bytes;
};

/* The header of its block, as far as block_pack() does not set it. */
struct fmt_block writer_area_header(const struct writer_area *area);

/* Writes one AUX block from up to two pieces, compressed where they lie. */
int writer_area(struct writer *w, const struct writer_area *area, const struct bytes *pieces,
		int nr, struct err *err);

/* Appends a block as it stands in a dump with the same id, its place in the file (seq) excepted.
 * `stored` is its frame and padding. */
int writer_copy(struct writer *w, const struct fmt_block *h, struct bytes stored, struct err *err);

/* Writes footer and trailer and fsyncs. *file_bytes: the file's length. */
int writer_finish(struct writer *w, uint64_t *file_bytes, struct err *err);

/* The 16-byte id of the dump being written. */
const uint8_t *writer_id(const struct writer *w);
