// SPDX-License-Identifier: MIT
/* Traces that stand; see trace_watch.h. Called by banks_aux.c. */
#include "recorder/trace/trace_watch.h"

#include "recorder/trace/aux_records.h"
#include "trigger/kernel/clock.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

/* Between two attempts to start a trace: a driver may lose data all the time. */
#define WAIT_NS	    100000000ull
#define WAIT_MAX_NS 6400000000ull

void trace_stops_add(struct trace_stops *s, const struct fmt_trace_stop *stop)
{
	struct fmt_trace_stop *first = &s->v[0], *next = &s->v[1];

	if (s->nr == TRACE_STOPS) {
		next->from_ns = first->from_ns;
		next->stood_ns += first->stood_ns;
		next->nr += first->nr;
		memmove(first, next, --s->nr * sizeof(*first));
	}
	s->v[s->nr++] = *stop;
}

void trace_watch_init(struct trace_watch *w, bool whole_cpu)
{
	*w = (struct trace_watch){.whole_cpu = whole_cpu, .wait_ns = WAIT_NS};
}

static void stands(struct trace_watch *w, uint32_t reason, uint64_t since_ns)
{
	if (w->since_ns)
		return;
	w->since_ns = since_ns;
	w->reason = reason;
}

static void stood(struct trace_watch *w, uint64_t to_ns)
{
	if (w->since_ns && w->since_ns < to_ns)
		trace_stops_add(&w->stops, &(struct fmt_trace_stop){
						   .reason = w->reason,
						   .from_ns = w->since_ns,
						   .to_ns = to_ns,
						   .stood_ns = to_ns - w->since_ns,
						   .nr = 1,
					   });
	w->since_ns = 0;
}

/* ---- refused ---- */

/* Of an enabled event the kernel asks its CPU. */
static bool read_times(int fd, struct trace_times *t)
{
	uint64_t v[3]; /* value, as in read_format */

	if (read(fd, v, sizeof(v)) != sizeof(v))
		return false;
	*t = (struct trace_times){v[1], v[2]};
	return true;
}

static bool runs(const struct trace_watch *w, int fd)
{
	struct trace_times t;

	return !w->whole_cpu || !read_times(fd, &t) || t.running_ns != w->before.running_ns ||
	       t.enabled_ns == w->before.enabled_ns;
}

static void check_start(struct trace_watch *w, int fd, uint64_t started_ns)
{
	if (w->check && !runs(w, fd))
		stands(w, FMT_STOP_REFUSED, started_ns);
	w->check = false;
}

void trace_watch_starts(struct trace_watch *w, int fd)
{
	w->check = w->whole_cpu && read_times(fd, &w->before);
}

/* ---- lost ---- */

/* Looks at the records that are new. */
static void look_for_lost(struct trace_watch *w, const struct ring *ring, uint32_t tail)
{
	uint64_t head = ring_head(ring), limit = w->seen_head - head, ns;
	struct perf_event_header h;
	struct aux_record r;

	limit = limit < ring->size ? limit : ring->size;
	w->seen_head = head;
	for (uint64_t off = 0; ring_record_at(ring, head, off, limit, &h); off += h.size) {
		if (h.type != PERF_RECORD_AUX || h.size < sizeof(r) + tail)
			continue;
		ring_copy(ring, head, off, &r, sizeof(r));
		if (!(r.flags & PERF_AUX_FLAG_TRUNCATED))
			continue;
		ring_copy(ring, head, off + h.size - tail, &ns, sizeof(ns));
		stands(w, FMT_STOP_LOST, ns);
		return;
	}
}

/* ---- calls ---- */

void trace_watch_look(struct trace_watch *w, const struct ring *ring, uint32_t tail, int fd,
		      uint64_t started_ns)
{
	look_for_lost(w, ring, tail);
	check_start(w, fd, started_ns);
}

uint64_t trace_watch_due(const struct trace_watch *w)
{
	return w->since_ns ? w->tried_ns + w->wait_ns : 0;
}

void trace_watch_tried(struct trace_watch *w, int fd, uint64_t now_ns)
{
	w->check = false;
	w->tried_ns = now_ns;
	if (runs(w, fd)) {
		stood(w, now_ns);
		w->wait_ns = WAIT_NS;
	} else if (w->wait_ns < WAIT_MAX_NS) {
		w->wait_ns *= 2;
	}
}

void trace_watch_stops(struct trace_watch *w, const struct ring *ring, uint32_t tail)
{
	look_for_lost(w, ring, tail);
	w->stop_began_ns = clock_ns();
}

void trace_watch_stopped(struct trace_watch *w, const struct ring *ring, int fd,
			 uint64_t started_ns, uint64_t stop_ns)
{
	check_start(w, fd, started_ns);
	stood(w, stop_ns);
	w->seen_head = ring_head(ring); /* the stop's own record may say TRUNCATED */
	w->dumped = w->stops;
	w->stops.nr = 0;
}

void trace_watch_undo(struct trace_watch *w)
{
	struct trace_stops newer = w->stops;

	w->stops = w->dumped;
	for (size_t i = 0; i < newer.nr; i++)
		trace_stops_add(&w->stops, &newer.v[i]);
}
