// SPDX-License-Identifier: MIT
/*
 * The writer; see writer.h.
 *
 *	          begin               section, item, records, flush             finish
 *	  IDLE ─────────▶ WRITING ◀──────────────────────────────┐  ─────────────────▶ IDLE
 *	                     └────────────────────────────────────┘
 *	                     │ first error: later calls up to finish do nothing and return it,
 *	                     ▼ so that an incomplete dump is never committed
 *	                  FAILED ── cut ──▶ WRITING, from the last whole block on
 */
#include "dump/file/writer.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A directory entry as in the FOOTER's payload, which is written from the array of these. */
struct dir_entry {
	struct fmt_item item;
	struct fmt_dir dir;
};

_Static_assert(sizeof(struct dir_entry) * FMT_MAX_BLOCKS == FMT_MAX_BLOCK_BYTES, "FMT_MAX_BLOCKS");

struct writer {
	struct writer_options opt;
	struct block_packer *packer;
	struct dir_entry *dir;
	uint64_t *hashes; /* of the blocks in `dir`, and the FOOTER's */
	uint32_t nr_blocks;

	uint8_t *items; /* FMT_MAX_BLOCK_BYTES; pages are used as blocks get large */
	size_t items_bytes;
	uint32_t nr_items;
	uint16_t section;

	int fd;
	int failed; /* first error; its text: */
	struct err err;
	uint64_t file_bytes;
	uint64_t seed;
	uint64_t created_real_ns;
	uint8_t id[16];
};

int writer_new(const struct writer_options *opt, struct writer **out, struct err *err)
{
	struct writer *w;
	int rc;

	if (!opt->max_blocks || opt->max_blocks > FMT_MAX_BLOCKS)
		return err_set(err, -EINVAL, "a dump can have 1 to %u blocks, not %u",
			       FMT_MAX_BLOCKS, opt->max_blocks);
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory for a dump writer");
	w->opt = *opt;
	w->fd = -1;
	w->dir = calloc(opt->max_blocks, sizeof(*w->dir));
	w->hashes = calloc((size_t)opt->max_blocks + 1, sizeof(*w->hashes));
	w->items = malloc(FMT_MAX_BLOCK_BYTES);
	if (!w->dir || !w->hashes || !w->items) {
		rc = err_set(err, -ENOMEM, "out of memory for a dump writer");
		goto fail;
	}
	rc = block_packer_new(FMT_MAX_BLOCK_BYTES, opt->level, &w->packer, err);
	if (rc)
		goto fail;
	*out = w;
	return 0;
fail:
	writer_free(w);
	return rc;
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	block_packer_free(w->packer);
	free(w->items);
	free(w->hashes);
	free(w->dir);
	free(w);
}

const uint8_t *writer_id(const struct writer *w)
{
	return w->id;
}

static int write_all(struct writer *w, const void *src, size_t n)
{
	const uint8_t *p = src;

	if (w->opt.room)
		w->failed = w->opt.room(w->opt.ctx, w->file_bytes, n, &w->err);
	while (n && !w->failed) {
		ssize_t done = write(w->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			w->failed = err_sys(&w->err, done ? -errno : -EIO, "cannot write the dump");
			break;
		}
		p += done;
		n -= (size_t)done;
		w->file_bytes += (uint64_t)done;
	}
	return w->failed;
}

int writer_error(const struct writer *w, struct err *err)
{
	if (w->failed && err)
		*err = w->err;
	return w->failed;
}

int writer_begin_as(struct writer *w, int fd, const uint8_t id[16], uint64_t created_real_ns,
		    struct err *err)
{
	struct fmt_header h = {
		.version = FMT_VERSION,
		.header_bytes = sizeof(h),
		.created_real_ns = created_real_ns,
	};

	assert(fd >= 0);
	memcpy(h.magic, FMT_MAGIC, sizeof(h.magic));
	memcpy(h.id, id, sizeof(h.id));
	h.hash = block_hash(&h, offsetof(struct fmt_header, hash), 0);

	w->fd = fd;
	w->failed = 0;
	w->file_bytes = 0;
	w->nr_blocks = 0;
	w->items_bytes = 0;
	w->nr_items = 0;
	w->section = 0;
	w->seed = block_seed(id);
	w->created_real_ns = created_real_ns;
	memcpy(w->id, id, sizeof(w->id));
	write_all(w, &h, sizeof(h));
	return writer_error(w, err);
}

int writer_begin(struct writer *w, int fd, uint64_t created_real_ns, struct err *err)
{
	uint8_t id[16];

	w->nr_blocks = 0;
	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		return err_sys(err, -errno, "cannot get a random id for the dump");
	return writer_begin_as(w, fd, id, created_real_ns, err);
}

/* ---- blocks ---- */

static int room_in_directory(struct writer *w)
{
	if (w->nr_blocks == w->opt.max_blocks)
		w->failed = err_set(&w->err, -E2BIG, "the dump has more than %u blocks",
				    w->opt.max_blocks);
	return w->failed;
}

/* Adds the block that begins at the current end of the file. */
static void list_block(struct writer *w, const struct fmt_block *h)
{
	w->dir[w->nr_blocks] = (struct dir_entry){
		.item = {.kind = FMT_FOOTER_DIR, .bytes = sizeof(struct fmt_dir)},
		.dir =
			{
				.offset = w->file_bytes,
				.stored_bytes = h->stored_bytes,
				.payload_bytes = h->payload_bytes,
				.section = h->section,
				.encoding = h->encoding,
				.ring = h->ring,
				.nr_records = h->nr_records,
				.content_bytes = h->content_bytes,
				.first_ns = h->first_ns,
				.last_ns = h->last_ns,
				.ring_off = h->ring_off,
			},
	};
	w->hashes[w->nr_blocks++] = h->hash;
}

/* Writes the listed block; only whole blocks stay in the directory. */
static int write_block(struct writer *w, struct bytes first, struct bytes second)
{
	if (!write_all(w, first.p, first.len))
		write_all(w, second.p, second.len);
	if (w->failed)
		w->nr_blocks--;
	return w->failed;
}

/* Sets h->seq and packs the block into w->packer. */
static int pack(struct writer *w, struct fmt_block *h, const struct bytes *pieces, int nr,
		struct bytes *block)
{
	int rc;

	h->seq = w->nr_blocks;
	rc = block_pack(w->packer, w->seed, h, pieces, nr, block);
	if (rc == -E2BIG)
		err_set(&w->err, rc, "a block of the dump would be larger than %u bytes",
			FMT_MAX_BLOCK_BYTES);
	else if (rc)
		err_set(&w->err, rc, "a block of the dump could not be compressed");
	w->failed = rc;
	return rc;
}

static int put_block(struct writer *w, struct fmt_block *h, const struct bytes *pieces, int nr)
{
	struct bytes block;

	if (room_in_directory(w) || pack(w, h, pieces, nr, &block))
		return w->failed;
	list_block(w, h);
	return write_block(w, block, (struct bytes){0});
}

int writer_flush(struct writer *w)
{
	struct bytes payload = {w->items, w->items_bytes};
	struct fmt_block h = {
		.section = w->section,
		.encoding = FMT_ENC_ITEMS,
		.ring = FMT_NO_RING,
		.content_bytes = (uint32_t)w->items_bytes,
		.nr_records = w->nr_items,
	};

	assert(w->fd >= 0);
	if (w->failed || !w->items_bytes)
		return w->failed;
	w->items_bytes = 0;
	w->nr_items = 0;
	return put_block(w, &h, &payload, 1);
}

int writer_section(struct writer *w, uint16_t section)
{
	assert(section && section != FMT_RECORDS && section != FMT_AUX && section != FMT_FOOTER);
	if (section != w->section)
		writer_flush(w);
	w->section = section;
	return w->failed;
}

static void collect(struct writer *w, const void *src, size_t n)
{
	if (n)
		memcpy(w->items + w->items_bytes, src, n);
	w->items_bytes += n;
}

int writer_item(struct writer *w, uint16_t kind, const void *fixed, size_t fixed_bytes,
		const void *var, size_t var_bytes, bool *new_block)
{
	static const uint8_t zeros[8];
	struct fmt_item item = {.kind = kind};
	size_t bytes = fixed_bytes + var_bytes, padded = align_up(bytes, 8);

	assert(w->fd >= 0 && w->section);
	if (w->failed)
		return w->failed;
	if (bytes < var_bytes || bytes > FMT_MAX_BLOCK_BYTES - sizeof(item))
		return w->failed = err_set(&w->err, -E2BIG,
					   "an item of the dump is too large: %zu bytes", bytes);
	if (w->items_bytes && w->items_bytes + sizeof(item) + padded > FMT_BLOCK_BYTES &&
	    writer_flush(w))
		return w->failed;
	if (new_block)
		*new_block = !w->items_bytes;
	item.bytes = (uint32_t)bytes;
	collect(w, &item, sizeof(item));
	collect(w, fixed, fixed_bytes);
	collect(w, var, var_bytes);
	collect(w, zeros, padded - bytes);
	w->nr_items++;
	return 0;
}

struct fmt_block writer_run_header(const struct writer_run *run)
{
	return (struct fmt_block){
		.section = FMT_RECORDS,
		.encoding = run->encoding,
		.ring = run->ring,
		.content_bytes = run->content_bytes,
		.nr_records = run->nr_records,
		.first_ns = run->first_ns,
		.last_ns = run->last_ns,
		.ring_off = run->ring_off,
	};
}

int writer_records(struct writer *w, const struct writer_run *run, const struct bytes *pieces,
		   int nr)
{
	struct fmt_block h = writer_run_header(run);

	return writer_flush(w) ? w->failed : put_block(w, &h, pieces, nr);
}

struct fmt_block writer_area_header(const struct writer_area *area)
{
	return (struct fmt_block){
		.section = FMT_AUX,
		.encoding = FMT_ENC_BYTES,
		.ring = area->ring,
		.content_bytes = area->content_bytes,
		.ring_off = area->newer_bytes,
	};
}

int writer_area(struct writer *w, const struct writer_area *area, const struct bytes *pieces,
		int nr)
{
	struct fmt_block h = writer_area_header(area);

	return writer_flush(w) ? w->failed : put_block(w, &h, pieces, nr);
}

int writer_copy(struct writer *w, const struct fmt_block *h, struct bytes stored)
{
	struct fmt_block copy = *h;

	assert(stored.len == align_up(h->stored_bytes, 8));
	if (writer_flush(w) || room_in_directory(w))
		return w->failed;
	copy.seq = w->nr_blocks;
	block_seal(&copy, w->seed);
	list_block(w, &copy);
	return write_block(w, (struct bytes){(uint8_t *)&copy, sizeof(copy)}, stored);
}

/* ---- cutting ---- */

static bool is_of_ring(const struct fmt_dir *d)
{
	return d->section == FMT_RECORDS || d->section == FMT_AUX;
}

/* Where the first `nr` blocks end. */
static uint64_t end_of(const struct writer *w, size_t nr)
{
	const struct fmt_dir *last = nr ? &w->dir[nr - 1].dir : NULL;

	return last ? last->offset + sizeof(struct fmt_block) + align_up(last->stored_bytes, 8)
		    : sizeof(struct fmt_header);
}

int writer_cut(struct writer *w, uint64_t bytes)
{
	uint64_t at = w->file_bytes, end;
	size_t nr = w->nr_blocks, nr_of_rings = 0, most;

	for (size_t i = 0; i < nr; i++)
		nr_of_rings += is_of_ring(&w->dir[i].dir);
	if (!nr_of_rings)
		return -ENODATA;
	bytes += bytes ? nr * sizeof(*w->dir) : 0;
	for (most = nr_of_rings / 2; nr && at - end_of(w, nr) < bytes; nr--)
		if (is_of_ring(&w->dir[nr - 1].dir) && !most--)
			break;
	end = end_of(w, nr);
	if (ftruncate(w->fd, (off_t)end) || lseek(w->fd, (off_t)end, SEEK_SET) < 0)
		return -errno;
	w->failed = 0;
	w->file_bytes = end;
	w->nr_blocks = (uint32_t)nr;
	w->items_bytes = 0;
	w->nr_items = 0;
	w->section = 0;
	return 0;
}

size_t writer_nr_blocks(const struct writer *w)
{
	return w->nr_blocks;
}

const struct fmt_dir *writer_block(const struct writer *w, size_t i)
{
	return &w->dir[i].dir;
}

/* ---- the end ---- */

static int put_footer(struct writer *w)
{
	struct bytes dir = {(const uint8_t *)w->dir, w->nr_blocks * sizeof(*w->dir)}, block;
	struct fmt_block h = {
		.section = FMT_FOOTER,
		.encoding = FMT_ENC_ITEMS,
		.ring = FMT_NO_RING,
		.content_bytes = (uint32_t)dir.len,
		.nr_records = w->nr_blocks,
	};

	if (pack(w, &h, &dir, 1, &block))
		return w->failed;
	w->hashes[w->nr_blocks] = h.hash;
	return write_all(w, block.p, block.len);
}

static int put_trailer(struct writer *w, uint64_t footer_off)
{
	struct fmt_trailer t = {
		.footer_off = footer_off,
		.file_bytes = w->file_bytes + sizeof(t),
		.created_real_ns = w->created_real_ns,
	};

	t.chain = block_hash(w->hashes, ((size_t)w->nr_blocks + 1) * sizeof(*w->hashes), w->seed);
	memcpy(t.id, w->id, sizeof(t.id));
	memcpy(t.magic, FMT_TRAILER_MAGIC, sizeof(t.magic));
	t.hash = block_hash(&t, offsetof(struct fmt_trailer, hash), 0);
	return write_all(w, &t, sizeof(t));
}

int writer_finish(struct writer *w, uint64_t *file_bytes, struct err *err)
{
	uint64_t footer_off;

	writer_flush(w);
	footer_off = w->file_bytes;
	if (w->failed || put_footer(w) || put_trailer(w, footer_off))
		return writer_error(w, err);
	w->fd = -1;
	*file_bytes = w->file_bytes;
	return 0;
}
