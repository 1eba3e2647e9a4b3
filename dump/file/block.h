/* SPDX-License-Identifier: MIT */
/*
 * One block: header, LZ4 frame, padding. The only user of liblz4 and libxxhash.
 *
 * A packer allocates nothing after it is created. Its input is up to two pieces, so that a wrapped
 * span of a ring is compressed in place. LZ4 frames (with content size, content checksum and
 * independent blocks) are as in liblz4's lz4_Frame_format.md.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct err;
struct block_packer; /* LZ4 context and an output buffer */

/* Compression time versus size. */
enum block_level { BLOCK_FAST, BLOCK_HIGH };

/* For payloads of up to `max_bytes` (<= FMT_MAX_BLOCK_BYTES). Allocates all memory. */
int block_packer_new(size_t max_bytes, enum block_level level, struct block_packer **out,
		     struct err *err);
void block_packer_free(struct block_packer *p);

/*
 * Packs `pieces[0..nr)` (nr <= 2, together <= max_bytes). The caller sets section, encoding, seq,
 * ring, content_bytes, nr_records, first_ns, last_ns and ring_off of `h`; this sets the rest, with
 * hashes seeded with `seed`. `out` is the block with its header, a multiple of 8 bytes, borrowed
 * until the next call. 0, -E2BIG or -EIO (LZ4 failed).
 */
int block_pack(struct block_packer *p, uint64_t seed, struct fmt_block *h,
	       const struct bytes *pieces, int nr, struct bytes *out);

/* True when `h` is a block header of the dump with this seed and its lengths are within bounds. */
bool block_header_valid(const struct fmt_block *h, uint64_t seed);

/* Bytes a block takes in the file: header, frame, padding. */
uint64_t block_file_bytes(const struct fmt_block *h);

struct block_unpacker; /* LZ4 context, kept from block to block */

int block_unpacker_new(struct block_unpacker **out, struct err *err);
void block_unpacker_free(struct block_unpacker *u);
/*
 * Whether to verify the frame's content checksum too (default: on). The hash of the stored bytes is
 * always verified and detects damage on disk; hashing the payload takes longer than unpacking it.
 */
void block_unpacker_thorough(struct block_unpacker *u, bool on);

/*
 * Verifies and unpacks. `stored` is frame and padding. Replaces `out` (reuses its memory) with
 * payload_bytes bytes. 0, -EBADMSG or -ENOMEM.
 */
int block_unpack(struct block_unpacker *u, const struct fmt_block *h, uint64_t seed,
		 struct bytes stored, struct buf *out, struct err *err);

/* Sets the hash of a header that is otherwise complete. */
void block_seal(struct fmt_block *h, uint64_t seed);

/* XXH3-64, for the header, the trailer and the chain. */
uint64_t block_hash(const void *p, size_t n, uint64_t seed);

/* The seed of block hashes: the first 8 bytes of the dump's id. */
uint64_t block_seed(const uint8_t id[16]);

/* "HOST", "RECORDS", ...; "unknown section" for others. */
const char *block_section_name(uint16_t section);
