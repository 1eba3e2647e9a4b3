/* SPDX-License-Identifier: MIT */
/*
 * One block: header, LZ4 frame, padding. The only user of liblz4 and libxxhash.
 *
 * Compressing needs no allocation once a packer exists, and takes its input as up to two pieces, so
 * that a span of a ring that wraps is compressed where it lies. LZ4's frame format (content size and
 * content checksum always on, blocks independent) is that of liblz4's lz4_Frame_format.md.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format.h"

struct err;
struct block_packer; /* LZ4 context and an output buffer for FMT_MAX_BLOCK_BYTES */

int block_packer_new(struct block_packer **out, struct err *err);
void block_packer_free(struct block_packer *p);

/*
 * Packs `pieces[0..nr)` (nr <= 2, in all <= FMT_MAX_BLOCK_BYTES). The caller has set section,
 * encoding, seq, ring, content_bytes, nr_records, first_ns, last_ns and ring_off of `h`; the rest is
 * set here, hashes seeded with `seed`. `out` is the whole block, header included, a multiple of 8
 * long, borrowed until the next call. 0, -E2BIG or -EIO (LZ4 failed).
 */
int block_pack(struct block_packer *p, uint64_t seed, struct fmt_block *h, const struct bytes *pieces,
	       int nr, struct bytes *out);

/* True when `h` is a block header of the dump with this seed, and its lengths are within bounds. */
bool block_header_valid(const struct fmt_block *h, uint64_t seed);

/* Bytes a block takes in the file: header, frame, padding. */
uint64_t block_file_bytes(const struct fmt_block *h);

/*
 * Verifies and unpacks. `stored` is frame and padding. `out` is replaced (its memory reused) and gets
 * payload_bytes bytes. 0, -EBADMSG with what is wrong, -ENOMEM.
 */
int block_unpack(const struct fmt_block *h, uint64_t seed, struct bytes stored, struct buf *out,
		 struct err *err);

/* XXH3-64, for the header, the trailer and the chain. */
uint64_t block_hash(const void *p, size_t n, uint64_t seed);
