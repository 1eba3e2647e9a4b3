// SPDX-License-Identifier: MIT
/* Opening a dump and loading its blocks; see reader.h. The walk over damaged files is in scan.c. */
#include "dump/file/reader_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/file/block.h"
#include "dump/packed/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SALVAGE_HINT "ringback check %s --salvage OUT saves the intact blocks"

int block_list_add(struct block_list *l, const struct reader_block *b)
{
	if (!array_room(l->v, l->nr))
		return -ENOMEM;
	l->v[l->nr++] = *b;
	return 0;
}

int reader_damaged(const struct reader *r, struct err *err, const char *what)
{
	err_set(err, -EBADMSG, "'%s' %s", r->name, what);
	err_hint(err, SALVAGE_HINT, r->name);
	return -EBADMSG;
}

/* ---- opening ---- */

static int attach(const char *path, struct bytes mem, struct reader **out, struct err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory for opening a dump");
	r->in = (struct input){.fd = -1, .mem = mem, .size = mem.len};
	r->name = strdup(path ? path : "(memory)");
	if (!r->name) {
		rc = err_set(err, -ENOMEM, "out of memory for opening a dump");
		goto fail;
	}
	rc = block_unpacker_new(&r->unpacker, err);
	if (rc)
		goto fail;
	block_unpacker_thorough(r->unpacker, false);
	if (path) {
		rc = input_open(path, &r->in, err);
		if (rc)
			goto fail;
	}
	*out = r;
	return 0;
fail:
	reader_close(r);
	return rc;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	input_close(&r->in);
	block_unpacker_free(r->unpacker);
	unpacker_free(r->records);
	buf_free(&r->packed);
	buf_free(&r->stored);
	free(r->dir.v);
	free(r->found.v);
	free(r->name);
	free(r);
}

/*
 * Reads header and trailer if the file is long enough, and takes the seed from the valid one; a
 * damaged header may still have the correct id.
 */
static int read_ends(struct reader *r, struct err *err)
{
	uint64_t size = r->in.size;
	struct fmt_header *h = &r->header;
	struct fmt_trailer *t = &r->trailer;
	int rc = 0;

	if (size >= sizeof(*h))
		rc = input_read(&r->in, 0, h, sizeof(*h));
	if (!rc && size >= sizeof(*h) + sizeof(*t))
		rc = input_read(&r->in, size - sizeof(*t), t, sizeof(*t));
	if (rc)
		return err_sys(err, rc, "cannot read '%s'", r->name);
	r->header_ok = !memcmp(h->magic, FMT_MAGIC, sizeof(h->magic)) &&
		       h->hash == block_hash(h, offsetof(struct fmt_header, hash), 0);
	r->trailer_ok = !memcmp(t->magic, FMT_TRAILER_MAGIC, sizeof(t->magic)) &&
			t->hash == block_hash(t, offsetof(struct fmt_trailer, hash), 0);
	if (r->trailer_ok && !r->header_ok) {
		memcpy(h->id, t->id, sizeof(h->id));
		h->created_real_ns = t->created_real_ns;
	}
	r->seed = block_seed(h->id);
	return 0;
}

/* True when the file begins like a dump, even if it is shorter than the magic. */
static bool begins_like_a_dump(const struct reader *r)
{
	uint8_t magic[8];
	size_t n = r->in.size < sizeof(magic) ? (size_t)r->in.size : sizeof(magic);

	return n && !input_read(&r->in, 0, magic, n) && !memcmp(magic, FMT_MAGIC, n);
}

/* Errors of both ways of opening. */
static int check_identity(const struct reader *r, struct err *err)
{
	const struct fmt_header *h = &r->header;

	if (!r->in.size)
		return err_set(err, -EBADMSG, "'%s' is empty: nothing was written to it", r->name);
	if (r->header_ok && h->version != FMT_VERSION) {
		err_set(err, -EBADMSG,
			"'%s' is a dump of format version %u; this program supports up to %u",
			r->name, h->version, FMT_VERSION);
		err_hint(err, "read it with a newer ringback (this is %s)", RINGBACK_VERSION);
		return -EBADMSG;
	}
	if (r->header_ok && h->header_bytes != sizeof(*h))
		return err_set(err, -EBADMSG, "'%s' has a header of %u bytes instead of %zu",
			       r->name, h->header_bytes, sizeof(*h));
	if (r->header_ok || r->trailer_ok)
		return 0;
	if (!begins_like_a_dump(r)) {
		err_set(err, -EBADMSG, "'%s' is not a ringback dump", r->name);
		err_hint(err, "name a file that ringback record wrote (*.rbd)");
		return -EBADMSG;
	}
	if (r->in.size < sizeof(*h))
		return err_set(
			err, -EBADMSG,
			"'%s' was not finished: it ends within the first %zu bytes, there is "
			"nothing to save",
			r->name, sizeof(*h));
	return 0;
}

/* 0 for a committed dump, else an error that says what is wrong. */
static int check_committed(const struct reader *r, struct err *err)
{
	const struct fmt_trailer *t = &r->trailer;

	if (!r->header_ok)
		return reader_damaged(r, err, "has a damaged header");
	if (r->trailer_ok) {
		if (t->file_bytes == r->in.size && !memcmp(t->id, r->header.id, sizeof(t->id)))
			return 0;
		return reader_damaged(r, err,
				      "has a different length than written, or mixes two dumps");
	}
	/* One of the two is still correct when a trailer was damaged in place. */
	if (!memcmp(t->magic, FMT_TRAILER_MAGIC, sizeof(t->magic)) ||
	    (t->file_bytes && t->file_bytes == r->in.size))
		return reader_damaged(r, err, "has a damaged trailer");
	return reader_damaged(r, err,
			      "was not finished: the recorder or the machine stopped while "
			      "writing it");
}

/* ---- the directory ---- */

/* Blocks must lie between `from` and the FOOTER. */
static bool entry_fits(const struct fmt_dir *d, uint64_t from, uint64_t footer_off)
{
	return d->offset >= from && d->offset % 8 == 0 && d->stored_bytes <= FMT_MAX_STORED_BYTES &&
	       d->payload_bytes <= FMT_MAX_BLOCK_BYTES && d->content_bytes <= FMT_MAX_BLOCK_BYTES &&
	       d->encoding <= UINT8_MAX && d->section != FMT_FOOTER &&
	       span_fits(d->offset, sizeof(struct fmt_block) + align_up(d->stored_bytes, 8),
			 footer_off);
}

static struct reader_block block_of_entry(const struct fmt_dir *d)
{
	return (struct reader_block){
		.offset = d->offset,
		.h =
			{
				.magic = FMT_BLOCK_MAGIC,
				.section = d->section,
				.encoding = (uint8_t)d->encoding,
				.ring = d->ring,
				.stored_bytes = d->stored_bytes,
				.payload_bytes = d->payload_bytes,
				.content_bytes = d->content_bytes,
				.nr_records = d->nr_records,
				.first_ns = d->first_ns,
				.last_ns = d->last_ns,
				.ring_off = d->ring_off,
			},
	};
}

/* Turns the FOOTER's payload into r->dir: ascending, not overlapping, all before the FOOTER. */
static int parse_directory(struct reader *r, struct bytes payload, struct err *err)
{
	uint64_t from = sizeof(struct fmt_header);
	struct bytes item;
	uint16_t kind;
	bool broken = false;

	while (reader_next_item(&payload, &kind, &item, &broken)) {
		struct reader_block b;
		struct fmt_dir d;

		if (kind != FMT_FOOTER_DIR)
			continue;
		bytes_get_grown(item, &d, sizeof(d));
		if (!entry_fits(&d, from, r->footer.offset) || r->dir.nr == FMT_MAX_BLOCKS)
			return err_set(err, -EBADMSG, "its directory has an invalid entry");
		b = block_of_entry(&d);
		b.h.seq = (uint32_t)r->dir.nr;
		if (block_list_add(&r->dir, &b))
			return err_set(err, -ENOMEM, "out of memory for a dump's directory");
		from = b.offset + block_file_bytes(&b.h);
	}
	if (broken)
		return err_set(err, -EBADMSG, "its directory is damaged");
	return 0;
}

/* Loads and parses the FOOTER at r->footer.offset; sets has_footer and dir_ok. */
static int load_directory(struct reader *r, struct err *err)
{
	struct buf payload = {0};
	int rc = reader_load_at(r, &r->footer, &payload, err);

	if (!rc && r->footer.h.section != FMT_FOOTER)
		rc = err_set(err, -EBADMSG, "there is another block in place of the footer");
	if (!rc) {
		r->has_footer = true;
		rc = parse_directory(r, (struct bytes){payload.p, payload.len}, err);
	}
	r->dir_ok = !rc;
	if (rc)
		r->dir.nr = 0;
	buf_free(&payload);
	return rc;
}

/* The FOOTER must end where the trailer begins. */
static int open_directory(struct reader *r, struct err *err)
{
	uint64_t off = r->trailer.footer_off, end = r->in.size - sizeof(r->trailer);
	int rc;

	if (off % 8 || off < sizeof(r->header) || !span_fits(off, sizeof(struct fmt_block), end))
		return reader_damaged(r, err, "has a damaged trailer");
	r->footer = (struct reader_block){.offset = off};
	rc = load_directory(r, err);
	if (rc == -EBADMSG) {
		err_prefix(err, "'%s' is damaged: the footer", r->name);
		err_hint(err, SALVAGE_HINT, r->name);
	}
	if (!rc && off + block_file_bytes(&r->footer.h) != end) {
		r->dir_ok = false;
		rc = reader_damaged(r, err, "has data between its footer and its end");
	}
	return rc;
}

/* A committed file: everything or an error. */
static int open_committed(struct reader *r, struct err *err)
{
	int rc = check_committed(r, err);

	return rc ? rc : open_directory(r, err);
}

/* A damaged file: the blocks that a scan finds, and the directory, if readable, for comparison. */
static int open_damaged(struct reader *r, struct err *err)
{
	int rc = reader_scan(r, err);

	if (!rc && r->has_footer) {
		rc = load_directory(r, NULL);
		if (rc != -ENOMEM)
			return 0;
		err_set(err, rc, "out of memory for a dump's directory");
	}
	return rc;
}

int reader_open_any(const char *path, struct bytes mem, bool damaged, struct reader **out,
		    struct err *err)
{
	struct reader *r = NULL;
	int rc = attach(path, mem, &r, err);

	if (rc)
		return rc;
	r->damaged_mode = damaged;
	rc = read_ends(r, err);
	if (!rc)
		rc = check_identity(r, err);
	if (!rc)
		rc = damaged ? open_damaged(r, err) : open_committed(r, err);
	if (rc)
		reader_close(r);
	else
		*out = r;
	return rc;
}

int reader_open(const char *path, struct reader **out, struct err *err)
{
	return reader_open_any(path, (struct bytes){0}, false, out, err);
}

int reader_open_damaged(const char *path, struct reader **out, struct err *err)
{
	return reader_open_any(path, (struct bytes){0}, true, out, err);
}

int reader_open_bytes(struct bytes file, bool damaged, struct reader **out, struct err *err)
{
	return reader_open_any(NULL, file, damaged, out, err);
}

/* ---- accessors ---- */

const struct fmt_header *reader_header(const struct reader *r)
{
	return &r->header;
}

uint64_t reader_file_bytes(const struct reader *r)
{
	return r->in.size;
}

bool reader_committed(const struct reader *r)
{
	return r->header_ok && r->trailer_ok && r->dir_ok && r->trailer.file_bytes == r->in.size &&
	       r->trailer.footer_off == r->footer.offset &&
	       !memcmp(r->trailer.id, r->header.id, sizeof(r->header.id)) &&
	       r->footer.offset + block_file_bytes(&r->footer.h) + sizeof(r->trailer) == r->in.size;
}

size_t reader_nr_blocks(const struct reader *r)
{
	return r->damaged_mode ? r->found.nr : r->dir.nr;
}

const struct reader_block *reader_block(const struct reader *r, size_t i)
{
	return r->damaged_mode ? &r->found.v[i] : &r->dir.v[i];
}

uint64_t reader_nr_records(const struct reader *r, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;

		if (h->section == FMT_RECORDS && h->first_ns <= to_ns && h->last_ns >= from_ns)
			nr += h->nr_records;
	}
	return nr;
}

int reader_load_at(struct reader *r, struct reader_block *b, struct buf *out, struct err *err)
{
	struct fmt_block h;
	size_t n;
	int rc = input_read(&r->in, b->offset, &h, sizeof(h));

	if (rc)
		return err_sys(err, rc, "its header cannot be read");
	if (!block_header_valid(&h, r->seed))
		return err_set(err, -EBADMSG, "its header is damaged");
	n = align_up(h.stored_bytes, 8);
	if (!span_fits(b->offset + sizeof(h), n, r->in.size))
		return err_set(err, -EBADMSG, "the file ends before it does");
	r->stored.len = 0;
	if (buf_reserve(&r->stored, n))
		return err_set(err, -ENOMEM, "out of memory for a block");
	rc = input_read(&r->in, b->offset + sizeof(h), r->stored.p, n);
	if (rc)
		return err_sys(err, rc, "it cannot be read");
	r->stored.len = n;
	rc = block_unpack(r->unpacker, &h, r->seed, (struct bytes){r->stored.p, n}, out, err);
	if (!rc)
		b->h = h;
	return rc;
}

bool reader_same_block(const struct fmt_block *want, const struct fmt_block *got)
{
	return want->seq == got->seq && want->section == got->section &&
	       want->encoding == got->encoding && want->ring == got->ring &&
	       want->stored_bytes == got->stored_bytes &&
	       want->payload_bytes == got->payload_bytes &&
	       want->content_bytes == got->content_bytes && want->nr_records == got->nr_records &&
	       want->first_ns == got->first_ns && want->last_ns == got->last_ns &&
	       want->ring_off == got->ring_off;
}

void reader_describe(const struct reader_block *b, size_t i, char *out, size_t n)
{
	if (b->h.section == FMT_RECORDS || b->h.section == FMT_AUX)
		snprintf(out, n, "block %zu (%s of ring %u) at offset %" PRIu64, i,
			 block_section_name(b->h.section), b->h.ring, b->offset);
	else
		snprintf(out, n, "block %zu (%s) at offset %" PRIu64, i,
			 block_section_name(b->h.section), b->offset);
}

static int load_listed(struct reader *r, size_t i, struct buf *out, struct err *err)
{
	struct block_list *l = r->damaged_mode ? &r->found : &r->dir;
	struct reader_block got = l->v[i];
	char where[80];
	int rc = reader_load_at(r, &got, out, err);

	if (!rc && !reader_same_block(&l->v[i].h, &got.h))
		rc = err_set(err, -EBADMSG, "it is not the block that the directory lists");
	if (!rc) {
		l->v[i].h = got.h;
		return 0;
	}
	out->len = 0;
	reader_describe(&l->v[i], i, where, sizeof(where));
	err_prefix(err, "%s", where);
	return rc;
}

/* Adds the file's name and a hint to an error. */
static int named(const struct reader *r, int rc, struct err *err)
{
	if (rc)
		err_prefix(err, "'%s'", r->name);
	if (rc == -EBADMSG)
		err_hint(err, SALVAGE_HINT, r->name);
	return rc;
}

int reader_load(struct reader *r, size_t i, struct buf *out, struct err *err)
{
	return named(r, load_listed(r, i, out, err), err);
}

static int unpack_block(struct reader *r, const struct fmt_block *h, struct buf *out,
			struct err *err)
{
	struct bytes payload = {r->packed.p, r->packed.len};
	int rc = r->records ? 0 : unpacker_new(&r->records, err);

	if (!rc)
		rc = unpack_open(r->records, payload, h->nr_records, h->content_bytes, err);
	return rc ? rc : unpack_all(r->records, out, err);
}

int reader_content_listed(struct reader *r, size_t i, struct buf *out, struct err *err)
{
	const struct fmt_block *h = &reader_block(r, i)->h;
	char where[80];
	int rc;

	if (h->encoding != FMT_ENC_PACKED)
		rc = load_listed(r, i, out, err);
	else
		rc = load_listed(r, i, &r->packed, err);
	if (rc || h->encoding == FMT_ENC_RAW || h->section != FMT_RECORDS)
		return rc;
	if (h->encoding == FMT_ENC_PACKED)
		rc = unpack_block(r, h, out, err);
	else
		rc = err_set(err, -ENOTSUP, "it has an encoding of a newer format (%u)",
			     h->encoding);
	if (rc) {
		reader_describe(reader_block(r, i), i, where, sizeof(where));
		err_prefix(err, "%s", where);
	}
	return rc;
}

int reader_content(struct reader *r, size_t i, struct buf *out, struct err *err)
{
	return named(r, reader_content_listed(r, i, out, err), err);
}

bool reader_next_item(struct bytes *payload, uint16_t *kind, struct bytes *item, bool *broken)
{
	struct bytes rest = *payload, got, padding;
	struct fmt_item head;

	if (!rest.len)
		return false;
	if (!bytes_get(&rest, &head, sizeof(head)) || !bytes_take(&rest, head.bytes, &got) ||
	    !bytes_take(&rest, (size_t)(align_up(head.bytes, 8) - head.bytes), &padding)) {
		*broken = true;
		return false;
	}
	*payload = rest;
	*kind = head.kind;
	*item = got;
	return true;
}
