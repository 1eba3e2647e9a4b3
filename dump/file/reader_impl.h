/* SPDX-License-Identifier: MIT */
/*
 * Shared by reader.c, scan.c, check.c, salvage.c, extend.c and join.c.
 *
 * A reader has two lists of blocks: `dir`, from the FOOTER, and `found`, the blocks with a valid
 * header that a scan of the file finds. reader_open() uses `dir`, reader_open_damaged() `found`. In
 * an intact file they are equal.
 */
#pragma once

#include "dump/file/input.h"
#include "dump/file/reader.h"

struct block_unpacker;
struct unpacker;

struct block_list {
	struct reader_block *v;
	size_t nr;
};

struct reader {
	struct input in;
	char *name; /* for messages */
	bool damaged_mode;

	struct fmt_header header;
	bool header_ok;
	struct fmt_trailer trailer;
	bool trailer_ok;
	uint64_t seed;

	struct reader_block footer;
	bool has_footer; /* `footer` is a valid header of a FOOTER */
	bool dir_ok;	 /* and `dir` is its list */
	struct block_list dir;
	struct block_list found;
	struct block_unpacker *unpacker;
	struct buf stored;	  /* frame and padding of the block loaded last */
	struct unpacker *records; /* NULL until the first packed block is decoded */
	struct buf packed;
};

int block_list_add(struct block_list *l, const struct reader_block *b);

/* Opens `path`, or `mem` when it is NULL. */
int reader_open_any(const char *path, struct bytes mem, bool damaged, struct reader **out,
		    struct err *err);

/* Fills r->found, and r->footer when there is one. */
int reader_scan(struct reader *r, struct err *err);

/* Reads and unpacks the block at b->offset, whose header becomes b->h; r->stored is its frame. */
int reader_load_at(struct reader *r, struct reader_block *b, struct buf *out, struct err *err);

/* As reader_load() without the file's name in the error, and verifies the structure of the content:
 * the block is then intact. */
int reader_verify(struct reader *r, size_t i, struct buf *out, struct err *err);
/* As reader_content() without the file's name in the error. */
int reader_content_listed(struct reader *r, size_t i, struct buf *out, struct err *err);

/* reader_check() of a reader opened in damaged mode. */
int reader_check_open(struct reader *r, struct reader_verdict *v,
		      void (*bad)(void *ctx, const char *text), void *ctx, struct err *err);

/* "block 3 (RECORDS of ring 1) at offset 4711" */
void reader_describe(const struct reader_block *b, size_t i, char *out, size_t n);
/* True when a header read from the file matches the one from the directory or the scan. */
bool reader_same_block(const struct fmt_block *want, const struct fmt_block *got);

/* -EBADMSG with a hint on how to save the intact blocks. */
int reader_damaged(const struct reader *r, struct err *err, const char *what);
