// SPDX-License-Identifier: MIT
/* Blocks, LZ4 frames and hashes; see block.h. */
#include "dump/file/block.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "on-disk structs are used as they are");

/*
 * Levels of liblz4. For columns, level 4 saves 1 to 3 % for twice the CPU time of all packing, and
 * higher levels save nothing. For stack copies, level 4 saves a quarter; above it, each 2 % doubles
 * the time.
 */
static const int lz4_levels[] = {[BLOCK_FAST] = 1, [BLOCK_HIGH] = 4};

/* A second piece adds one LZ4 block. */
#define FRAME_SLACK 64u

struct block_packer {
	LZ4F_cctx *cctx;
	int lz4_level;
	size_t max_bytes; /* of a payload */
	size_t max_stored;
	uint8_t *out;
};

uint64_t block_hash(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}

uint64_t block_seed(const uint8_t id[16])
{
	uint64_t seed;

	memcpy(&seed, id, sizeof(seed));
	return seed;
}

void block_seal(struct fmt_block *h, uint64_t seed)
{
	h->hash = block_hash(h, offsetof(struct fmt_block, hash), seed);
}

const char *block_section_name(uint16_t section)
{
	static const char *const names[] = {
		[FMT_HOST] = "HOST",	   [FMT_TRIGGER] = "TRIGGER", [FMT_CHANNELS] = "CHANNELS",
		[FMT_FORMATS] = "FORMATS", [FMT_WINDOWS] = "WINDOWS", [FMT_LEDGER] = "LEDGER",
		[FMT_RECORDS] = "RECORDS", [FMT_STATS] = "STATS",     [FMT_FOOTER] = "FOOTER",
		[FMT_SYMBOLS] = "SYMBOLS", [FMT_AUX] = "AUX",	      [FMT_CGROUPS] = "CGROUPS",
		[FMT_THREADS] = "THREADS",
	};

	if (section >= sizeof(names) / sizeof(names[0]) || !names[section])
		return "unknown section";
	return names[section];
}

/* ---- packing ---- */

/*
 * With autoFlush and independent blocks liblz4 compresses each piece in place and does not copy its
 * input, so that the context does not grow after its first use.
 */
static LZ4F_preferences_t preferences(int lz4_level, uint64_t content_bytes)
{
	LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;

	p.frameInfo.blockSizeID = LZ4F_max256KB;
	p.frameInfo.blockMode = LZ4F_blockIndependent;
	p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	p.frameInfo.contentSize = content_bytes;
	p.compressionLevel = lz4_level;
	p.autoFlush = 1;
	return p;
}

/* Writes one frame after the room for the header; returns its length, 0 on failure. */
static size_t compress(struct block_packer *p, const struct bytes *pieces, int nr, uint64_t total)
{
	LZ4F_preferences_t prefs = preferences(p->lz4_level, total);
	uint8_t *dst = p->out + sizeof(struct fmt_block);
	size_t cap = p->max_stored;
	LZ4F_compressOptions_t opt = {.stableSrc = 1};
	size_t len, n;

	len = LZ4F_compressBegin(p->cctx, dst, cap, &prefs);
	if (LZ4F_isError(len))
		return 0;
	for (int i = 0; i < nr; i++) {
		if (!pieces[i].len)
			continue;
		n = LZ4F_compressUpdate(p->cctx, dst + len, cap - len, pieces[i].p, pieces[i].len,
					&opt);
		if (LZ4F_isError(n))
			return 0;
		len += n;
	}
	n = LZ4F_compressEnd(p->cctx, dst + len, cap - len, &opt);
	return LZ4F_isError(n) ? 0 : len + n;
}

int block_packer_new(size_t max_bytes, enum block_level level, struct block_packer **out,
		     struct err *err)
{
	static const uint8_t sample[64];
	struct bytes warm_up = {sample, sizeof(sample)};
	LZ4F_preferences_t prefs = preferences(lz4_levels[level], max_bytes);
	struct block_packer *p = calloc(1, sizeof(*p));

	assert(max_bytes >= sizeof(sample) && max_bytes <= FMT_MAX_BLOCK_BYTES);
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->lz4_level = lz4_levels[level];
	p->max_bytes = max_bytes;
	p->max_stored = LZ4F_compressBound(max_bytes, &prefs) + LZ4F_HEADER_SIZE_MAX + FRAME_SLACK;
	assert(p->max_stored <= FMT_MAX_STORED_BYTES);
	p->out = malloc(sizeof(struct fmt_block) + p->max_stored + 8);
	if (!p->out || LZ4F_isError(LZ4F_createCompressionContext(&p->cctx, LZ4F_VERSION)))
		goto fail;
	/* liblz4 allocates its tables on first use: do that now. */
	if (!compress(p, &warm_up, 1, sizeof(sample)))
		goto fail;
	*out = p;
	return 0;
fail:
	block_packer_free(p);
	return err_set(err, -ENOMEM, "out of memory for compressing");
}

void block_packer_free(struct block_packer *p)
{
	if (!p)
		return;
	LZ4F_freeCompressionContext(p->cctx);
	free(p->out);
	free(p);
}

int block_pack(struct block_packer *p, uint64_t seed, struct fmt_block *h,
	       const struct bytes *pieces, int nr, struct bytes *out)
{
	uint8_t *stored = p->out + sizeof(*h);
	uint64_t total = 0;
	size_t len, padded;

	assert(nr >= 0 && nr <= 2);
	for (int i = 0; i < nr; i++) {
		if (pieces[i].len > p->max_bytes - total)
			return -E2BIG;
		total += pieces[i].len;
	}
	len = compress(p, pieces, nr, total);
	if (!len)
		return -EIO;
	padded = align_up(len, 8);
	memset(stored + len, 0, padded - len);
	h->magic = FMT_BLOCK_MAGIC;
	h->flags = 0;
	h->stored_bytes = (uint32_t)len;
	h->payload_bytes = (uint32_t)total;
	h->stored_hash = block_hash(stored, padded, seed);
	block_seal(h, seed);
	memcpy(p->out, h, sizeof(*h));
	*out = (struct bytes){p->out, sizeof(*h) + padded};
	return 0;
}

/* ---- unpacking ---- */

struct block_unpacker {
	LZ4F_dctx *dctx;
	LZ4F_decompressOptions_t opt;
};

int block_unpacker_new(struct block_unpacker **out, struct err *err)
{
	struct block_unpacker *u = calloc(1, sizeof(*u));

	if (!u || LZ4F_isError(LZ4F_createDecompressionContext(&u->dctx, LZ4F_VERSION))) {
		free(u);
		return err_set(err, -ENOMEM, "out of memory for unpacking");
	}
	u->opt.stableDst = 1;
	*out = u;
	return 0;
}

void block_unpacker_thorough(struct block_unpacker *u, bool on)
{
#if LZ4_VERSION_NUMBER >= 10904
	u->opt.skipChecksums = !on;
#endif
}

void block_unpacker_free(struct block_unpacker *u)
{
	if (!u)
		return;
	LZ4F_freeDecompressionContext(u->dctx);
	free(u);
}

bool block_header_valid(const struct fmt_block *h, uint64_t seed)
{
	return h->magic == FMT_BLOCK_MAGIC && h->stored_bytes <= FMT_MAX_STORED_BYTES &&
	       h->payload_bytes <= FMT_MAX_BLOCK_BYTES && h->content_bytes <= FMT_MAX_BLOCK_BYTES &&
	       h->hash == block_hash(h, offsetof(struct fmt_block, hash), seed);
}

uint64_t block_file_bytes(const struct fmt_block *h)
{
	return sizeof(*h) + align_up(h->stored_bytes, 8);
}

/* The frame's header must match the block's before anything is unpacked. */
static int check_frame(LZ4F_dctx *dctx, struct bytes *frame, size_t payload_bytes, struct err *err)
{
	LZ4F_frameInfo_t info;
	size_t n = frame->len;

	if (LZ4F_isError(LZ4F_getFrameInfo(dctx, &info, frame->p, &n)))
		return err_set(err, -EBADMSG, "its payload is not an LZ4 frame");
	if (info.frameType != LZ4F_frame || info.dictID ||
	    info.contentChecksumFlag != LZ4F_contentChecksumEnabled ||
	    info.contentSize != payload_bytes)
		return err_set(err, -EBADMSG, "its LZ4 frame has unexpected properties");
	frame->p += n;
	frame->len -= n;
	return 0;
}

/* Unpacks the rest of a frame, which must yield exactly `n` bytes. */
static int decompress(struct block_unpacker *u, struct bytes frame, uint8_t *dst, size_t n,
		      struct err *err)
{
	size_t done = 0, more;

	do {
		size_t got = n - done, used = frame.len;

		more = LZ4F_decompress(u->dctx, dst + done, &got, frame.p, &used, &u->opt);
		if (LZ4F_isError(more))
			return err_set(err, -EBADMSG, "its LZ4 frame cannot be decompressed (%s)",
				       LZ4F_getErrorName(more));
		if (more && !got && !used)
			return err_set(err, -EBADMSG, "its LZ4 frame ends early");
		done += got;
		frame.p += used;
		frame.len -= used;
	} while (more);
	if (done != n || frame.len)
		return err_set(err, -EBADMSG,
			       "the length of its LZ4 frame differs from its header");
	return 0;
}

/* Checks the stored bytes without unpacking them. */
static int check_stored(const struct fmt_block *h, uint64_t seed, struct bytes stored,
			struct err *err)
{
	if (h->stored_bytes > FMT_MAX_STORED_BYTES || h->payload_bytes > FMT_MAX_BLOCK_BYTES ||
	    stored.len != align_up(h->stored_bytes, 8))
		return err_set(err, -EBADMSG, "its lengths are out of bounds");
	if (block_hash(stored.p, stored.len, seed) != h->stored_hash)
		return err_set(err, -EBADMSG, "its stored bytes are damaged");
	for (size_t i = h->stored_bytes; i < stored.len; i++)
		if (stored.p[i])
			return err_set(err, -EBADMSG, "its padding is not zero");
	if (h->flags)
		return err_set(err, -EBADMSG, "it has flags of a newer format (0x%x)", h->flags);
	if ((h->encoding == FMT_ENC_ITEMS || h->encoding == FMT_ENC_RAW ||
	     h->encoding == FMT_ENC_BYTES) &&
	    h->content_bytes != h->payload_bytes)
		return err_set(err, -EBADMSG, "its content and payload lengths differ");
	return 0;
}

int block_unpack(struct block_unpacker *u, const struct fmt_block *h, uint64_t seed,
		 struct bytes stored, struct buf *out, struct err *err)
{
	struct bytes frame = {stored.p, h->stored_bytes};
	int rc = check_stored(h, seed, stored, err);

	if (rc)
		return rc;
	out->len = 0;
	/* At least one byte: liblz4 needs a valid pointer even for an empty payload. */
	if (buf_reserve(out, h->payload_bytes + 1))
		return err_set(err, -ENOMEM, "out of memory for unpacking a block");
	/* The previous frame may have failed. */
	LZ4F_resetDecompressionContext(u->dctx);
	rc = check_frame(u->dctx, &frame, h->payload_bytes, err);
	if (!rc)
		rc = decompress(u, frame, out->p, h->payload_bytes, err);
	if (!rc)
		out->len = h->payload_bytes;
	return rc;
}
