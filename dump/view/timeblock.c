// SPDX-License-Identifier: MIT
/* Blocks of records in the order of time; see timeblock.h. Called by timeline.c. */
#include "dump/view/timeblock.h"

#include "dump/reader.h"
#include "dump/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t time_ns;
	uint32_t at;	/* in the content: larger is older */
	uint32_t bytes; /* of the record */
	uint32_t index; /* of the record: packed blocks */
};

void timeblock_free(struct timeblock *b)
{
	buf_free(&b->payload);
	buf_free(&b->entries);
	buf_free(&b->record);
	unpacker_free(b->unpacker);
	b->unpacker = NULL;
	b->pos = b->nr = 0;
}

static struct entry *entries(const struct timeblock *b)
{
	return (struct entry *)b->entries.p;
}

/* ---- order ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at > y->at ? -1 : x->at < y->at;
}

static void reverse(struct entry *e, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		struct entry other = e[i];

		e[i] = e[nr - 1 - i];
		e[nr - 1 - i] = other;
	}
}

/* Almost sorted as a rule: moves the few that are not, and gives up when there are many. */
static bool insertion_sort(struct entry *e, size_t nr)
{
	size_t budget = 8 * nr;

	for (size_t i = 1; i < nr; i++) {
		struct entry moved = e[i];
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

static void sort_entries(struct timeblock *b)
{
	b->nr = b->entries.len / sizeof(struct entry);
	reverse(entries(b), b->nr);
	if (!insertion_sort(entries(b), b->nr))
		qsort(entries(b), b->nr, sizeof(struct entry), compare_entries);
}

/* ---- loading ---- */

/* What is wanted of a block, and how its records tell their time. */
struct wanted {
	const struct record_layout *layout;
	uint64_t from_ns, to_ns;
};

static int add_entry(struct timeblock *b, const struct wanted *w, const struct entry *e)
{
	if (e->time_ns < w->from_ns || e->time_ns > w->to_ns)
		return 0;
	if (b->entries.cap - b->entries.len < sizeof(*e) && buf_reserve(&b->entries, sizeof(*e)))
		return -ENOMEM;
	memcpy(b->entries.p + b->entries.len, e, sizeof(*e));
	b->entries.len += sizeof(*e);
	return 0;
}

/* Goes through the bytes, newest first. -EBADMSG when they end before the block. */
static int index_raw(struct timeblock *b, const struct wanted *w, uint64_t time_ns)
{
	struct bytes all = {b->payload.p, b->payload.len};
	struct perf_event_header rec;
	size_t off;
	int rc = 0;

	for (off = 0; !rc && off < all.len && record_at(all, off, &rec); off += rec.size) {
		struct bytes one = {all.p + off, rec.size};
		struct entry e = {.at = (uint32_t)off, .bytes = rec.size};

		record_time(one, w->layout, &time_ns);
		e.time_ns = time_ns;
		rc = add_entry(b, w, &e);
	}
	return rc ? rc : off == all.len ? 0 : -EBADMSG;
}

/* Puts a record of a packed block together in b->record. */
static int fetch(struct timeblock *b, const struct entry *e, struct bytes *rec)
{
	int rc;

	b->record.len = 0;
	rc = buf_reserve(&b->record, e->bytes);
	if (!rc)
		rc = unpack_record(b->unpacker, e->index, b->record.p, NULL);
	if (!rc)
		*rec = (struct bytes){b->record.p, e->bytes};
	return rc;
}

/* As index_raw(); a record whose column of times is not known is put together to look. */
static int index_packed(struct timeblock *b, const struct wanted *w, uint64_t time_ns, uint32_t nr)
{
	const uint64_t *times;
	const uint32_t *offsets;
	int rc = unpack_times(b->unpacker, &times, NULL);

	if (!rc)
		rc = unpack_offsets(b->unpacker, &offsets, NULL);
	for (uint32_t i = 0; i < nr && !rc; i++) {
		struct entry e = {
			.at = offsets[i], .bytes = offsets[i + 1] - offsets[i], .index = i};
		struct perf_event_header h;
		struct bytes rec;

		if (times[i] != UINT64_MAX) {
			time_ns = times[i];
		} else {
			rc = fetch(b, &e, &rec);
			if (rc)
				break;
			if (!record_at(rec, 0, &h) || h.size != e.bytes)
				return -EBADMSG;
			record_time(rec, w->layout, &time_ns);
		}
		e.time_ns = time_ns;
		rc = add_entry(b, w, &e);
	}
	return rc;
}

static int open_packed(struct timeblock *b, const struct fmt_block *h)
{
	struct bytes payload = {b->payload.p, b->payload.len};
	int rc = b->unpacker ? 0 : unpacker_new(&b->unpacker, NULL);

	return rc ? rc : unpack_open(b->unpacker, payload, h->nr_records, h->content_bytes, NULL);
}

int timeblock_load(struct timeblock *b, struct reader *r, size_t i, const struct record_layout *l,
		   uint64_t from_ns, uint64_t to_ns)
{
	const struct fmt_block *h = &reader_block(r, i)->h;
	struct wanted w = {l, from_ns, to_ns};
	int rc;

	b->entries.len = b->pos = b->nr = 0;
	b->packed = h->encoding == FMT_ENC_PACKED;
	if (h->encoding != FMT_ENC_RAW && !b->packed)
		return -EBADMSG;
	rc = reader_load(r, i, &b->payload, NULL);
	if (!rc && b->packed)
		rc = open_packed(b, h);
	if (!rc)
		rc = b->packed ? index_packed(b, &w, h->last_ns, h->nr_records)
			       : index_raw(b, &w, h->last_ns);
	sort_entries(b);
	return rc;
}

/* ---- records ---- */

uint64_t timeblock_head_ns(const struct timeblock *b)
{
	return entries(b)[b->pos].time_ns;
}

int timeblock_take(struct timeblock *b, struct bytes *rec)
{
	const struct entry *e = &entries(b)[b->pos++];
	struct perf_event_header h;
	int rc;

	if (!b->packed) {
		*rec = (struct bytes){b->payload.p + e->at, e->bytes};
		return 0;
	}
	rc = fetch(b, e, rec);
	/* The header's size is a column too: what it says must be what there is. */
	if (!rc && (!record_at(*rec, 0, &h) || h.size != e->bytes))
		rc = -EBADMSG;
	if (rc)
		b->pos = b->nr;
	return rc;
}
