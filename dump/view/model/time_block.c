// SPDX-License-Identifier: MIT
/* Blocks of records in time order; see time_block.h. Called by timeline.c. */
#include "dump/view/model/time_block.h"

#include "dump/file/reader.h"
#include "dump/packed/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct block_entry {
	uint64_t time_ns;
	/* The offset in the content; a larger one is older. Once put together: the offset in
	 * `records`, or the record's index if its template has a mould. */
	uint32_t at;
	uint16_t bytes; /* of the record */
	uint16_t index; /* packed blocks: index of the record; once put together: of its template */
};

_Static_assert(FMT_PACK_MAX_RECORDS <= UINT16_MAX + 1u, "an index has 16 bits");

/* The answer for a template. */
struct verdict {
	uint8_t answer; /* enum answer */
	uint8_t part;	/* enum unpack_part: the needed part */
	uint8_t mould;	/* enum mould_state */
	uint32_t at;	/* offset of the mould in b->moulds */
	const void *of; /* time_block_answer.of */
};

enum mould_state { MOULD_UNKNOWN, MOULD_NONE, MOULD_MADE };

/* For a template with records that are equal before the raw data, except for the time: one parsed
 * record, which is changed into the next one when that is taken. */
struct mould {
	struct record_sample s;
	uint32_t raw_at; /* in the record; 0: it has no raw data */
	uint32_t bytes;	 /* size of the record, which follows the mould */
};

void time_block_free(struct time_block *b)
{
	buf_free(&b->payload);
	buf_free(&b->entries);
	buf_free(&b->record);
	buf_free(&b->records);
	buf_free(&b->verdicts);
	buf_free(&b->moulds);
	unpacker_free(b->unpacker);
	b->unpacker = NULL;
	b->pos = b->nr = 0;
}

static struct block_entry *entries(const struct time_block *b)
{
	return (struct block_entry *)b->entries.p;
}

/* The caller has reserved room. */
static inline void put_entry(struct time_block *b, const struct block_entry *e)
{
	*(struct block_entry *)(b->entries.p + b->entries.len) = *e;
	b->entries.len += sizeof(*e);
}

/* ---- order ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct block_entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at > y->at ? -1 : x->at < y->at;
}

static void reverse(struct block_entry *e, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct block_entry other = e[i];

		e[i] = e[nr - 1 - i];
		e[nr - 1 - i] = other;
	}
}

/* Entries are usually almost sorted: moves the few that are not, and gives up if there are many. */
static bool insertion_sort(struct block_entry *e, size_t nr)
{
	size_t budget = 8 * nr;

	for (size_t i = 1; i < nr; i++) {
		struct block_entry moved = e[i];
		size_t at = i;

		while (at && e[at - 1].time_ns > moved.time_ns) {
			if (!budget--) {
				e[at] = moved;
				return false;
			}
			e[at] = e[at - 1];
			at--;
		}
		e[at] = moved;
	}
	return true;
}

static void sort_entries(struct time_block *b)
{
	b->nr = b->entries.len / sizeof(struct block_entry);
	reverse(entries(b), b->nr);
	if (!insertion_sort(entries(b), b->nr))
		qsort(entries(b), b->nr, sizeof(struct block_entry), compare_entries);
}

/* ---- loading ---- */

static int add_entry(struct time_block *b, const struct block_entry *e)
{
	if (b->entries.cap - b->entries.len < sizeof(*e) && buf_reserve(&b->entries, sizeof(*e)))
		return -ENOMEM;
	put_entry(b, e);
	return 0;
}

/* Indexes the records, newest first. -EBADMSG when the bytes end early. */
static int index_raw(struct time_block *b, const struct time_block_wish *w, uint64_t time_ns)
{
	struct bytes all = {b->payload.p, b->payload.len};
	struct perf_event_header rec;
	size_t off;
	int rc = 0;

	for (off = 0; !rc && off < all.len && record_at(all, off, &rec); off += rec.size) {
		struct bytes one = {all.p + off, rec.size};
		struct block_entry e = {.at = (uint32_t)off, .bytes = rec.size};

		record_time(one, w->layout, &time_ns);
		e.time_ns = time_ns;
		if (time_ns >= w->from_ns && time_ns <= w->to_ns)
			rc = add_entry(b, &e);
	}
	return rc ? rc : off == all.len ? 0 : -EBADMSG;
}

/* ---- what is wanted of a packed block ---- */

enum answer { NOT_ASKED, WANTED, BY_THREAD, UNWANTED, ASK_EACH };

/* Puts this part of a record together in b->record. */
static int look_at(struct time_block *b, const struct block_entry *e, enum unpack_part part,
		   struct bytes *rec)
{
	int rc;

	b->record.len = 0;
	rc = buf_reserve(&b->record, e->bytes);
	if (!rc)
		rc = unpack_part(b->unpacker, e->index, part, b->record.p, NULL);
	if (!rc)
		*rec = (struct bytes){b->record.p, e->bytes};
	return rc;
}

/* The part of its records that a template needs. */
static enum unpack_part part_of(struct time_block *b, const struct time_block_answer *a,
				const struct block_entry *e)
{
	bool ok = !a->need.all;
	uint64_t last = 1ull << 63;

	/* The call chain is in between; no word is in it. */
	for (uint32_t off = 0; ok && off < a->need.from; off += 4)
		unpack_need(b->unpacker, e->index, off);
	for (uint32_t i = 0, off; ok && i < 64 && a->need.words >> i; i++) {
		off = a->need.from + 4 * i;
		if (a->need.words >> i & 1 && off < e->bytes)
			ok = 1ull << i != last && unpack_need(b->unpacker, e->index, off);
	}
	return !ok ? UNPACK_ALL : a->need.chain ? UNPACK_CHAIN : UNPACK_NEEDED;
}

/* Asks about one record and keeps the answer for all records of its template. */
static void ask(struct time_block *b, const struct time_block_wish *w, const struct block_entry *e,
		struct bytes rec, struct verdict *v)
{
	struct time_block_answer a;
	uint32_t end;

	*v = (struct verdict){.answer = ASK_EACH, .part = UNPACK_ALL};
	w->ask(w->ctx, rec, &a);
	if (a.told_by == UINT32_MAX)
		return;
	end = a.told_by ? a.told_by + 4 : 0;
	if (!unpack_is_fixed(b->unpacker, e->index, a.told_by) ||
	    !unpack_is_fixed(b->unpacker, e->index, end))
		return;
	v->answer = UNWANTED;
	if (!a.wanted)
		return;
	v->of = a.of;
	v->part = (uint8_t)part_of(b, &a, e);
	v->answer = w->thread && a.thread_at != UINT32_MAX &&
				    unpack_is_thread(b->unpacker, e->index, a.thread_at)
			    ? BY_THREAD
			    : WANTED;
}

static struct verdict *verdict_of(const struct time_block *b, uint32_t tpl)
{
	return (struct verdict *)b->verdicts.p + tpl;
}

/* 1: the record is wanted, or this is unknown; 0: it is not. */
static int is_wanted(struct time_block *b, const struct time_block_wish *w,
		     const struct block_entry *e, const uint32_t *tids)
{
	struct verdict *v = verdict_of(b, unpack_template(b->unpacker, e->index));
	struct bytes rec;
	int rc;

	if (v->answer == NOT_ASKED) {
		rc = look_at(b, e, UNPACK_FIXED, &rec);
		if (rc)
			return rc;
		ask(b, w, e, rec, v);
	}
	if (v->answer == BY_THREAD)
		return w->thread(w->ctx, tids[e->index], e->time_ns);
	return v->answer != UNWANTED;
}

static int prepare_verdicts(struct time_block *b, const struct time_block_wish *w,
			    const uint32_t **tids)
{
	uint32_t nr = unpack_nr_templates(b->unpacker);

	b->verdicts.len = 0;
	if (!w->ask)
		return 0;
	if (buf_reserve(&b->verdicts, nr * sizeof(struct verdict)))
		return -ENOMEM;
	b->verdicts.len = nr * sizeof(struct verdict);
	memset(b->verdicts.p, NOT_ASKED, nr * sizeof(struct verdict));
	/* Template 0 holds whole records, which have nothing in common. */
	*verdict_of(b, 0) = (struct verdict){.answer = ASK_EACH, .part = UNPACK_ALL};
	return w->thread ? unpack_threads(b->unpacker, tids, NULL) : 0;
}

/* The columns that the index needs. */
struct block_columns {
	const uint64_t *times;
	const uint32_t *offsets, *tids;
};

/* Without a time column, reads the time from the record. */
static int time_of(struct time_block *b, const struct time_block_wish *w,
		   const struct block_columns *c, struct block_entry *e)
{
	struct perf_event_header h;
	struct bytes rec;
	int rc;

	if (c->times[e->index] != UINT64_MAX) {
		e->time_ns = c->times[e->index];
		return 0;
	}
	rc = look_at(b, e, UNPACK_ALL, &rec);
	if (rc)
		return rc;
	if (!record_at(rec, 0, &h) || h.size != e->bytes)
		return -EBADMSG;
	record_time(rec, w->layout, &e->time_ns);
	return 0;
}

/* As index_raw(). */
static int index_packed(struct time_block *b, const struct time_block_wish *w, uint64_t time_ns,
			uint32_t nr)
{
	struct block_entry e = {.time_ns = time_ns};
	struct block_columns c = {0};
	int rc = unpack_times(b->unpacker, &c.times, NULL);

	if (!rc)
		rc = unpack_offsets(b->unpacker, &c.offsets, NULL);
	if (!rc)
		rc = prepare_verdicts(b, w, &c.tids);
	if (!rc)
		rc = buf_reserve(&b->entries, nr * sizeof(e));
	for (uint32_t i = 0; i < nr && !rc; i++) {
		e.index = (uint16_t)i;
		e.at = c.offsets[i];
		e.bytes = (uint16_t)(c.offsets[i + 1] - c.offsets[i]);
		rc = time_of(b, w, &c, &e);
		if (rc || e.time_ns < w->from_ns || e.time_ns > w->to_ns)
			continue;
		rc = w->ask ? is_wanted(b, w, &e, c.tids) : 1;
		if (rc > 0) {
			put_entry(b, &e);
			rc = 0;
		}
	}
	return rc;
}

/* ---- moulds ---- */

/* Whether the words before `end`, except the time, are the same in all records of the template. */
static bool same_head(const struct time_block *b, const struct time_block_wish *w, uint32_t index,
		      uint32_t end)
{
	uint32_t time_at = record_time_offset(w->layout);

	for (uint32_t off = 0; off < end; off += 4)
		if (!unpack_is_fixed(b->unpacker, index, off) && off != time_at &&
		    off != time_at + 4)
			return false;
	return true;
}

/* Makes the mould from the template's first wanted record. 0 (with MOULD_NONE if it is impossible);
 * -EBADMSG, -ENOMEM. */
static int make_mould(struct time_block *b, const struct time_block_wish *w,
		      const struct block_entry *e, struct verdict *v)
{
	struct perf_event_header h;
	struct bytes rec;
	struct mould m;
	int rc;

	v->mould = MOULD_NONE;
	if (v->part != UNPACK_NEEDED || !unpack_is_even(b->unpacker, e->index))
		return 0;
	rc = look_at(b, e, UNPACK_NEEDED, &rec);
	if (rc || !record_at(rec, 0, &h) || h.size != e->bytes ||
	    record_sample(rec, w->layout, &m.s) || !m.s.raw.len)
		return rc;
	m.raw_at = (uint32_t)(m.s.raw.p - rec.p);
	m.bytes = e->bytes;
	if (!same_head(b, w, e->index, m.raw_at))
		return 0;
	/* The next mould stays aligned: sizes of records are multiples of 8. */
	v->at = (uint32_t)b->moulds.len;
	rc = buf_put(&b->moulds, &m, sizeof(m));
	rc = rc ? rc : buf_put(&b->moulds, rec.p, rec.len);
	v->mould = rc ? MOULD_NONE : MOULD_MADE;
	return rc;
}

_Static_assert(sizeof(struct mould) % 8 == 0, "moulds and records follow each other");

static void cast(struct time_block *b, const struct block_entry *e, const struct verdict *v,
		 struct time_block_record *r)
{
	struct mould *m = (struct mould *)(b->moulds.p + v->at);
	uint8_t *rec = (uint8_t *)(m + 1);

	unpack_change(b->unpacker, e->at, rec);
	m->s.raw.p = rec + m->raw_at;
	*r = (struct time_block_record){{rec, m->bytes}, v->of, &m->s};
}

/* ---- putting together ---- */

/* Puts one record into b->records at `at`. */
static int put_one(struct time_block *b, struct block_entry *e, enum unpack_part part, uint32_t at)
{
	uint8_t *to = b->records.p + at;
	uint16_t size;
	int rc = unpack_part(b->unpacker, e->index, part, to, NULL);

	/* The header's size comes from a column too, so it must match the real size. */
	memcpy(&size, to + offsetof(struct perf_event_header, size), sizeof(size));
	e->at = at;
	return !rc && size != e->bytes ? -EBADMSG : rc;
}

/* Puts together what fits into b->records; the block ends before the first invalid record. */
static int put_all(struct time_block *b, const struct time_block_wish *w)
{
	struct verdict every = {.part = UNPACK_ALL, .mould = MOULD_NONE}, *v = &every;
	uint32_t at = 0;

	for (size_t i = 0; i < b->nr; i++) {
		struct block_entry *e = &entries(b)[i];
		uint32_t tpl = unpack_template(b->unpacker, e->index);
		int rc = 0;

		if (w->ask)
			v = verdict_of(b, tpl);
		if (v->mould == MOULD_UNKNOWN)
			rc = make_mould(b, w, e, v);
		if (!rc && v->mould == MOULD_MADE) {
			e->at = e->index;
		} else if (!rc) {
			rc = put_one(b, e, v->part, at);
			at += e->bytes;
		}
		if (rc) {
			b->nr = i;
			return rc;
		}
		e->index = (uint16_t)tpl;
	}
	return 0;
}

static int put_together(struct time_block *b, const struct time_block_wish *w)
{
	size_t bytes = 0;

	for (size_t i = 0; i < b->nr; i++)
		bytes += entries(b)[i].bytes;
	if (buf_reserve(&b->records, bytes)) {
		b->nr = 0;
		return -ENOMEM;
	}
	return put_all(b, w);
}

static int open_packed(struct time_block *b, const struct fmt_block *h)
{
	struct bytes payload = {b->payload.p, b->payload.len};
	int rc = b->unpacker ? 0 : unpacker_new(&b->unpacker, NULL);

	return rc ? rc : unpack_open(b->unpacker, payload, h->nr_records, h->content_bytes, NULL);
}

int time_block_load(struct time_block *b, struct reader *r, size_t i,
		    const struct time_block_wish *w)
{
	const struct fmt_block *h = &reader_block(r, i)->h;
	int rc, put;

	b->entries.len = b->moulds.len = b->pos = b->nr = 0;
	b->packed = h->encoding == FMT_ENC_PACKED;
	if (h->encoding != FMT_ENC_RAW && !b->packed)
		return -EBADMSG;
	rc = reader_load(r, i, &b->payload, NULL);
	if (!rc && b->packed)
		rc = open_packed(b, h);
	if (!rc)
		rc = b->packed ? index_packed(b, w, h->last_ns, h->nr_records)
			       : index_raw(b, w, h->last_ns);
	sort_entries(b);
	if (b->packed && b->nr) {
		put = put_together(b, w);
		rc = rc ? rc : put;
	}
	if (b->nr)
		b->head_ns = entries(b)->time_ns;
	return rc;
}

/* ---- records ---- */

void time_block_take(struct time_block *b, struct time_block_record *r)
{
	const struct block_entry *e = &entries(b)[b->pos++];
	const struct buf *from = b->packed ? &b->records : &b->payload;
	const struct verdict *v = NULL;

	if (b->pos < b->nr)
		b->head_ns = e[1].time_ns;
	if (b->packed && b->verdicts.len)
		v = verdict_of(b, e->index);
	if (v && v->mould == MOULD_MADE)
		cast(b, e, v, r);
	else
		*r = (struct time_block_record){
			{from->p + e->at, e->bytes}, v ? v->of : NULL, NULL};
}
