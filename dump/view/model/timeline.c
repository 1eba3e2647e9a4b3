// SPDX-License-Identifier: MIT
/*
 * Merges the rings of a dump by time; see timeline.h. Called by script and everything else that
 * reads records.
 *
 *	ring 0   [block │ block ▓▓]──┐        ▓ loaded: an index of its records, sorted by time
 *	ring 1   [block ▓▓ │ block ▓]─┼─ heap ─▶ oldest record of all
 *	ring 2   [block │ block │ ··]─┘        · not yet: in the heap with its
 *	                                            header's first_ns
 *
 * A ring's blocks are read from the largest ring_off (oldest) to 0. Before a record is returned,
 * the next newer block is loaded if its header says that it begins no later; so records that
 * changed places across the border of two blocks come out in order. At most two blocks per ring are
 * loaded. A record that is out of order by more than a block, or older than its block's header
 * says, is returned as it comes, with the time of the record before it. No kernel and no recorder
 * produces either.
 */
#include "dump/view/model/timeline.h"

#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "dump/view/model/prefetch.h"
#include "dump/view/model/time_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct timeline_slot {
	struct time_block block;
	bool newer; /* the block is newer than the other slot's */
};

/* Context for time_block_wish.ask(). */
struct question {
	const struct timeline *t;
	const struct timeline_stream *s;
};

struct timeline_stream {
	uint32_t ring;
	const struct fmt_window *window;
	const struct meta_channel *channel;
	uint32_t *blocks; /* oldest first */
	size_t nr_blocks, next_block;
	struct question question;
	struct time_block_wish wish;
	struct timeline_slot slots[2];
	struct prefetch_job job; /* the next block; only with `ahead` */
	uint64_t key_ns;	 /* sort key in the heap */
	bool key_is_record;
};

struct timeline {
	struct reader *r;
	struct thread_pool *ahead; /* NULL: no helper threads */
	const struct meta *m;
	struct timeline_options opt;
	struct timeline_stream *streams;
	size_t nr_streams;
	uint32_t *block_pool; /* memory for the streams' blocks */
	struct timeline_stream **heap;
	size_t nr_heap;
	bool started;
	bool given;	   /* the heap's top returned a record; its position has to be updated */
	uint64_t last_ns;  /* of the last returned record: time does not decrease */
	uint64_t taken_ns; /* its own time */
	uint64_t nr_bad;
};

/* ---- which blocks ---- */

static void note_bad(struct timeline *t, uint32_t block)
{
	t->nr_bad++;
	if (t->opt.bad)
		t->opt.bad[block] = true;
}

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

/* A block without times (first and last 0) may contain any time. */
static bool time_wanted(const struct timeline *t, const struct fmt_block *h)
{
	if (!h->first_ns && !h->last_ns)
		return true;
	return h->first_ns <= t->opt.to_ns && h->last_ns >= t->opt.from_ns;
}

/* A block of a ring without a window is counted as bad: its records cannot be parsed. */
static bool block_wanted(struct timeline *t, uint32_t block)
{
	const struct fmt_block *h = header(t, block);
	const struct fmt_window *w;

	if (h->section != FMT_RECORDS)
		return false;
	w = h->ring < t->m->nr_windows ? &t->m->windows[h->ring] : NULL;
	if (!w || w->ring != h->ring || w->channel >= t->m->nr_channels) {
		note_bad(t, block);
		return false;
	}
	return ring_wanted(t, w) && time_wanted(t, h);
}

struct order {
	uint32_t ring, block;
	uint64_t ring_off;
};

/* By ring, oldest first; repeated blocks in file order. */
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

		if (block_wanted(t, (uint32_t)i))
			o[nr++] = (struct order){h->ring, (uint32_t)i, h->ring_off};
	}
	if (nr)
		qsort(o, nr, sizeof(*o), compare_order);
	return nr;
}

static void stream_init(struct timeline *t, struct timeline_stream *s, uint32_t ring,
			uint32_t *blocks)
{
	s->ring = ring;
	s->window = &t->m->windows[ring];
	s->channel = &t->m->channels[s->window->channel];
	s->blocks = blocks;
}

/* Makes one stream per ring; a repeated block (same ring, same offset) is dropped. */
static void build_streams(struct timeline *t, const struct order *o, size_t nr)
{
	struct timeline_stream *s = NULL;
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
	/* opt->thread() may only be called on our thread, so helpers cannot be used with it. They
	 * are optional: continue if they cannot start. */
	if (!rc && opt->nr_helpers && !opt->thread && t->nr_streams &&
	    prefetch_new(r, opt->nr_helpers, &t->ahead))
		t->ahead = NULL;
	if (rc) {
		timeline_close(t);
		return err_set(err, rc, "out of memory for the timeline");
	}
	*out = t;
	return 0;
}

static void stream_free(struct timeline_stream *s)
{
	time_block_free(&s->slots[0].block);
	time_block_free(&s->slots[1].block);
	time_block_free(&s->job.block);
}

void timeline_close(struct timeline *t)
{
	if (!t)
		return;
	thread_pool_free(t->ahead);
	for (size_t i = 0; i < t->nr_streams; i++)
		stream_free(&t->streams[i]);
	free(t->streams);
	free(t->heap);
	free(t->block_pool);
	free(t);
}

uint64_t timeline_nr_bad_blocks(const struct timeline *t)
{
	return t->nr_bad;
}

/* ---- a ring's records in order ---- */

static bool slot_empty(const struct timeline_slot *s)
{
	return time_block_empty(&s->block);
}

static uint32_t offset_in(struct bytes rec, const uint8_t *p)
{
	return (uint32_t)(p - rec.p);
}

/* The offset of a sample's id; 0: none. */
static uint32_t id_offset(uint64_t sample_type)
{
	uint64_t before = sample_type &
			  (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 8;
	return sample_type & PERF_SAMPLE_ID ? 8 + 8 * (uint32_t)__builtin_popcountll(before) : 0;
}

/* An id unknown to the dump does not identify the event. */
static bool told_by_id(const struct meta *m, const struct timeline_record *r)
{
	struct record_sample alone = r->s;

	alone.raw.len = 0;
	return meta_event_of(m, r->channel, &alone) == r->event;
}

static uint32_t thread_offset(struct bytes rec, const struct timeline_record *r, uint64_t type)
{
	if (type & PERF_SAMPLE_TID)
		return 12 + (type & PERF_SAMPLE_IDENTIFIER ? 8 : 0) +
		       (type & PERF_SAMPLE_IP ? 8 : 0);
	return r->tid != UINT32_MAX && r->s.raw.len >= 8 ? offset_in(rec, r->s.raw.p) + 4
							 : UINT32_MAX;
}

/* The first 8 bytes of the raw data hold the tracepoint's number and the thread. */
#define RAW_HEAD 3u

static void set_need(const struct question *q, const struct timeline_record *r,
		     struct time_block_answer *a)
{
	uint64_t copied = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const struct timeline_need *n;

	a->need.all = true;
	if (!q->t->opt.needs || !r->s.raw.len)
		return;
	n = &q->t->opt.needs[r->event->f.id];
	a->need.all = n->stack && r->s.have & copied;
	a->need.chain = n->stack;
	a->need.from = offset_in(r->rec, r->s.raw.p);
	a->need.words = n->raw_words | RAW_HEAD;
}

/* A sample's event is identified by its id, by its tracepoint's number, or by its channel. */
static void ask(void *ctx, struct bytes rec, struct time_block_answer *a)
{
	const struct question *q = ctx;
	uint64_t type = q->s->channel->layout.sample_type;
	struct timeline_record r = {.rec = rec, .window = q->s->window, .channel = q->s->channel};

	timeline_describe(q->t->m, &r);
	*a = (struct time_block_answer){
		.wanted = true,
		.told_by = UINT32_MAX,
		.thread_at = UINT32_MAX,
		.need.all = true,
	};
	if (!r.event)
		return;
	a->of = r.event;
	if (q->t->opt.events)
		a->wanted = q->t->opt.events[r.event->f.id];
	a->told_by = told_by_id(q->t->m, &r) ? id_offset(type) : 0;
	if (!a->told_by && r.s.raw.len >= 4)
		a->told_by = offset_in(rec, r.s.raw.p) - 4; /* includes the length before it */
	else if (!a->told_by && type & PERF_SAMPLE_RAW)
		a->told_by = UINT32_MAX; /* other records may have an id */
	a->thread_at = thread_offset(rec, &r, type);
	set_need(q, &r, a);
}

static bool thread_wanted(void *ctx, uint32_t tid, uint64_t time_ns)
{
	const struct question *q = ctx;

	/* If unknown here, the whole record may tell the thread. */
	return tid == UINT32_MAX || q->t->opt.thread(q->t->opt.ctx, tid, time_ns);
}

static void make_wish(const struct timeline *t, struct timeline_stream *s)
{
	s->question = (struct question){t, s};
	s->wish = (struct time_block_wish){
		.layout = &s->channel->layout,
		.from_ns = t->opt.from_ns,
		.to_ns = t->opt.to_ns,
		.ask = t->opt.events || t->opt.thread || t->opt.needs ? ask : NULL,
		.thread = t->opt.thread ? thread_wanted : NULL,
		.ctx = &s->question,
	};
}

/* Takes the block from the prefetcher, or loads it. */
static int load(struct timeline *t, struct timeline_stream *s, uint32_t block, struct time_block *b)
{
	struct time_block other = *b;

	if (!t->ahead || !thread_pool_take(t->ahead, &s->job.job))
		return time_block_load(b, t->r, block, &s->wish);
	*b = s->job.block;
	s->job.block = other;
	return s->job.rc;
}

static void load_ahead(struct timeline *t, struct timeline_stream *s)
{
	if (!t->ahead || s->next_block == s->nr_blocks)
		return;
	s->job.index = s->blocks[s->next_block];
	s->job.wish = &s->wish;
	thread_pool_put(t->ahead, &s->job.job);
}

/* Loads the stream's next block into an empty slot. Bad blocks are counted and skipped. */
static int load_next(struct timeline *t, struct timeline_stream *s, struct timeline_slot *slot)
{
	uint32_t block = s->blocks[s->next_block++];
	int rc;

	if (!s->wish.layout)
		make_wish(t, s);
	rc = load(t, s, block, &slot->block);
	if (rc == -ENOMEM)
		return rc;
	load_ahead(t, s);
	if (rc)
		note_bad(t, block);
	slot->newer = true;
	s->slots[slot == &s->slots[0]].newer = false;
	return 0;
}

static uint64_t head_ns(const struct timeline_slot *s)
{
	return time_block_head_ns(&s->block);
}

/* The slot with the ring's oldest record; NULL when both are empty. For equal times, the older
 * block's. */
static struct timeline_slot *oldest(struct timeline_stream *s)
{
	struct timeline_slot *a = &s->slots[0], *b = &s->slots[1];

	if (slot_empty(a) || slot_empty(b))
		return slot_empty(a) ? slot_empty(b) ? NULL : b : a;
	if (head_ns(a) != head_ns(b))
		return head_ns(a) < head_ns(b) ? a : b;
	return a->newer ? b : a;
}

/* Loads blocks until the ring's oldest record is known. 1: *out is its slot; 0: the end of the
 * ring. */
static int stream_head(struct timeline *t, struct timeline_stream *s, struct timeline_slot **out)
{
	for (;;) {
		struct timeline_slot *first = oldest(s), *empty;
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

static bool before(const struct timeline_stream *a, const struct timeline_stream *b)
{
	return a->key_ns != b->key_ns ? a->key_ns < b->key_ns : a->ring < b->ring;
}

static void sift_down(struct timeline *t, size_t i)
{
	struct timeline_stream *s = t->heap[i];

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

/* Rings enter the heap with their oldest block's first_ns, so blocks are loaded only when their
 * time comes. */
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

/* Moves the heap's top to the position for its oldest record, or removes it at its end. */
static int settle_top(struct timeline *t)
{
	struct timeline_stream *s = t->heap[0];
	struct timeline_slot *slot;
	int rc = stream_head(t, s, &slot);

	if (rc < 0)
		return rc;
	if (rc) {
		s->key_ns = head_ns(slot);
		s->key_is_record = true;
	} else {
		stream_free(s);
		t->heap[0] = t->heap[--t->nr_heap];
	}
	if (t->nr_heap)
		sift_down(t, 0);
	return 0;
}

void timeline_describe(const struct meta *m, struct timeline_record *rec)
{
	const struct record_layout *layout = &rec->channel->layout;
	const struct meta_event *known = rec->event;
	struct perf_event_header h;
	int rc;

	rec->event = NULL;
	memcpy(&h, rec->rec.p, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE)
		rc = record_sample(rec->rec, layout, &rec->s);
	else
		rc = record_sample_id(rec->rec, layout, &rec->s);
	if (rc)
		rec->s = (struct record_sample){0};
	else if (h.type == PERF_RECORD_SAMPLE)
		rec->event = known ? known : meta_event_of(m, rec->channel, &rec->s);
	rec->tid = rc ? UINT32_MAX : meta_tid_of(m, rec->event, &rec->s);
}

/* Takes the oldest record; returns it parsed, if that is known. */
static const struct record_sample *pop(struct timeline *t, struct timeline_record *rec)
{
	const struct timeline_stream *s = t->heap[0];
	struct timeline_slot *slot = oldest(t->heap[0]);
	struct time_block_record r;

	if (t->last_ns < head_ns(slot))
		t->last_ns = head_ns(slot);
	rec->time_ns = t->last_ns;
	rec->window = s->window;
	rec->channel = s->channel;
	t->taken_ns = head_ns(slot);
	time_block_take(&slot->block, &r);
	rec->rec = r.rec;
	rec->event = r.of;
	t->given = true;
	return r.s;
}

/* Moves the ring with the oldest record to the top. */
static int settle(struct timeline *t)
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
	return rc;
}

/* 1: *s is the result of pop(); 0: the end. */
static int next(struct timeline *t, struct timeline_record *rec, const struct record_sample **s,
		struct err *err)
{
	int rc = settle(t);

	if (rc)
		return err_set(err, rc, "out of memory for a block of records");
	if (!t->nr_heap)
		return 0;
	*s = pop(t, rec);
	return 1;
}

int timeline_next_bare(struct timeline *t, struct timeline_record *rec, struct err *err)
{
	const struct record_sample *s;

	return next(t, rec, &s, err);
}

int timeline_next(struct timeline *t, struct timeline_record *rec, struct err *err)
{
	const struct record_sample *s;
	int rc = next(t, rec, &s, err);

	if (rc <= 0)
		return rc;
	if (s && rec->event) {
		rec->s = *s;
		rec->s.time = s->have & PERF_SAMPLE_TIME ? t->taken_ns : 0;
		rec->tid = meta_tid_of(t->m, rec->event, &rec->s);
	} else {
		timeline_describe(t->m, rec);
	}
	return rc;
}
