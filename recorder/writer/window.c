// SPDX-License-Identifier: MIT
/* The walk of a frozen bank; see window.h. Called by the dump's workers (dump_workers.c). */
#include "recorder/writer/window_record.h"

#include "dump/packed/pack.h"

#include <string.h>

/* Memory of a reader that holds two runs of every ring. */
#define READER_BYTES (64u << 20)
/* A shorter time without a trace may be chance. */
#define SILENCE_NS 100000000ull

_Static_assert(BANKS_MIN_RUN_BYTES >= 1u << 16, "the longest record is a run");

/* The thread of a sample; false when it is not recorded. */
static bool tid_of(const struct window_record *c, const struct channel *ch, uint32_t *tid)
{
	uint32_t at = ch->at.rest;
	uint64_t nr;

	if (ch->at.tid)
		return window_get(c, ch->at.tid, tid, sizeof(*tid));
	if (!ch->at.raw)
		return false;
	if (ch->at.chain) {
		if (!window_get(c, at, &nr, sizeof(nr)) || nr > c->size / 8)
			return false;
		at += 8 + (uint32_t)nr * 8;
	}
	/* u32 length, then common_type u16, common_flags u8, common_preempt_count u8, common_pid
	 * i32. */
	return window_get(c, at + 8, tid, sizeof(*tid));
}

/* Adds the thread that ran while an AUX area was written, since the trace covers its code. */
static void add_runner(const struct window_record *c, const struct channel *ch, struct tidset *tids)
{
	uint32_t tail = channel_time_tail(ch) + 4, tid;

	if (ch->layout.sample_type & PERF_SAMPLE_TID && c->size >= tail + 12 &&
	    window_get(c, c->size - tail, &tid, sizeof(tid)))
		tidset_add(tids, tid);
}

/*
 * True when `c` is part of the bank's first output. The kernel writes a LOST together with the next
 * record, reserved with it and in front of it (kernel/events/ring_buffer.c, __perf_output_begin).
 * In a backward ring the LOST is the older of the two.
 */
static bool came_first(const struct window_record *c)
{
	uint64_t written = c->ring->armed_head - c->head, next = c->off + c->size;
	struct perf_event_header h;

	if (next == written)
		return true;
	return ring_record_at(c->ring, c->head, next, ring_limit(c->ring, c->head), &h) &&
	       next + h.size == written;
}

static void count_lost(struct banks *b, const struct window_record *c)
{
	uint64_t lost; /* PERF_RECORD_LOST: header, u64 id, u64 lost */

	if (!window_get(c, 16, &lost, sizeof(lost)))
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

/* What the flags tell is counted once: in the dump after it. */
static void count_aux(struct fmt_window_aux *w, const struct window_record *c, uint64_t ns)
{
	uint64_t flags; /* PERF_RECORD_AUX: header, u64 offset, u64 size, u64 flags */

	if (!window_get(c, 24, &flags, sizeof(flags)))
		return;
	w->nr_aux++;
	if (ns < w->start_ns)
		return;
	w->nr_truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
	w->nr_partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
	w->nr_collision += !!(flags & PERF_AUX_FLAG_COLLISION);
	w->flags |= (flags & PERF_AUX_FLAG_TRUNCATED ? FMT_AUX_TRUNCATED : 0) |
		    (flags & PERF_AUX_FLAG_PARTIAL ? FMT_AUX_PARTIAL : 0) |
		    (flags & PERF_AUX_FLAG_COLLISION ? FMT_AUX_COLLISION : 0);
}

/* What the newest records tell of the end of a trace. */
struct trace_end {
	uint64_t ns; /* of the newest PERF_RECORD_AUX; 0: not seen yet */
	bool ran;    /* a thread ran after it */
	bool known;  /* whether one did */
};

/* Called for each record, the newest first. */
static void note_end(struct trace_end *e, const struct window_record *c, const struct channel *ch,
		     const struct perf_event_header *h, uint64_t ns)
{
	uint32_t tail = channel_time_tail(ch) + 4, tid;

	if (h->type == PERF_RECORD_AUX && !e->ns)
		e->ns = ns;
	if (e->known || h->type != PERF_RECORD_SWITCH_CPU_WIDE || c->size < tail + 12 ||
	    !window_get(c, c->size - tail, &tid, sizeof(tid)))
		return;
	/* The newest switch before the end tells of the thread that ran then. */
	e->known = e->ns || tid;
	e->ran |= tid && (!e->ns || !(h->misc & PERF_RECORD_MISC_SWITCH_OUT));
}

/* A driver that stops without a report writes no record at the trace's stop for the dump. */
static void find_silence(struct banks *b, const struct trace_end *e)
{
	struct trace_watch *w = b->watch;
	struct fmt_trace_stop s = {
		.reason = FMT_STOP_SILENT,
		.from_ns = e->ns,
		.to_ns = b->aux->window.stop_ns,
		.nr = 1,
	};

	if (w->dumped.nr && w->dumped.v[w->dumped.nr - 1].to_ns > s.from_ns)
		s.from_ns = w->dumped.v[w->dumped.nr - 1].to_ns;
	s.stood_ns = s.to_ns - s.from_ns;
	if (w->whole_cpu && e->ran && e->ns > b->aux->window.start_ns &&
	    s.from_ns + SILENCE_NS < w->stop_began_ns)
		trace_stops_add(&w->dumped, &s);
}

static void count(struct banks *b, const struct window_record *c, uint32_t type, uint64_t ns,
		  struct tidset *tids)
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
			count_aux(&b->aux->window, c, ns);
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

/* The run of the record at `at`: the current one, or a new one if it would get too long. */
static struct banks_run *run_for(struct banks *b, const struct ring *ring, uint64_t at,
				 uint32_t size, uint32_t run_bytes)
{
	struct banks_run *r = b->nr_runs ? &b->runs[b->nr_runs - 1] : NULL;

	if (r && r->ring == ring && r->bytes + size <= run_bytes &&
	    r->nr_records < PACK_RUN_RECORDS)
		return r;
	if (b->nr_runs == b->max_runs)
		return NULL;
	r = &b->runs[b->nr_runs++];
	*r = (struct banks_run){.ring = ring, .at = at, .off = b->window.bytes};
	return r;
}

static void describe(struct banks *b)
{
	const struct bank *f = b->frozen;

	b->window = (struct fmt_window){
		.channel = b->channel->id,
		.cpu = b->cpu,
		.tid = b->tid > 0 ? b->tid : -1,
		.ring_bytes = f->ring.size,
		.paused_ns = f->paused_ns,
		.flags = (b->offline ? FMT_WINDOW_OFFLINE : 0) |
			 (f->running ? FMT_WINDOW_RUNNING : 0) |
			 (b->nr_banks == 1 && !b->aux ? FMT_WINDOW_ONE_BANK : 0) |
			 (b->short_since_ns ? FMT_WINDOW_SHORT : 0),
	};
}

/* Adds a bank of a compact channel: sizes and times of the samples that its records become. */
static bool walk_compact(struct banks *b, const struct bank *bank, uint32_t run_bytes,
			 struct tidset *tids)
{
	const struct ring *ring = &bank->ring;
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
		run = run_for(b, ring, off, bytes, run_bytes);
		if (!run)
			break;
		if (!run->bytes)
			run->reader = before;
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
	return off >= limit && rc >= 0;
}

/* The window begins with this bank. */
static void begins_with(struct banks *b, const struct bank *f)
{
	uint64_t written = bank_written(f), prev_ns = f->is_first ? 0 : b->prev_paused_ns;
	struct fmt_window *w = &b->window;

	w->armed_ns = f->armed_ns;
	w->overwritten_bytes = written > f->ring.size ? written - f->ring.size : 0;
	w->prev_paused_ns = prev_ns;
	w->gap_ns = prev_ns ? (int64_t)(f->armed_ns - prev_ns) : 0;
	w->flags = (w->flags & ~FMT_WINDOW_FIRST) | (prev_ns ? 0 : FMT_WINDOW_FIRST);
}

/* Resets the counters of an AUX area. */
static void begin_aux(struct banks *b)
{
	struct fmt_window_aux *w = &b->aux->window;

	w->nr_aux = w->nr_truncated = w->nr_partial = w->nr_collision = 0;
	b->window.overwritten_bytes = b->records->overwritten_bytes;
}

/* Adds a bank to the window. False: the ring had invalid bytes. */
static bool walk_bank(struct banks *b, const struct bank *bank, uint32_t run_bytes,
		      struct tidset *tids)
{
	const struct ring *ring = &bank->ring;
	struct window_record c = {.ring = ring, .head = ring_head(ring)};
	uint64_t limit = ring_limit(ring, c.head), written = ring->armed_head - c.head;
	uint64_t both_ns = window_newest(bank_before(bank), b->channel);
	struct fmt_window *w = &b->window;
	struct perf_event_header h;
	struct trace_end end = {0};

	if (b->aux)
		begin_aux(b);
	while (ring_record_at(ring, c.head, c.off, limit, &h)) {
		struct banks_run *run;
		uint64_t ns = 0;
		bool timed;

		c.size = h.size;
		timed = window_time(&c, b->channel, h.type, &ns);
		if (timed && ns <= both_ns) {
			both_ns = 0;
			limit = written = window_overlap(&c, bank_before(bank), b->channel);
			continue;
		}
		run = run_for(b, ring, c.off, h.size, run_bytes);
		if (!run)
			break;
		if (timed) {
			/* Far older than what the window reaches. */
			if (!b->aux || !aux_record_comes_once(h.type))
				stretch(&w->first_ns, &w->last_ns, ns);
			stretch(&run->first_ns, &run->last_ns, ns);
			note_end(&end, &c, b->channel, &h, ns);
		}
		run->bytes += h.size;
		run->nr_records++;
		w->nr_records++;
		w->bytes += h.size;
		count(b, &c, h.type, ns, tids);
		c.off += h.size;
	}
	if (b->aux)
		find_silence(b, &end);
	/*
	 * In a ring that has wrapped, the newest record overwrites the end of the oldest one: less
	 * than one record, 64 KiB, is left. More than that means that the walk found an invalid
	 * record.
	 */
	w->tail_bytes = (uint32_t)(limit - c.off);
	return limit - c.off < (64u << 10) &&
	       (limit == ring->size || limit != written || c.off == limit);
}

void window_walk(struct banks *b, uint32_t run_bytes, struct tidset *tids)
{
	const struct bank *bank = b->frozen;

	describe(b);
	b->nr_runs = 0;
	for (; bank; bank = bank_before(bank)) {
		begins_with(b, bank);
		if (b->channel->compact ? walk_compact(b, bank, run_bytes, tids)
					: walk_bank(b, bank, run_bytes, tids))
			continue;
		b->window.flags |= FMT_WINDOW_BROKEN;
		break;
	}
}
