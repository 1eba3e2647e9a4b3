// SPDX-License-Identifier: MIT
/*
 * Merges the rings of a dump by time; see timeline.h. Called by script and everything else that
 *goes through the records.
 *
 *	ring 0   [block │ block ▓▓]──┐        ▓ loaded: an index of its records, sorted by time
 *	ring 1   [block ▓▓ │ block ▓]─┼─ heap ─▶ oldest record of all
 *	ring 2   [block │ block │ ··]─┘        · not yet: stands in the heap with its header's
 *first_ns
 *
 * A ring's blocks are read from the largest ring_off (oldest) to 0. Before a record is given out,
 *the next newer block is loaded if its header says that it begins no later: so records that changed
 * places across a block's border come out in order. Two blocks a ring are held at most; an
 *inversion wider than a block (which no kernel makes) stays.
 */
#include "dump/view/timeline.h"

#include "dump/base/err.h"
#include "dump/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t time_ns;
	uint32_t off; /* in the block's payload; larger is older */
	uint32_t bytes;
};

/* A loaded block: what is left of it is entries[pos..nr). */
struct slot {
	struct buf payload;
	struct buf entries;
	size_t pos, nr;
	bool newer; /* than the other slot's */
};

struct stream {
	uint32_t ring;
	const struct fmt_window *window;
	const struct meta_channel *channel;
	uint32_t *blocks; /* oldest first */
	size_t nr_blocks, next_block;
	struct slot slots[2];
	uint64_t key_ns; /* its place in the heap */
	bool key_is_record;
};

struct timeline {
	struct reader *r;
	const struct meta *m;
	struct timeline_options opt;
	struct stream *streams;
	size_t nr_streams;
	uint32_t *block_pool; /* backs the streams' blocks */
	struct stream **heap;
	size_t nr_heap;
	bool started;
	bool given; /* the top gave out a record: its place is to be found anew */
	uint64_t nr_bad;
};

/* ---- which blocks ---- */

static const struct fmt_block *header(const struct timeline *t, uint32_t block)
{
	return &reader_block(t->r, block)->h;
}

static bool ring_wanted(const struct timeline *t, const struct fmt_window *w)
{
	if (t->opt.channels && (w->channel >= 64 || !(t->opt.channels >> w->channel & 1)))
		return false;
	return t->opt.cpu < 0 || w->cpu < 0 || w->cpu == t->opt.cpu;
}

/* A block without times (first and last 0) may hold any. */
static bool time_wanted(const struct timeline *t, const struct fmt_block *h)
{
	if (!h->first_ns && !h->last_ns)
		return true;
	return h->first_ns <= t->opt.to_ns && h->last_ns >= t->opt.from_ns;
}

/* A block of a ring that no window tells of can't be understood: it counts as bad. */
static bool block_wanted(struct timeline *t, const struct fmt_block *h)
{
	const struct fmt_window *w;

	if (h->section != FMT_RECORDS)
		return false;
	w = h->ring < t->m->nr_windows ? &t->m->windows[h->ring] : NULL;
	if (!w || w->ring != h->ring || w->channel >= t->m->nr_channels) {
		t->nr_bad++;
		return false;
	}
	return ring_wanted(t, w) && time_wanted(t, h);
}

struct order {
	uint32_t ring, block;
	uint64_t ring_off;
};

/* By ring, oldest first; of repeated ones the first in the file comes first. */
static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	if (x->ring_off != y->ring_off)
		return x->ring_off > y->ring_off ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static size_t list_blocks(struct timeline *t, struct order *o)
{
	size_t nr = 0;

	for (size_t i = 0; i < reader_nr_blocks(t->r); i++) {
		const struct fmt_block *h = header(t, (uint32_t)i);

		if (block_wanted(t, h))
			o[nr++] = (struct order){h->ring, (uint32_t)i, h->ring_off};
	}
	if (nr)
		qsort(o, nr, sizeof(*o), compare_order);
	return nr;
}

static void stream_init(struct timeline *t, struct stream *s, uint32_t ring, uint32_t *blocks)
{
	s->ring = ring;
	s->window = &t->m->windows[ring];
	s->channel = &t->m->channels[s->window->channel];
	s->blocks = blocks;
}

/* Makes a stream of each ring's blocks; a block that repeats one (same ring, same place) is left
 * out. */
static void build_streams(struct timeline *t, const struct order *o, size_t nr)
{
	struct stream *s = NULL;
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		if (i && o[i].ring == o[i - 1].ring && o[i].ring_off == o[i - 1].ring_off)
			continue;
		if (!s || s->ring != o[i].ring) {
			s = &t->streams[t->nr_streams++];
			stream_init(t, s, o[i].ring, t->block_pool + used);
		}
		s->blocks[s->nr_blocks++] = o[i].block;
		used++;
	}
}

static size_t count_rings(const struct order *o, size_t nr)
{
	size_t rings = 0;

	for (size_t i = 0; i < nr; i++)
		rings += !i || o[i].ring != o[i - 1].ring;
	return rings;
}

static int prepare(struct timeline *t)
{
	struct order *o = calloc(reader_nr_blocks(t->r) + 1, sizeof(*o));
	size_t nr, rings;
	int rc = -ENOMEM;

	if (!o)
		return rc;
	nr = list_blocks(t, o);
	rings = count_rings(o, nr);
	t->streams = calloc(rings + 1, sizeof(*t->streams));
	t->heap = calloc(rings + 1, sizeof(*t->heap));
	t->block_pool = calloc(nr + 1, sizeof(*t->block_pool));
	if (t->streams && t->heap && t->block_pool) {
		build_streams(t, o, nr);
		rc = 0;
	}
	free(o);
	return rc;
}

int timeline_open(struct reader *r, const struct meta *m, const struct timeline_options *opt,
		  struct timeline **out, struct err *err)
{
	struct timeline *t = calloc(1, sizeof(*t));
	int rc = -ENOMEM;

	if (t) {
		t->r = r;
		t->m = m;
		t->opt = *opt;
		rc = prepare(t);
	}
	if (rc) {
		timeline_close(t);
		return err_set(err, rc, "out of memory for the timeline");
	}
	*out = t;
	return 0;
}

static void slot_free(struct slot *s)
{
	buf_free(&s->payload);
	buf_free(&s->entries);
	s->pos = s->nr = 0;
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_streams; i++)
		for (int k = 0; k < 2; k++)
			slot_free(&t->streams[i].slots[k]);
	free(t->streams);
	free(t->heap);
	free(t->block_pool);
	free(t);
}

uint64_t timeline_nr_bad_blocks(const struct timeline *t)
{
	return t->nr_bad;
}

/* ---- a block's records in order ---- */

static struct entry *entries(const struct slot *s)
{
	return (struct entry *)s->entries.p;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->off > y->off ? -1 : x->off < y->off;
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

static void sort_entries(struct entry *e, size_t nr)
{
	reverse(e, nr);
	if (!insertion_sort(e, nr))
		qsort(e, nr, sizeof(*e), compare_entries);
}

/* Goes through the bytes, newest first. -EBADMSG when they end before the block. */
static int index_block(struct timeline *t, const struct stream *s, struct slot *slot,
		       const struct fmt_block *h)
{
	struct bytes b = {slot->payload.p, slot->payload.len};
	uint64_t time_ns = h->last_ns;
	struct perf_event_header rec;
	size_t off;

	slot->entries.len = slot->pos = slot->nr = 0;
	for (off = 0; off < b.len && record_at(b, off, &rec); off += rec.size) {
		struct entry e = {.off = (uint32_t)off, .bytes = rec.size};

		record_time((struct bytes){b.p + off, rec.size}, &s->channel->layout, &time_ns);
		if (time_ns < t->opt.from_ns || time_ns > t->opt.to_ns)
			continue;
		e.time_ns = time_ns;
		if (slot->entries.cap - slot->entries.len < sizeof(e) &&
		    buf_reserve(&slot->entries, sizeof(e)))
			return -ENOMEM;
		memcpy(slot->entries.p + slot->entries.len, &e, sizeof(e));
		slot->entries.len += sizeof(e);
	}
	slot->nr = slot->entries.len / sizeof(struct entry);
	sort_entries(entries(slot), slot->nr);
	return off == b.len ? 0 : -EBADMSG;
}

static bool slot_empty(const struct slot *s)
{
	return s->pos == s->nr;
}

/* Loads the stream's next block into a slot that is empty. What is bad is counted and left out. */
static int load_next(struct timeline *t, struct stream *s, struct slot *slot)
{
	uint32_t block = s->blocks[s->next_block++];
	const struct fmt_block *h = header(t, block);
	int rc;

	slot->pos = slot->nr = 0;
	rc = h->encoding == FMT_ENC_RAW ? reader_load(t->r, block, &slot->payload, NULL) : -EBADMSG;
	if (!rc)
		rc = index_block(t, s, slot, h);
	if (rc == -ENOMEM)
		return rc;
	t->nr_bad += rc != 0;
	slot->newer = true;
	s->slots[slot == &s->slots[0]].newer = false;
	return 0;
}

/* ---- a ring's records in order ---- */

static uint64_t head_ns(const struct slot *s)
{
	return entries(s)[s->pos].time_ns;
}

/* The slot with the ring's oldest record; NULL when both are empty. The older block's comes first.
 */
static struct slot *oldest(struct stream *s)
{
	struct slot *a = &s->slots[0], *b = &s->slots[1];

	if (slot_empty(a) || slot_empty(b))
		return slot_empty(a) ? slot_empty(b) ? NULL : b : a;
	if (head_ns(a) != head_ns(b))
		return head_ns(a) < head_ns(b) ? a : b;
	return a->newer ? b : a;
}

/*
 * Loads blocks until the ring's oldest record is known. 1: *out holds it; 0: the ring is at its
 * end.
 */
static int stream_head(struct timeline *t, struct stream *s, struct slot **out)
{
	for (;;) {
		struct slot *first = oldest(s), *empty;
		int rc;

		empty = slot_empty(&s->slots[0])   ? &s->slots[0]
			: slot_empty(&s->slots[1]) ? &s->slots[1]
						   : NULL;
		if (s->next_block == s->nr_blocks || !empty ||
		    (first && head_ns(first) < header(t, s->blocks[s->next_block])->first_ns)) {
			*out = first;
			return first != NULL;
		}
		rc = load_next(t, s, empty);
		if (rc)
			return rc;
	}
}

/* ---- all rings ---- */

static bool before(const struct stream *a, const struct stream *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->ring < b->ring;
}

static void sift_down(struct timeline *t, size_t i)
{
	struct stream *s = t->heap[i];

	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= t->nr_heap)
			break;
		if (kid + 1 < t->nr_heap && before(t->heap[kid + 1], t->heap[kid]))
			kid++;
		if (!before(t->heap[kid], s))
			break;
		t->heap[i] = t->heap[kid];
		i = kid;
	}
	t->heap[i] = s;
}

/* Rings enter with their oldest block's first_ns, so that none is loaded before its time has come.
 */
static void start(struct timeline *t)
{
	t->started = true;
	for (size_t i = 0; i < t->nr_streams; i++) {
		t->streams[i].key_ns = header(t, t->streams[i].blocks[0])->first_ns;
		t->heap[i] = &t->streams[i];
	}
	t->nr_heap = t->nr_streams;
	for (size_t i = t->nr_heap / 2; i-- > 0;)
		sift_down(t, i);
}

/* Puts the top of the heap where its oldest record belongs, or takes it out at its end. */
static int settle_top(struct timeline *t)
{
	struct stream *s = t->heap[0];
	struct slot *slot;
	int rc = stream_head(t, s, &slot);

	if (rc < 0)
		return rc;
	if (rc) {
		s->key_ns = head_ns(slot);
		s->key_is_record = true;
	} else {
		slot_free(&s->slots[0]);
		slot_free(&s->slots[1]);
		t->heap[0] = t->heap[--t->nr_heap];
	}
	if (t->nr_heap)
		sift_down(t, 0);
	return 0;
}

static void describe(const struct timeline *t, const struct stream *s, const struct entry *e,
		     const struct slot *slot, struct timeline_record *rec)
{
	struct perf_event_header h;
	int rc;

	rec->rec = (struct bytes){slot->payload.p + e->off, e->bytes};
	rec->time_ns = e->time_ns;
	rec->window = s->window;
	rec->channel = s->channel;
	rec->event = NULL;
	memcpy(&h, rec->rec.p, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE)
		rc = record_sample(rec->rec, &s->channel->layout, &rec->s);
	else
		rc = record_sample_id(rec->rec, &s->channel->layout, &rec->s);
	if (rc)
		rec->s = (struct record_sample){0};
	else if (h.type == PERF_RECORD_SAMPLE)
		rec->event = meta_event_of(t->m, s->channel, &rec->s);
	rec->tid = rc ? UINT32_MAX : meta_tid_of(t->m, &rec->s);
}

static int pop(struct timeline *t, struct timeline_record *rec)
{
	struct slot *slot = oldest(t->heap[0]);

	describe(t, t->heap[0], &entries(slot)[slot->pos], slot, rec);
	slot->pos++;
	t->given = true;
	return 1;
}

int timeline_next(struct timeline *t, struct timeline_record *rec, struct err *err)
{
	int rc = 0;

	if (!t->started)
		start(t);
	if (t->given) {
		t->given = false;
		rc = settle_top(t);
	}
	while (!rc && t->nr_heap && !t->heap[0]->key_is_record)
		rc = settle_top(t);
	if (rc)
		return err_set(err, rc, "out of memory for a block of records");
	return t->nr_heap ? pop(t, rec) : 0;
}
