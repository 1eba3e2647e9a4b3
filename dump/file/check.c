// SPDX-License-Identifier: MIT
/*
 * Verifies every byte of a dump; see reader_check() in reader.h. Walks the file without its
 * directory, then compares the result with the directory, the chain and the trailer.
 */
#include "dump/file/reader_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/file/block.h"
#include "dump/format/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump_check {
	struct reader *r;
	struct reader_verdict *v;
	void (*bad)(void *ctx, const char *text);
	void *ctx;
	uint64_t nr_findings;
	struct buf payload;
};

__attribute__((format(printf, 2, 3))) static void finding(struct dump_check *c, const char *fmt,
							  ...)
{
	char text[512];
	va_list ap;

	c->nr_findings++;
	if (!c->bad)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->bad(c->ctx, text);
}

/* ---- one block ---- */

static int check_items(const struct fmt_block *h, struct bytes payload, struct err *err)
{
	struct bytes item;
	bool broken = false;
	uint32_t nr = 0;
	uint16_t kind;

	while (reader_next_item(&payload, &kind, &item, &broken))
		nr++;
	if (broken)
		return err_set(err, -EBADMSG, "invalid data after %" PRIu32 " items", nr);
	if (nr != h->nr_records)
		return err_set(err, -EBADMSG, "it has %" PRIu32 " items, its header says %" PRIu32,
			       nr, h->nr_records);
	return 0;
}

static int check_records(const struct fmt_block *h, struct bytes payload, struct err *err)
{
	struct perf_event_header rec;
	size_t off = 0;
	uint32_t nr = 0;

	for (; record_at(payload, off, &rec); off += rec.size)
		nr++;
	if (off != payload.len)
		return err_set(err, -EBADMSG, "invalid data after %" PRIu32 " records", nr);
	if (nr != h->nr_records)
		return err_set(err, -EBADMSG,
			       "it has %" PRIu32 " records, its header says %" PRIu32, nr,
			       h->nr_records);
	return 0;
}

int reader_verify(struct reader *r, size_t i, struct buf *out, struct err *err)
{
	const struct reader_block *b = reader_block(r, i);
	struct bytes content;
	char where[80];
	int rc = reader_content_listed(r, i, out, err);

	/* An encoding of a newer format is skipped, not damaged. */
	if (rc == -ENOTSUP)
		return 0;
	if (rc)
		return rc;
	content = (struct bytes){out->p, out->len};
	if (b->h.encoding == FMT_ENC_ITEMS)
		rc = check_items(&b->h, content, err);
	else if (b->h.section == FMT_RECORDS &&
		 (b->h.encoding == FMT_ENC_RAW || b->h.encoding == FMT_ENC_PACKED))
		rc = check_records(&b->h, content, err);
	if (rc) {
		reader_describe(b, i, where, sizeof(where));
		err_prefix(err, "%s", where);
	}
	return rc;
}

/* -ENOMEM ends the check, everything else is a finding. */
static int check_block(struct dump_check *c, size_t i)
{
	struct err err;
	int rc = reader_verify(c->r, i, &c->payload, &err);

	c->v->nr_blocks++;
	if (!rc) {
		if (c->r->found.v[i].h.section == FMT_RECORDS)
			c->v->nr_records += c->r->found.v[i].h.nr_records;
		return 0;
	}
	if (rc == -ENOMEM)
		return rc;
	c->v->nr_bad_blocks++;
	finding(c, "%s", err.what);
	return 0;
}

/* ---- all blocks ---- */

static void missing(struct dump_check *c, size_t i)
{
	char where[80];

	reader_describe(&c->r->dir.v[i], i, where, sizeof(where));
	c->v->nr_blocks++;
	c->v->nr_bad_blocks++;
	finding(c, "%s: its header is damaged or missing", where);
}

/* Both lists are in the order of the file: one pass over the two. */
static int check_against_directory(struct dump_check *c)
{
	const struct block_list *dir = &c->r->dir, *found = &c->r->found;
	size_t d = 0;
	int rc = 0;

	for (size_t i = 0; i < found->nr && !rc; i++) {
		const struct reader_block *b = &found->v[i];
		char where[80];

		for (; d < dir->nr && dir->v[d].offset < b->offset; d++)
			missing(c, d);
		reader_describe(b, i, where, sizeof(where));
		rc = check_block(c, i);
		if (d == dir->nr || dir->v[d].offset != b->offset)
			finding(c, "%s is not in the directory", where);
		else if (!reader_same_block(&dir->v[d++].h, &b->h))
			finding(c, "%s differs from its directory entry", where);
	}
	for (; d < dir->nr && !rc; d++)
		missing(c, d);
	return rc;
}

/* `seq` was found instead of `expected`. */
static void check_seq(struct dump_check *c, uint32_t expected, uint32_t seq, uint64_t off)
{
	if (seq == expected)
		return;
	if (seq < expected) {
		finding(c, "the block at offset %" PRIu64 " has number %" PRIu32 " after %" PRIu32,
			off, seq, expected - 1);
		return;
	}
	c->v->nr_blocks += seq - expected;
	c->v->nr_bad_blocks += seq - expected;
	finding(c, "%" PRIu32 " block(s) before offset %" PRIu64 " are damaged or missing",
		seq - expected, off);
}

/* Without a directory the numbers of the blocks show what is missing between them. */
static int check_without_directory(struct dump_check *c)
{
	const struct block_list *found = &c->r->found;
	uint32_t expected = 0;

	for (size_t i = 0; i < found->nr; i++) {
		const struct reader_block *b = &found->v[i];
		int rc;

		check_seq(c, expected, b->h.seq, b->offset);
		expected = b->h.seq + 1;
		rc = check_block(c, i);
		if (rc)
			return rc;
	}
	if (c->r->has_footer)
		check_seq(c, expected, c->r->footer.h.seq, c->r->footer.offset);
	return 0;
}

/* ---- the rest of the file ---- */

static void check_ends(struct dump_check *c)
{
	const struct reader *r = c->r;

	if (!r->header_ok)
		finding(c, "the file's header is damaged");
	if (!r->has_footer)
		finding(c, "there is no footer: the number of blocks is unknown");
	else if (!r->dir_ok)
		finding(c, "the footer at offset %" PRIu64 " is damaged", r->footer.offset);
	if (!r->trailer_ok && r->has_footer)
		finding(c, "the trailer is damaged or missing");
	else if (!r->trailer_ok)
		finding(c, "there is no trailer: the file was not finished, or its end is missing");
	else if (r->header_ok && r->has_footer && r->dir_ok && !reader_committed(r))
		finding(c, "the trailer does not belong to this file");
}

/* The hash over all headers' hashes, the FOOTER's last. */
static int check_chain(struct dump_check *c)
{
	const struct reader *r = c->r;
	size_t nr = r->found.nr;
	uint64_t *hashes = calloc(nr + 1, sizeof(*hashes));

	if (!hashes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		hashes[i] = r->found.v[i].h.hash;
	hashes[nr] = r->footer.h.hash;
	if (block_hash(hashes, (nr + 1) * sizeof(*hashes), r->seed) != r->trailer.chain) {
		c->v->committed = false;
		finding(c, "the blocks differ from those that were committed");
	}
	if (r->footer.h.seq != nr)
		finding(c, "the footer has number %" PRIu32 " after %zu blocks", r->footer.h.seq,
			nr);
	free(hashes);
	return 0;
}

/* True when a block in the directory begins in [from, to): it was reported as missing. */
static bool known_missing(const struct dump_check *c, uint64_t from, uint64_t to)
{
	const struct block_list *dir = &c->r->dir;
	size_t nr = c->r->dir_ok ? dir->nr : 0, at = array_bisect(i, nr, dir->v[i].offset < from);

	return at < nr && dir->v[at].offset < to;
}

/* Counts [*at, off) as unclaimed; the bytes from there to `end` belong to a block. */
static void claim(struct dump_check *c, uint64_t *at, uint64_t off, uint64_t end)
{
	if (off > *at) {
		c->v->unclaimed_bytes += off - *at;
		if (!known_missing(c, *at, off))
			finding(c,
				"%" PRIu64 " bytes at offset %" PRIu64 " belong to no intact block",
				off - *at, *at);
	}
	if (end > *at)
		*at = end;
}

static void check_gaps(struct dump_check *c)
{
	const struct reader *r = c->r;
	uint64_t at = 0, size = r->in.size, footer_end;
	bool footer_due = r->has_footer;

	if (size >= sizeof(r->header))
		at = sizeof(r->header);
	footer_end = r->footer.offset + block_file_bytes(&r->footer.h);
	for (size_t i = 0; i < r->found.nr; i++) {
		const struct reader_block *b = &r->found.v[i];

		if (footer_due && r->footer.offset < b->offset) {
			claim(c, &at, r->footer.offset, footer_end);
			footer_due = false;
		}
		claim(c, &at, b->offset, b->offset + block_file_bytes(&b->h));
	}
	if (footer_due)
		claim(c, &at, r->footer.offset, footer_end);
	claim(c, &at, r->trailer_ok ? size - sizeof(r->trailer) : size, size);
}

int reader_check_open(struct reader *r, struct reader_verdict *v,
		      void (*bad)(void *ctx, const char *text), void *ctx, struct err *err)
{
	struct dump_check c = {.r = r, .v = v, .bad = bad, .ctx = ctx};
	int rc;

	*v = (struct reader_verdict){0};
	v->committed = reader_committed(r);
	block_unpacker_thorough(r->unpacker, true);
	check_ends(&c);
	rc = r->dir_ok ? check_against_directory(&c) : check_without_directory(&c);
	if (!rc)
		check_gaps(&c);
	if (!rc && !c.nr_findings)
		rc = check_chain(&c);
	block_unpacker_thorough(r->unpacker, false);
	buf_free(&c.payload);
	if (rc)
		return err_set(err, rc, "out of memory for checking '%s'", r->name);
	return c.nr_findings ? reader_damaged(r, err, "is damaged") : 0;
}

static int check_any(const char *path, struct bytes mem, struct reader_verdict *v,
		     void (*bad)(void *ctx, const char *text), void *ctx, struct err *err)
{
	struct reader_verdict got = {0};
	struct reader *r;
	int rc = reader_open_any(path, mem, true, &r, err);

	if (!rc) {
		rc = reader_check_open(r, &got, bad, ctx, err);
		reader_close(r);
	}
	if (!rc || rc == -EBADMSG)
		*v = got;
	return rc;
}

int reader_check(const char *path, struct reader_verdict *v,
		 void (*bad)(void *ctx, const char *text), void *ctx, struct err *err)
{
	return check_any(path, (struct bytes){0}, v, bad, ctx, err);
}

int reader_check_bytes(struct bytes file, struct reader_verdict *v,
		       void (*bad)(void *ctx, const char *text), void *ctx, struct err *err)
{
	return check_any(NULL, file, v, bad, ctx, err);
}
