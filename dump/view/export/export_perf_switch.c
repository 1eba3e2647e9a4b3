// SPDX-License-Identifier: MIT
/*
 * Finds the thread that ran on the CPU of an AUX area before the first record of its ring, since
 * perf knows running threads from switches only; see export_perf_aux.h. The first record tells:
 *
 *	SWITCH out           its own thread
 *	SWITCH_CPU_WIDE in   the previous thread, which it names
 *	AUX                  its own thread: there was no switch
 *
 * Where older records were overwritten, this holds only just before the first record. An export
 * that begins later needs the thread at its beginning.
 */
#include "dump/view/export/export_perf_aux.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>

/* The body of PERF_RECORD_SWITCH_CPU_WIDE: the previous or next thread. */
struct switch_other {
	uint32_t pid, tid;
};

/* By ring. */
struct area_state {
	struct perf_area *area; /* NULL: no area of a CPU */
	bool seen;		/* the first record of the ring */
	bool done;		/* the search has ended */
};

static void set(struct perf_area *area, uint64_t ns, uint32_t pid, uint32_t tid)
{
	area->ran = tid != UINT32_MAX;
	area->run_ns = ns;
	area->pid = pid;
	area->tid = tid;
}

static struct switch_other other_of(const struct timeline_record *rec)
{
	struct switch_other o = {UINT32_MAX, UINT32_MAX};
	struct bytes b = rec->rec;
	struct perf_event_header h;

	if (bytes_get(&b, &h, sizeof(h)))
		bytes_get(&b, &o, sizeof(o));
	return o;
}

static bool is_switch(uint32_t type)
{
	return type == PERF_RECORD_SWITCH || type == PERF_RECORD_SWITCH_CPU_WIDE;
}

/* Sets the thread before `rec`, the first of its ring. */
static void before(struct perf_area *area, const struct fmt_window *w,
		   const struct timeline_record *rec, const struct perf_event_header *h)
{
	bool out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
	uint64_t ns = w->overwritten_bytes ? rec->time_ns : 0;
	struct switch_other o;

	if (h->type == PERF_RECORD_AUX || (is_switch(h->type) && out)) {
		set(area, ns, rec->s.pid, rec->s.tid);
	} else if (h->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		o = other_of(rec);
		set(area, ns, o.pid, o.tid);
	}
}

/* Sets the thread that runs from `rec` on. */
static void after(struct perf_area *area, const struct timeline_record *rec,
		  const struct perf_event_header *h)
{
	struct switch_other o = {UINT32_MAX, UINT32_MAX};

	if (!is_switch(h->type) && h->type != PERF_RECORD_ITRACE_START)
		return;
	if (!(h->misc & PERF_RECORD_MISC_SWITCH_OUT) || !is_switch(h->type))
		o = (struct switch_other){rec->s.pid, rec->s.tid};
	else if (h->type == PERF_RECORD_SWITCH_CPU_WIDE)
		o = other_of(rec);
	set(area, rec->time_ns, o.pid, o.tid);
}

static void take(struct perf_export *p, struct perf_aux *a, struct area_state *s,
		 const struct timeline_record *rec)
{
	struct perf_event_header h;

	if (!record_at(rec->rec, 0, &h) || !(rec->s.have & PERF_SAMPLE_TID))
		return;
	if (h.type == PERF_RECORD_SWITCH)
		a->switches = PERF_SWITCH_TASK;
	else if (h.type == PERF_RECORD_SWITCH_CPU_WIDE && !a->switches)
		a->switches = PERF_SWITCH_CPU_WIDE;
	if (!s->area || s->done)
		return;
	if (!s->seen)
		before(s->area, rec->window, rec, &h);
	s->seen = true;
	if (rec->time_ns <= p->x->opt->from_ns)
		after(s->area, rec, &h);
	else
		s->done = true;
}

static struct area_state *states(struct perf_export *p, struct perf_aux *a)
{
	const struct meta *m = p->x->a.m;
	struct area_state *v = calloc(m->nr_windows + 1, sizeof(*v));

	for (size_t i = 0; v && i < a->nr; i++) {
		const struct dump_area *d = a->v[i].d;

		/* For the area of a thread, perf knows the thread. */
		if (d->cpu >= 0 && d->f.ring < m->nr_windows)
			v[d->f.ring].area = &a->v[i];
	}
	return v;
}

int perf_switch_find(struct perf_export *p, struct perf_aux *a, struct err *err)
{
	const struct meta *m = p->x->a.m;
	struct timeline_options o = {
		.to_ns = p->x->opt->to_ns,
		.channels = 1ull << a->event->f.channel,
		.cpu = -1,
	};
	struct area_state *v = states(p, a);
	struct timeline_record rec;
	struct timeline *t = NULL;
	int rc = v ? 0 : err_set(err, -ENOMEM, "out of memory for the AUX areas");

	if (!rc)
		rc = timeline_open(p->x->a.r, m, &o, &t, err);
	while (!rc && (rc = timeline_next(t, &rec, err)) > 0) {
		if (rec.window->channel == a->event->f.channel)
			take(p, a, &v[rec.window->ring], &rec);
		rc = 0;
	}
	timeline_close(t);
	free(v);
	return rc;
}
