/* SPDX-License-Identifier: MIT */
/*
 * Writes one dump front to back to a file descriptor: header, blocks, footer, trailer. The dump is
 * valid only after writer_finish() returned 0. writer_new() allocates all memory, writer_begin() to
 * writer_finish() nothing (more than `max_blocks` blocks is -E2BIG). One writer writes many dumps,
 * one after the other.
 *
 * Items are collected in a buffer, which becomes a block when it is full or the section changes:
 * writer_section(), writer_item()..., the next section.
 *
 * The first error ends the dump: all later calls do nothing and return it, and writer_finish()
 * returns it with its text. Callers need not check the calls between begin and finish.
 * writer_cut() goes on with what was written before the error.
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
	 * Called before each write of `bytes` bytes, after `file_bytes` were written. A result other
	 * than 0 fails the dump with that error. May be NULL.
	 */
	int (*room)(void *ctx, uint64_t file_bytes, uint64_t bytes, struct err *err);
	void *ctx;
};

int writer_new(const struct writer_options *opt, struct writer **out, struct err *err);
void writer_free(struct writer *w);

/* Starts a dump at offset 0 of `fd`, which stays the caller's. Writes the header. */
int writer_begin(struct writer *w, int fd, uint64_t created_real_ns, struct err *err);

/* As writer_begin, with the id and time of another dump: for salvage. */
int writer_begin_as(struct writer *w, int fd, const uint8_t id[16], uint64_t created_real_ns,
		    struct err *err);

/* 0 or the dump's first error, with its text. */
int writer_error(const struct writer *w, struct err *err);

/* Starts or continues a section of items. Flushes the items of another section. */
int writer_section(struct writer *w, uint16_t section);

/*
 * Appends an item of a fixed and a variable part (either may be NULL with length 0). Sets
 * *new_block (may be NULL) when the item is the first of a block, so that a section with
 * self-contained blocks (LEDGER) can repeat the items that it refers to. An item larger than
 * FMT_BLOCK_BYTES gets a block of its own, up to FMT_MAX_BLOCK_BYTES.
 */
int writer_item(struct writer *w, uint16_t kind, const void *fixed, size_t fixed_bytes,
		const void *var, size_t var_bytes, bool *new_block);

/* Ends the current block: the next item begins a new one. */
int writer_flush(struct writer *w);

/* A run of records; see fmt_block for the fields. */
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

/* Writes one RECORDS block from up to two pieces, compressed in place. */
int writer_records(struct writer *w, const struct writer_run *run, const struct bytes *pieces,
		   int nr);

/*
 * A part of the AUX area of `ring`, oldest byte first; `newer_bytes` of the area are newer. Callers
 * should write at most FMT_AUX_BLOCK_BYTES at a time, the newest first.
 */
struct writer_area {
	uint32_t ring;
	uint32_t content_bytes;
	uint64_t newer_bytes;
};

/* The header of its block, as far as block_pack() does not set it. */
struct fmt_block writer_area_header(const struct writer_area *area);

/* Writes one AUX block from up to two pieces, compressed in place. */
int writer_area(struct writer *w, const struct writer_area *area, const struct bytes *pieces,
		int nr);

/* Appends a block of a dump with the same id, with a new seq. `stored` is its frame and padding. */
int writer_copy(struct writer *w, const struct fmt_block *h, struct bytes stored);

/* Writes footer and trailer; the caller syncs the file. *file_bytes: its length. */
int writer_finish(struct writer *w, uint64_t *file_bytes, struct err *err);

/*
 * After an error: cuts the file to its last whole block, and then further blocks off its end until
 * `bytes` and a footer fit where they were, but at most half of those of rings. The dump continues
 * from there. -ENODATA when no block of a ring is left; the error of ftruncate().
 */
int writer_cut(struct writer *w, uint64_t bytes);

/* The blocks written so far, without the FOOTER. */
size_t writer_nr_blocks(const struct writer *w);
const struct fmt_dir *writer_block(const struct writer *w, size_t i);

/* The 16-byte id of the dump being written. */
const uint8_t *writer_id(const struct writer *w);
