// SPDX-License-Identifier: MIT
/*
 * Attributes a thread's time to the threads that it waited for. Walks backwards: while the thread
 * ran, was runnable or slept by itself, the time is its own. When another thread woke it, the time
 * of its sleep is attributed to what that thread did meanwhile, back to the start of the sleep; and
 * so on through the thread that woke that one.
 *
 *	checkout  run├─ sleep ──────────────────────────┤run
 *	bank         sleep ┤ ready ┤ run ───────────────┤wakes checkout
 *
 *	path, newest first: checkout run, bank run, bank ready, bank asleep, checkout run
 */
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of wake-ups to follow; time beyond it is attributed to the last thread. */
#define MAX_DEPTH 12
/* A path with this many changes between threads is busy, not stuck. */
#define MAX_PIECES (1u << 20)

struct level {
	uint32_t thread;
	uint64_t floor_ns;
};

struct walker {
	const struct why *w;
	struct level levels[MAX_DEPTH + 1];
	unsigned depth;
	uint64_t at_ns;
	struct time_path *out;
};

/*
 * True when the thread on the CPU is the cause of the wake-up. A hard interrupt has nothing to do
 * with the thread that it interrupts. Softirqs may: data sent over a local socket arrive in a
 * softirq on top of the sender. So a thread that is found there repeatedly, and more often than all
 * others (of `all`), is the sender. Timer softirqs never count.
 */
static bool is_by_thread(const struct why *w, const struct span *s, const uint32_t *often,
			 uint32_t all)
{
	if (s->by == NO_THREAD || !s->by || s->flags & (SPAN_HARDIRQ | SPAN_OPEN) ||
	    why_is_kernel(w, s->by))
		return false;
	return !(s->flags & SPAN_SOFTIRQ) ||
	       (often[s->by] >= 3 && 2 * often[s->by] > all && !chain_in(w, s->by_chain, IN_TIMER));
}

int path_mark(struct why *w)
{
	uint32_t *often = calloc(schedule_nr_threads(w->a.sched) + 1, sizeof(*often));
	size_t nr = 0;

	for (uint32_t i = 0; i < schedule_nr_threads(w->a.sched); i++)
		nr += schedule_thread(w->a.sched, i)->nr;
	w->by_thread = calloc(nr + 1, 1);
	if (!often || !w->by_thread) {
		free(often);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(w->a.sched, i);
		const struct span *s = schedule_span(w->a.sched, t->first);
		uint32_t all = 0;

		for (size_t k = 0; k < t->nr; k++)
			if (s[k].by != NO_THREAD &&
			    (s[k].flags & (SPAN_HARDIRQ | SPAN_SOFTIRQ)) == SPAN_SOFTIRQ) {
				often[s[k].by]++;
				all++;
			}
		for (size_t k = 0; k < t->nr; k++)
			w->by_thread[t->first + k] = is_by_thread(w, &s[k], often, all);
		for (size_t k = 0; k < t->nr; k++)
			if (s[k].by != NO_THREAD)
				often[s[k].by] = 0;
	}
	free(often);
	return 0;
}

bool path_woken_by_thread(const struct why *w, const struct span *s)
{
	return w->by_thread[s - schedule_span(w->a.sched, 0)];
}

static int add(struct walker *k, const struct span *s, enum lost_kind kind, uint64_t from_ns)
{
	struct piece p = {
		.from_ns = from_ns,
		.to_ns = k->at_ns,
		.thread = k->levels[k->depth].thread,
		.chain = s ? s->chain : CHAIN_NONE,
		.kind = (uint8_t)kind,
		.depth = (uint8_t)k->depth,
	};

	k->at_ns = from_ns;
	if (p.from_ns == p.to_ns)
		return 0;
	return buf_put(&k->out->pieces, &p, sizeof(p));
}

static bool on_path(const struct walker *k, uint32_t thread)
{
	for (unsigned i = 0; i <= k->depth; i++)
		if (k->levels[i].thread == thread)
			return true;
	return false;
}

static int step_asleep(struct walker *k, const struct span *s, uint64_t from_ns)
{
	bool can_follow = k->depth < MAX_DEPTH && path_woken_by_thread(k->w, s) &&
			  !on_path(k, s->by) && s->to_ns <= k->at_ns;

	if (can_follow) {
		k->levels[++k->depth] = (struct level){s->by, from_ns};
		return 0;
	}
	if (s->state == SPAN_BLOCKED)
		return add(k, s, LOST_BLOCKED, from_ns);
	if (s->flags & SPAN_OPEN)
		return add(k, s, LOST_OPEN, from_ns);
	return add(k, s, s->by == NO_THREAD ? LOST_UNKNOWN : LOST_IDLE, from_ns);
}

static int step(struct walker *k)
{
	struct level *l = &k->levels[k->depth];
	const struct span *s = schedule_at(k->w->a.sched, l->thread, k->at_ns - 1);
	uint64_t from_ns;

	if (!s)
		return add(k, NULL, LOST_UNKNOWN, l->floor_ns);
	from_ns = s->from_ns > l->floor_ns ? s->from_ns : l->floor_ns;
	switch (s->state) {
	case SPAN_RUN:
		return add(k, s, LOST_RUN, from_ns);
	case SPAN_READY:
		/* The time before a thread's first run is attributed to its parent. */
		if (s->flags & SPAN_FORKED && s->from_ns >= l->floor_ns && !on_path(k, s->by)) {
			int rc = add(k, s, LOST_READY, from_ns);

			l->thread = s->by;
			return rc;
		}
		return add(k, s, LOST_READY, from_ns);
	case SPAN_STOPPED:
		return add(k, s, LOST_STOPPED, from_ns);
	case SPAN_UNKNOWN:
		return add(k, s, LOST_UNKNOWN, from_ns);
	default:
		return step_asleep(k, s, from_ns);
	}
}

int path_walk(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	      struct time_path *out)
{
	struct walker k = {.w = w, .at_ns = to_ns, .out = out};
	int rc = 0;

	k.levels[0] = (struct level){thread, from_ns};
	out->pieces.len = 0;
	while (!rc && path_nr(out) < MAX_PIECES) {
		if (k.at_ns > k.levels[k.depth].floor_ns)
			rc = step(&k);
		else if (k.depth)
			k.depth--;
		else
			break;
	}
	return rc;
}

int path_of(struct why *w, uint32_t thread)
{
	int rc;

	if (w->path_thread == thread)
		return 0;
	rc = path_walk(w, thread, w->focus_ns, w->end_ns, &w->path);
	w->path_thread = rc ? NO_THREAD : thread;
	return rc;
}

void path_free(struct time_path *p)
{
	buf_free(&p->pieces);
}
