/* SPDX-License-Identifier: MIT */
/*
 * Opens a dump and returns its blocks, verified. Checks every offset and length against the file
 * with span_fits() and every hash. Memory is bounded by FMT_MAX_BLOCK_BYTES per loaded block plus
 * the directory, which is bounded by the file's length. Uses pread(), not mmap: a file that is
 * truncated while it is read gives an error, not a signal.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct reader;

struct reader_block {
	uint64_t offset; /* of its header */
	struct fmt_block h;
};

/*
 * Opens a committed dump. Verifies header, trailer, footer and directory; blocks are verified when
 * they are loaded. -EBADMSG for a file that is not a dump or is damaged, with the hint
 * `ringback check FILE --salvage OUT` when blocks can be saved. `path` "-" is not special.
 */
int reader_open(const char *path, struct reader **out, struct err *err);

/*
 * Opens a committed or damaged file: builds the directory by stepping from block header to block
 * header, searching at multiples of 8 after a damaged one. Refuses only a file that neither begins
 * nor ends like a dump.
 */
int reader_open_damaged(const char *path, struct reader **out, struct err *err);

/* As reader_open on memory, which stays the caller's; for tests and fuzzing. */
int reader_open_bytes(struct bytes file, bool damaged, struct reader **out, struct err *err);

void reader_close(struct reader *r);

/*
 * A second reader of the same file for another thread: a reader belongs to one thread. `r` may be
 * closed before its copy; memory that it reads stays the caller's.
 */
int reader_copy(const struct reader *r, struct reader **out, struct err *err);

const struct fmt_header *reader_header(const struct reader *r);
uint64_t reader_file_bytes(const struct reader *r);
bool reader_committed(const struct reader *r);
size_t reader_nr_blocks(const struct reader *r);
/* Block `i` in file order, without the FOOTER; h.hash and h.stored_hash are 0 until it is loaded. */
const struct reader_block *reader_block(const struct reader *r, size_t i);

/* An upper bound of the number of records from `from_ns` to `to_ns`. */
uint64_t reader_nr_records(const struct reader *r, uint64_t from_ns, uint64_t to_ns);

/* Reads, verifies and decompresses the payload of block `i` into `out` (replaced, memory reused). */
int reader_load(struct reader *r, size_t i, struct buf *out, struct err *err);

/*
 * As reader_load(), and decodes RECORDS: `out` has the bytes of the ring. -ENOTSUP for an unknown
 * encoding. To decode only parts of a block, use reader_load() and dump/packed/unpack.h.
 */
int reader_content(struct reader *r, size_t i, struct buf *out, struct err *err);

/* Steps through the items of a payload: false at its end, or at an invalid item (then *broken). */
bool reader_next_item(struct bytes *payload, uint16_t *kind, struct bytes *item, bool *broken);

/* The result of reader_check(). */
struct reader_verdict {
	uint64_t nr_blocks, nr_bad_blocks;
	uint64_t nr_records;	  /* in intact blocks */
	uint64_t unclaimed_bytes; /* of the file that belong to no block */
	bool committed;		  /* trailer and chain are correct */
};

/*
 * Verifies every byte: blocks, padding, directory against block headers, chain, trailer. Calls
 * `bad(ctx, text)` for each finding. 0 when the file is intact, -EBADMSG when it is damaged.
 */
int reader_check(const char *path, struct reader_verdict *v,
		 void (*bad)(void *ctx, const char *text), void *ctx, struct err *err);
/* As reader_check on memory. */
int reader_check_bytes(struct bytes file, struct reader_verdict *v,
		       void (*bad)(void *ctx, const char *text), void *ctx, struct err *err);

/*
 * Writes all intact blocks of a truncated or damaged file, from a reader opened with
 * reader_open_damaged(), as a new committed dump into an empty file, which it fsyncs. -ENODATA when
 * there is no intact block, or another errno.
 */
int reader_salvage_fd(struct reader *r, int fd, struct reader_verdict *v, struct err *err);

/*
 * Writes the same dump to the empty file `fd`: the blocks as stored, then the items that `add` gives
 * the writer; fsyncs. -EBADMSG when the dump is not committed.
 */
struct writer;
int reader_extend_fd(struct reader *r, int fd,
		     int (*add)(void *ctx, struct writer *w, struct err *err), void *ctx,
		     struct err *err);
