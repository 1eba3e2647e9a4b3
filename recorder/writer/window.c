// SPDX-License-Identifier: MIT
/* The walk of a frozen bank; see window.h. Called by the dump's workers (dump_workers.c). */
#include "recorder/writer/window.h"

#include "dump/packed/pack.h"

#include <string.h>

/* Memory of a reader that holds two runs of every ring. */
#define READER_BYTES (64u << 20)

_Static_assert(BANKS_MIN_RUN_BYTES >= 1u << 16, "the longest record is a run");

/* The bytes of one record, also across the end of the ring. */
struct cursor {
	const struct ring *ring;
	uint64_t head, off;
	uint32_t size;
};

static bool get(const struct cursor *c, uint32_t at, void *dst, uint32_t n)
{
	if (!span_fits(at, n, c->size))
		return false;
	ring_copy(c->ring, c->head, c->off + at, dst, n);
	return true;
}

/* The distance from TIME to the end of a non-sample record. Its sample_id has TID, TIME, ID,
 * STREAM_ID, CPU, IDENTIFIER, as far as they are sampled. */
static uint32_t time_tail(const struct channel *ch)
{
	uint64_t t = ch->layout.sample_type;

	return 8 + (t & PERF_SAMPLE_CPU ? 8 : 0) + (t & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
}

static bool time_of(const struct cursor *c, const struct channel *ch, uint32_t type, uint64_t *ns)
{
	uint32_t tail = time_tail(ch);

	if (type == PERF_RECORD_SAMPLE)
		return get(c, ch->at.time, ns, sizeof(*ns));
	return c->size >= tail + 8 && get(c, c->size - tail, ns, sizeof(*ns));
}

/* The thread of a sample; false when it is not recorded. */
static bool tid_of(const struct cursor *c, const struct channel *ch, uint32_t *tid)
{
	uint32_t at = ch->at.rest;
	uint64_t nr;

	if (ch->at.tid)
		return get(c, ch->at.tid, tid, sizeof(*tid));
	if (!ch->at.raw)
		return false;
	if (ch->at.chain) {
		if (!get(c, at, &nr, sizeof(nr)) || nr > c->size / 8)
			return false;
		at += 8 + (uint32_t)nr * 8;
	}
	/* u32 length, then common_type u16, common_flags u8, common_preempt_count u8, common_pid
	 * i32. */
	return get(c, at + 8, tid, sizeof(*tid));
}

/* Adds the thread that ran while an AUX area was written, since the trace covers its code. */
static void add_runner(const struct cursor *c, const struct channel *ch, struct tidset *tids)
{
	uint32_t tail = time_tail(ch) + 4, tid;

	if (ch->layout.sample_type & PERF_SAMPLE_TID && c->size >= tail + 12 &&
	    get(c, c->size - tail, &tid, sizeof(tid)))
		tidset_add(tids, tid);
}

/*
 * True when `c` is part of the bank's first output. The kernel writes a LOST together with the next
 * record, reserved with it and in front of it (kernel/events/ring_buffer.c, __perf_output_begin).
 * In a backward ring the LOST is the older of the two.
 */
static bool came_first(const struct cursor *c)
{
	uint64_t written = c->ring->armed_head - c->head, next = c->off + c->size;
	struct perf_event_header h;

	if (next == written)
		return true;
	return ring_record_at(c->ring, c->head, next, ring_limit(c->ring, c->head), &h) &&
	       next + h.size == written;
}

static void count_lost(struct banks *b, const struct cursor *c)
{
	uint64_t lost; /* PERF_RECORD_LOST: header, u64 id, u64 lost */

	if (!get(c, 16, &lost, sizeof(lost)))
		return;
	/*
	 * Between pause and disable a bank still counts dropped samples, and writes a LOST with its
	 * first record after it is enabled again. Those samples are in the other bank. An
	 * overwritten ring drops nothing otherwise, so a LOST at any other place is real.
	 */
	if (b->nr_banks == 2 && came_first(c))
		b->window.lost_spare += lost;
	else
		b->window.lost += lost;
}

static void count_aux(struct fmt_window_aux *w, const struct cursor *c)
{
	uint64_t flags; /* PERF_RECORD_AUX: header, u64 offset, u64 size, u64 flags */

	if (!get(c, 24, &flags, sizeof(flags)))
		return;
	w->nr_aux++;
	w->nr_truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
	w->nr_partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
	w->nr_collision += !!(flags & PERF_AUX_FLAG_COLLISION);
	w->flags |= (flags & PERF_AUX_FLAG_TRUNCATED ? FMT_AUX_TRUNCATED : 0) |
		    (flags & PERF_AUX_FLAG_PARTIAL ? FMT_AUX_PARTIAL : 0) |
		    (flags & PERF_AUX_FLAG_COLLISION ? FMT_AUX_COLLISION : 0);
}

static void count(struct banks *b, const struct cursor *c, uint32_t type, struct tidset *tids)
{
	struct fmt_window *w = &b->window;
	uint32_t tid;

	switch (type) {
	case PERF_RECORD_SAMPLE:
		w->samples++;
		if (tid_of(c, b->channel, &tid))
			tidset_add(tids, tid);
		break;
	case PERF_RECORD_LOST:
		count_lost(b, c);
		break;
	case PERF_RECORD_THROTTLE:
		w->throttled++;
		break;
	case PERF_RECORD_AUX:
		if (b->aux)
			count_aux(&b->aux->window, c);
		add_runner(c, b->channel, tids);
		break;
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		add_runner(c, b->channel, tids);
		break;
	}
}

static void stretch(uint64_t *first, uint64_t *last, uint64_t ns)
{
	if (!*last || ns < *first)
		*first = ns;
	if (ns > *last)
		*last = ns;
}

uint32_t window_run_bytes(size_t nr_rings, uint64_t all_ring_bytes)
{
	uint32_t n = PACK_RUN_BYTES;

	while (n > BANKS_MIN_RUN_BYTES && (uint64_t)n * 2 * nr_rings > READER_BYTES)
		n /= 2;
	/* A quarter: invalid record sizes may halve the length of runs, and other sections need
	 * blocks. */
	while (n < PACK_RUN_BYTES && all_ring_bytes / n > FMT_MAX_BLOCKS / 4)
		n *= 2;
	return n;
}

/* The run of the record at `off`: the current one, or a new one if it would get too long. */
static struct banks_run *run_for(struct banks *b, uint64_t off, uint32_t size, uint32_t run_bytes)
{
	struct banks_run *r = b->nr_runs ? &b->runs[b->nr_runs - 1] : NULL;

	if (r && r->bytes + size <= run_bytes && r->nr_records < PACK_RUN_RECORDS)
		return r;
	if (b->nr_runs == b->max_runs)
		return NULL;
	r = &b->runs[b->nr_runs++];
	*r = (struct banks_run){.off = off};
	return r;
}

static void describe(struct banks *b, const struct ring *ring, uint64_t head)
{
	const struct bank *f = b->frozen;
	uint64_t written = ring->armed_head - head;

	b->window = (struct fmt_window){
		.channel = b->channel->id,
		.cpu = b->cpu,
		.tid = b->tid > 0 ? b->tid : -1,
		.ring_bytes = ring->size,
		.armed_ns = f->armed_ns,
		.paused_ns = f->paused_ns,
		.overwritten_bytes = written > ring->size ? written - ring->size : 0,
		.prev_paused_ns = b->prev_paused_ns,
		.gap_ns = b->prev_paused_ns ? (int64_t)(f->armed_ns - b->prev_paused_ns) : 0,
		.flags = (b->prev_paused_ns ? 0 : FMT_WINDOW_FIRST) |
			 (b->offline ? FMT_WINDOW_OFFLINE : 0) |
			 (f->running ? FMT_WINDOW_RUNNING : 0) |
			 (b->nr_banks == 1 && !b->aux ? FMT_WINDOW_ONE_BANK : 0),
	};
}

/* The walk of a compact ring: sizes and times of the samples that its records become. */
static void walk_compact(struct banks *b, uint32_t run_bytes, struct tidset *tids)
{
	const struct ring *ring = &b->frozen->ring;
	uint64_t head = ring_head(ring), limit = ring_limit(ring, head), off, word;
	struct fmt_window *w = &b->window;
	struct compact_reader reader, before;
	struct compact_event e;
	int rc = 0;

	w->lost = b->missed;
	compact_begin(&reader, compact_head_of(ring));
	tidset_add(tids, reader.tid);
	for (off = 0; off < limit && rc >= 0; off += sizeof(word)) {
		struct banks_run *run;
		uint32_t bytes;

		before = reader;
		ring_copy(ring, head, off, &word, sizeof(word));
		rc = compact_read(&reader, word, &e);
		bytes = rc > 0 ? compact_sample_bytes(b->channel->compact, e.kind) : 0;
		if (!bytes)
			continue;
		run = run_for(b, w->bytes, bytes, run_bytes);
		if (!run)
			break;
		if (!run->bytes) {
			run->reader = before;
			run->compact_off = off;
		}
		if (e.kind == COMPACT_SWITCH)
			tidset_add(tids, e.tid);
		stretch(&w->first_ns, &w->last_ns, e.ns);
		stretch(&run->first_ns, &run->last_ns, e.ns);
		run->bytes += bytes;
		run->nr_records++;
		w->nr_records++;
		w->samples++;
		w->bytes += bytes;
	}
	w->flags |= off < limit || rc < 0 ? FMT_WINDOW_BROKEN : 0;
}

/* Resets the counters of an AUX area. Returns the number of intact bytes of its records. */
static uint64_t begin_aux(struct banks *b, uint64_t limit)
{
	struct fmt_window_aux *w = &b->aux->window;
	uint64_t whole = b->frozen->ring.size - b->aux->cut_bytes;

	w->nr_aux = w->nr_truncated = w->nr_partial = w->nr_collision = 0;
	return limit < whole ? limit : whole;
}

void window_walk(struct banks *b, uint32_t run_bytes, struct tidset *tids)
{
	const struct ring *ring = &b->frozen->ring;
	uint64_t head = ring_head(ring), limit = ring_limit(ring, head);
	uint64_t written = ring->armed_head - head;
	struct fmt_window *w = &b->window;
	struct cursor c = {.ring = ring, .head = head};
	struct perf_event_header h;

	describe(b, ring, head);
	b->nr_runs = 0;
	if (b->channel->compact) {
		walk_compact(b, run_bytes, tids);
		return;
	}
	if (b->aux)
		limit = begin_aux(b, limit);
	while (ring_record_at(ring, head, c.off, limit, &h)) {
		struct banks_run *run = run_for(b, c.off, h.size, run_bytes);
		uint64_t ns;

		if (!run)
			break;
		c.size = h.size;
		if (time_of(&c, b->channel, h.type, &ns)) {
			stretch(&w->first_ns, &w->last_ns, ns);
			stretch(&run->first_ns, &run->last_ns, ns);
		}
		run->bytes += h.size;
		run->nr_records++;
		w->nr_records++;
		count(b, &c, h.type, tids);
		c.off += h.size;
	}
	w->bytes = c.off;
	/*
	 * In a ring that has wrapped, the newest record overwrites the end of the oldest one: less
	 * than one record, 64 KiB, is left. More than that means that the walk found an invalid
	 * record.
	 */
	w->tail_bytes = (uint32_t)(limit - c.off);
	if (limit - c.off >= (64u << 10) ||
	    (limit < ring->size && limit == written && c.off != limit))
		w->flags |= FMT_WINDOW_BROKEN;
}
