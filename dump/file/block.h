/* SPDX-License-Identifier: MIT */
/*
 * One block: header, LZ4 frame, padding. The only user of liblz4 and libxxhash.
 *
 * Compressing needs no allocation once a packer exists, and takes its input as up to two pieces, so
 * that a span of a ring that wraps is compressed where it lies. LZ4's frame format (content size
 * and content checksum always on, blocks independent) is that of liblz4's lz4_Frame_format.md.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct block_packer; /* LZ4 context and an output buffer */

/* How much time is taken to make blocks small. */
enum block_level { BLOCK_FAST, BLOCK_HIGH };

/* For payloads of up to `max_bytes` (<= FMT_MAX_BLOCK_BYTES); all memory is taken here. */
int block_packer_new(size_t max_bytes, enum block_level level, struct block_packer **out,
		     struct err *err);
void block_packer_free(struct block_packer *p);

/*
 * Packs `pieces[0..nr)` (nr <= 2, in all <= max_bytes). The caller has set section,
 * encoding, seq, ring, content_bytes, nr_records, first_ns, last_ns and ring_off of `h`; the rest
 * is set here, hashes seeded with `seed`. `out` is the whole block, header included, a multiple of
 * 8 long, borrowed until the next call. 0, -E2BIG or -EIO (LZ4 failed).
 */
int block_pack(struct block_packer *p, uint64_t seed, struct fmt_block *h,
	       const struct bytes *pieces, int nr, struct bytes *out);

/* True when `h` is a block header of the dump with this seed, and its lengths are within bounds. */
bool block_header_valid(const struct fmt_block *h, uint64_t seed);

/* Bytes a block takes in the file: header, frame, padding. */
uint64_t block_file_bytes(const struct fmt_block *h);

struct block_unpacker; /* LZ4 context, kept from block to block */

int block_unpacker_new(struct block_unpacker **out, struct err *err);
void block_unpacker_free(struct block_unpacker *u);
/*
 * Whether the frame's content checksum is looked at, too. The hash of the stored bytes, which
 * always is, tells what happened to them since they were written; hashing what they unpack to takes
 * longer than unpacking it. On in a new one.
 */
void block_unpacker_thorough(struct block_unpacker *u, bool on);

/*
 * Verifies and unpacks. `stored` is frame and padding. `out` is replaced (its memory reused) and
 * gets payload_bytes bytes. 0, -EBADMSG with what is wrong, -ENOMEM.
 */
int block_unpack(struct block_unpacker *u, const struct fmt_block *h, uint64_t seed,
		 struct bytes stored, struct buf *out, struct err *err);

/* Sets the hash of a header that is complete but for it; `stored_hash` and lengths are set already.
 */
void block_seal(struct fmt_block *h, uint64_t seed);

/* XXH3-64, for the header, the trailer and the chain. */
uint64_t block_hash(const void *p, size_t n, uint64_t seed);

/* What hashes of blocks are seeded with: the first 8 bytes of the dump's id. */
uint64_t block_seed(const uint8_t id[16]);

/* "HOST", "RECORDS", ...; "unknown section" for others. */
const char *block_section_name(uint16_t section);
