/* SPDX-License-Identifier: MIT */
/*
 * From a fuzzer's input (fuzz_seed.h) to the file that is read: for fuzz_reader.c, fuzz_view.c and
 * fuzz_report.c.
 */
#pragma once

#include "tests/fuzz/fuzz_seed.h"
#include "tests/helpers/small_dump.h"

#include "dump/file/block.h"

#include <stdlib.h>
#include <string.h>

static inline void fuzz_repair_header(struct fmt_header *h)
{
	memcpy(h->magic, FMT_MAGIC, sizeof(h->magic));
	h->version = FMT_VERSION;
	h->header_bytes = sizeof(*h);
	h->hash = block_hash(h, offsetof(struct fmt_header, hash), 0);
}

/* Goes from block to block as long as they look like one; collects their hashes, the FOOTER's last.
 */
static inline void fuzz_repair_blocks(struct buf *file, uint64_t seed, struct buf *hashes)
{
	size_t off = sizeof(struct fmt_header);

	while (span_fits(off, sizeof(struct fmt_block), file->len)) {
		struct fmt_block h;
		size_t n;

		memcpy(&h, file->p + off, sizeof(h));
		n = align_up(h.stored_bytes, 8);
		if (h.magic != FMT_BLOCK_MAGIC || !span_fits(off + sizeof(h), n, file->len))
			break;
		h.stored_hash = block_hash(file->p + off + sizeof(h), n, seed);
		block_seal(&h, seed);
		memcpy(file->p + off, &h, sizeof(h));
		SMALL_OK(buf_put(hashes, &h.hash, sizeof(h.hash)));
		off += sizeof(h) + n;
	}
}

static inline void fuzz_repair(struct buf *file)
{
	struct fmt_header h;
	struct fmt_trailer t;
	struct buf hashes = {0};
	uint8_t *end;
	uint64_t seed;

	if (file->len < sizeof(h) + sizeof(t))
		return;
	memcpy(&h, file->p, sizeof(h));
	fuzz_repair_header(&h);
	memcpy(file->p, &h, sizeof(h));
	seed = block_seed(h.id);
	fuzz_repair_blocks(file, seed, &hashes);
	end = file->p + file->len - sizeof(t);
	memcpy(&t, end, sizeof(t));
	if (!memcmp(t.magic, FMT_TRAILER_MAGIC, sizeof(t.magic))) {
		memcpy(t.id, h.id, sizeof(t.id));
		t.file_bytes = file->len;
		t.chain = block_hash(hashes.p, hashes.len, seed);
		t.hash = block_hash(&t, offsetof(struct fmt_trailer, hash), 0);
		memcpy(end, &t, sizeof(t));
	}
	buf_free(&hashes);
}

/* Blocks that are right around payloads that may not be; a file without footer. */
static inline void fuzz_pack_payloads(struct bytes in, struct buf *file)
{
	struct fmt_header h = {.id = {1, 2, 3}};
	uint64_t seed = block_seed(h.id);
	static struct block_packer *packer; /* kept: it is large */
	struct fuzz_payload p;
	struct bytes payload, block;

	fuzz_repair_header(&h);
	SMALL_OK(buf_put(file, &h, sizeof(h)));
	if (!packer)
		SMALL_OK(block_packer_new(FMT_MAX_BLOCK_BYTES, BLOCK_FAST, &packer, NULL));
	for (uint32_t seq = 0; bytes_get(&in, &p, sizeof(p)); seq++) {
		size_t want = p.bytes[0] | (size_t)p.bytes[1] << 8;
		struct fmt_block b = {
			.section = p.section,
			.encoding = p.encoding,
			.seq = seq,
			.ring = p.ring,
		};

		bytes_take(&in, want < in.len ? want : in.len, &payload);
		b.content_bytes = (uint32_t)payload.len;
		SMALL_OK(block_pack(packer, seed, &b, &payload, 1, &block));
		SMALL_OK(buf_put(file, block.p, block.len));
	}
}

/* In memory of exactly its length, so that one byte too far is seen; the caller frees .p. `size` >
 * 0. */
static inline struct bytes fuzz_file(const uint8_t *data, size_t size)
{
	struct buf file = {0};
	struct bytes b;

	if ((data[0] & FUZZ_KIND) == FUZZ_PAYLOADS)
		fuzz_pack_payloads((struct bytes){data + 1, size - 1}, &file);
	else
		SMALL_OK(buf_put(&file, data + 1, size - 1));
	if ((data[0] & FUZZ_KIND) == FUZZ_REPAIRED)
		fuzz_repair(&file);
	b = (struct bytes){memcpy(malloc(file.len + !file.len), file.p ? file.p : data, file.len),
			   file.len};
	buf_free(&file);
	return b;
}

/* What can be opened as it should be is shown that way, like the program does; and as damaged. */
static inline void fuzz_shown(const uint8_t *data, size_t size,
			      void (*use)(struct bytes file, bool damaged))
{
	struct bytes b;

	if (!size)
		return;
	b = fuzz_file(data, size);
	use(b, false);
	if ((data[0] & FUZZ_KIND) != FUZZ_REPAIRED)
		use(b, true);
	free((void *)b.p);
}
