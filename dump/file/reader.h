/* SPDX-License-Identifier: MIT */
/*
 * Opens a dump and hands out its blocks, verified. Trusts nothing: every offset and length is
 * checked against the file with span_fits(), every hash is compared, memory is bounded by
 * FMT_MAX_BLOCK_BYTES per loaded block plus the directory (bounded by the file's length). Uses
 * pread(), never mmap: a file that is cut while it is read gives an error, not a signal.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct reader;

struct reader_block {
	uint64_t offset; /* of its header in the file */
	struct fmt_block h;
};

/*
 * Opens a committed dump: header, trailer, footer and directory are verified, block headers and
 * payloads when they are loaded. -EBADMSG for a file that is not one or is damaged, with a hint:
 * `ringback check FILE --salvage OUT` where there is something to rescue. `path` "-" is not
 * special.
 */
int reader_open(const char *path, struct reader **out, struct err *err);

/*
 * Opens whatever is there, committed or not: the directory is built by going through the file from
 * block header to block header, searching on at the next multiple of 8 where one is broken. Only
 * a file that neither begins nor ends like a dump is refused.
 */
int reader_open_damaged(const char *path, struct reader **out, struct err *err);

/* As reader_open on memory, which stays the caller's; for tests and fuzzing. */
int reader_open_bytes(struct bytes file, bool damaged, struct reader **out, struct err *err);

void reader_close(struct reader *r);

/*
 * Another reader of the same file with the same blocks, for another thread: a reader belongs to
 * one. `r` may be closed before its twin is; memory that it reads stays the caller's.
 */
int reader_copy(const struct reader *r, struct reader **out, struct err *err);

const struct fmt_header *reader_header(const struct reader *r);
uint64_t reader_file_bytes(const struct reader *r);
bool reader_committed(const struct reader *r);
size_t reader_nr_blocks(const struct reader *r);
/* Block `i` in file order, FOOTER not counted; h.hash and h.stored_hash are 0 until it was loaded.
 */
const struct reader_block *reader_block(const struct reader *r, size_t i);

/* Records of all blocks that may hold some of `from_ns` to `to_ns`: at least as many as there are.
 */
uint64_t reader_nr_records(const struct reader *r, uint64_t from_ns, uint64_t to_ns);

/* Reads, verifies and unpacks block `i` into `out` (replaced, memory reused): the payload out of
 * LZ4. */
int reader_load(struct reader *r, size_t i, struct buf *out, struct err *err);

/*
 * As reader_load(), and for a block of RECORDS its encoding is undone too: `out` has the bytes of
 * the ring. -ENOTSUP for an encoding that this program does not know. Whoever needs parts of a
 * block only takes reader_load() and dump/packed/unpack.h.
 */
int reader_content(struct reader *r, size_t i, struct buf *out, struct err *err);

/* Walks the items of a payload: false at its end or at bytes that are no item (then *broken). */
bool reader_next_item(struct bytes *payload, uint16_t *kind, struct bytes *item, bool *broken);

/* What reader_check() found. */
struct reader_verdict {
	uint64_t nr_blocks, nr_bad_blocks;
	uint64_t nr_records;	  /* in whole blocks */
	uint64_t unclaimed_bytes; /* of the file that belong to no block */
	bool committed;		  /* trailer and chain are right */
};

/*
 * Verifies every byte: blocks, padding, directory against block headers, chain, trailer. Calls
 * `bad(ctx, text)` for each finding. 0 when the file is whole, -EBADMSG when it is damaged.
 */
int reader_check(const char *path, struct reader_verdict *v,
		 void (*bad)(void *ctx, const char *text), void *ctx, struct err *err);
/* As reader_check on memory. */
int reader_check_bytes(struct bytes file, struct reader_verdict *v,
		       void (*bad)(void *ctx, const char *text), void *ctx, struct err *err);

/*
 * Writes all whole blocks of a cut or damaged file as a new committed dump at `out_path` (0600;
 * must not exist). -ENODATA when there is no whole block, -EEXIST, or another errno.
 */
int reader_salvage(const char *path, const char *out_path, struct reader_verdict *v,
		   struct err *err);
/* The same from a reader opened with reader_open_damaged() into an empty file, which it fsyncs. */
int reader_salvage_fd(struct reader *r, int fd, struct reader_verdict *v, struct err *err);

/*
 * Writes the same dump into the empty file `fd`, its blocks as they are stored, and behind them
 * what `add` gives the writer; fsyncs. -EBADMSG when the dump is not whole.
 */
struct writer;
int reader_extend_fd(struct reader *r, int fd,
		     int (*add)(void *ctx, struct writer *w, struct err *err), void *ctx,
		     struct err *err);
