// SPDX-License-Identifier: MIT
/* Collects the data of two dumps in the same rows; see report_delta.h. */
#include "dump/view/report/report_delta.h"

#include "dump/base/hash.h"

#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <string.h>

#define MAX_DEPTH 48

static uint64_t hash_of(uint64_t h, const char *s)
{
	return hash_bytes(h, s, strlen(s));
}

static const char *keep(struct delta *d, const char *s)
{
	const char *kept = intern(&d->names, (struct bytes){(const uint8_t *)s, strlen(s)});

	return kept ? kept : "";
}

static struct delta_row *row_of(struct delta *d, enum delta_kind kind, const char *comm,
				const char *name, uint64_t parent)
{
	uint64_t key = hash_of(hash_of(parent + kind, comm), name);
	struct delta_row *r = map_row(&d->rows, key);

	if (r && !r->comm) {
		r->kind = (uint8_t)kind;
		r->parent = parent;
		r->comm = keep(d, comm);
		r->name = keep(d, name);
	}
	return r;
}

/* Divides a duration among the slices that it overlaps. */
static void add_time(struct delta_row *r, unsigned which, const struct report_window *w,
		     uint64_t from, uint64_t to)
{
	double slice = (double)(w->to_ns - w->from_ns) / DELTA_SLICES;

	from = from > w->from_ns ? from - w->from_ns : 0;
	to = to < w->to_ns ? to - w->from_ns : w->to_ns - w->from_ns;
	for (unsigned i = (unsigned)((double)from / slice); i < DELTA_SLICES; i++) {
		double begin = (double)i * slice, end = begin + slice;

		begin = (double)from > begin ? (double)from : begin;
		end = (double)to < end ? (double)to : end;
		if (end <= begin)
			break;
		r->slices[which][i] += end - begin;
	}
}

static unsigned slice_of(const struct report_window *w, uint64_t ns)
{
	double part = (double)(ns - w->from_ns) / (double)(w->to_ns - w->from_ns);

	return part >= 1 ? DELTA_SLICES - 1 : (unsigned)(part * DELTA_SLICES);
}

static void add_span(struct delta *d, struct report *rp, unsigned which, const struct span *s)
{
	static const enum delta_kind kinds[] = {
		[SPAN_RUN] = DELTA_RUN,
		[SPAN_READY] = DELTA_READY,
		[SPAN_SLEEP] = DELTA_SLEEP,
		[SPAN_BLOCKED] = DELTA_BLOCKED,
	};
	uint64_t ns = report_overlap(s, &rp->window);
	struct delta_row *r;
	char leaf[256] = "";

	if (!ns || s->state >= sizeof(kinds) / sizeof(kinds[0]))
		return;
	if (s->state == SPAN_SLEEP && (s->by == NO_THREAD || !s->by || s->flags & SPAN_HARDIRQ ||
				       report_is_kernel(rp, s->thread)))
		return;
	if (d->with_places && (s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED))
		report_leaf(rp, s->chain, leaf, sizeof(leaf));
	r = row_of(d, kinds[s->state], report_comm(rp, s->thread), leaf, 0);
	if (!r)
		return;
	add_time(r, which, &rp->window, s->from_ns, s->to_ns);
	if (which)
		r->chain = s->chain;
	if ((double)ns > r->worst_ns[which])
		r->worst_ns[which] = (double)ns;
}

/* Notes whether the frame has a name; returns the key of its program and image. */
static uint64_t note_image(struct delta *d, unsigned which, const char *comm,
			   const struct chain_frame *f)
{
	const char *image = f->image ? f->image : "", *base = strrchr(image, '/');
	struct delta_image *i;

	i = map_row(&d->images, hash_of(hash_of(f->kernel, comm), base ? base : image));
	if (!i)
		return 0;
	if (f->function)
		i->named[which] = true;
	else
		i->unnamed[which] = true;
	return i->key;
}

/* Adds a sample to the row of each function in it; rows are call paths from the outermost frame. */
static void add_sample(struct delta *d, struct report *rp, unsigned which,
		       const struct schedule_sample *s)
{
	struct chain c = call_chains_get(rp->a.chains, s->chain);
	const char *comm = report_comm(rp, s->thread);
	unsigned slice = slice_of(&rp->sampled, s->ns), depth = 0;
	uint64_t parent = 0;
	char name[256];

	for (size_t i = c.nr; i-- > 0 && depth < MAX_DEPTH;) {
		struct delta_row *r;

		depth++;
		if (report_is_plumbing(&c.frames[i]))
			continue;
		r = row_of(d, DELTA_STACK, comm, report_frame(&c.frames[i], name, sizeof(name)),
			   parent);
		if (!r)
			return;
		r->image = note_image(d, which, comm, &c.frames[i]);
		r->slices[which][slice] += (double)rp->sample_ns;
		parent = r->key;
		if (which) {
			r->chain = s->chain;
			r->depth = (uint8_t)depth;
		}
	}
}

void delta_add(struct delta *d, struct report *rp, unsigned which)
{
	double window = (double)(rp->window.to_ns - rp->window.from_ns) / 1e9;
	double sampled = (double)(rp->sampled.to_ns - rp->sampled.from_ns) / 1e9;

	d->sample_ns[which] = (double)rp->sample_ns;
	d->seconds[which][DELTA_EVENT] = (double)(rp->common.to_ns - rp->common.from_ns) / 1e9;
	if (schedule_has_switches(rp->a.sched) && window > 0) {
		for (int k = 0; k < NR_DELTA_KINDS; k++)
			if (k != DELTA_STACK && k != DELTA_EVENT)
				d->seconds[which][k] = window;
		for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++) {
			const struct schedule_thread *t = schedule_thread(rp->a.sched, i);

			for (size_t k = 0; rp->asked[i] && k < t->nr; k++)
				add_span(d, rp, which, schedule_span(rp->a.sched, t->first + k));
		}
	}
	if (!rp->tick || !rp->sample_ns || sampled <= 0)
		return;
	d->seconds[which][DELTA_STACK] = sampled;
	for (size_t i = 0; i < schedule_nr_samples(rp->a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(rp->a.sched, i);

		if (s->ns >= rp->sampled.from_ns && s->ns < rp->sampled.to_ns && s->thread &&
		    rp->asked[s->thread] && &rp->a.m->events[s->event] == rp->tick)
			add_sample(d, rp, which, s);
	}
}

/* ---- events ---- */

/* Called for all wanted records; counts those within the time that all rings cover. */
static int count(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct delta_counting *c = state;
	const struct report_window *w = &rp->common;
	struct delta_row *r;

	if (rec->time_ns < w->from_ns || rec->time_ns >= w->to_ns || rec->event == rp->tick)
		return 0;
	r = row_of(c->d, DELTA_EVENT, "", rec->event->name, 0);
	if (r)
		r->slices[c->which][slice_of(w, rec->time_ns)]++;
	return 0;
}

void delta_count_events(struct delta *d, struct report *rp, unsigned which)
{
	d->counting[which] = (struct delta_counting){d, which};
	rp->all = (struct report_hook){.feed = count, .state = &d->counting[which]};
}
