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
#include "dump/view/model/thread_states.h"
#include "dump/view/unwind/runtimes.h"
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A path with this many changes between threads is busy, not stuck. */
#define MAX_PIECES (1u << 20)

/* A wait that no thread ended is the usual waker's only if it is this long. */
#define UNANSWERED_NS 20000000ull
/* A thread that is awake for less goes on with the same wait. */
#define AGAIN_NS 200000ull
/* Wake-ups that make a waker the usual one. */
#define USUAL_WAKES 5

struct level {
	uint32_t thread;
	enum path_link link;	 /* from the level before to this one */
	const struct span *wait; /* for the next level; NULL in the last one */
	uint64_t floor_ns;
};

struct walker {
	const struct why *w;
	struct level levels[PATH_MAX_DEPTH + 1];
	unsigned depth;
	unsigned nr_idle_steps; /* between levels, since the last piece */
	uint64_t at_ns;
	struct time_path *out;
	uint32_t route; /* of the last piece */
	unsigned route_depth;
	bool route_changed;
};

static bool is_waited_for(const struct walker *k, uint32_t thread)
{
	for (unsigned i = 0; i <= k->depth; i++)
		if (k->levels[i].thread == thread)
			return true;
	return false;
}

static bool is_for_disk(const struct why *w, const struct span *s)
{
	enum wait_class class = wait_class_of(w, s->chain);

	return class == WAIT_DISK || class == WAIT_FSYNC || class == WAIT_RECLAIM;
}

/*
 * True when the thread on the CPU is the cause of the wake-up. A hard interrupt has nothing to do
 * with the thread that it interrupts. Softirqs may: data sent over a local socket arrive in a
 * softirq on top of the sender. So a thread that is found there repeatedly, and more often than all
 * others (of `all`), is the sender. Timer softirqs never count, nor do those that end a wait for a
 * disk.
 */
static bool is_by_thread(const struct why *w, const struct span *s, const uint32_t *often,
			 uint32_t all)
{
	if (s->by == NO_THREAD || !s->by || s->flags & (SPAN_HARDIRQ | SPAN_OPEN) ||
	    why_is_kernel(w, s->by))
		return false;
	return !(s->flags & SPAN_SOFTIRQ) || chain_in(w, s->by_chain, IN_SEND) ||
	       (!is_for_disk(w, s) && often[s->by] >= 3 && 2 * often[s->by] > all &&
		!chain_in(w, s->by_chain, IN_TIMER));
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

/* ---- the walk ---- */

/* Adds the time back to `from_ns` to the thread at `depth`. */
static int add_at(struct walker *k, unsigned depth, uint32_t chain, enum lost_kind kind,
		  uint64_t from_ns)
{
	struct piece p = {
		.from_ns = from_ns,
		.to_ns = k->at_ns,
		.thread = k->levels[depth].thread,
		.chain = chain,
		.kind = (uint8_t)kind,
		.depth = (uint8_t)depth,
	};
	int rc = 0;

	k->at_ns = from_ns;
	if (p.from_ns == p.to_ns)
		return 0;
	k->nr_idle_steps = 0;
	for (unsigned i = 0; i <= depth; i++)
		p.link = k->levels[i].link > p.link ? k->levels[i].link : p.link;
	if (k->route_depth != depth || k->route_changed) {
		k->route = (uint32_t)(k->out->routes.len / sizeof(uint32_t));
		for (unsigned i = 0; !rc && i <= depth; i++)
			rc = buf_put(&k->out->routes, &k->levels[i].thread, sizeof(uint32_t));
		k->route_depth = depth;
		k->route_changed = false;
	}
	p.route = k->route;
	return rc ? rc : buf_put(&k->out->pieces, &p, sizeof(p));
}

static enum lost_kind kind_of(const struct why *w, const struct span *s)
{
	if (s->state == SPAN_BLOCKED)
		return LOST_BLOCKED;
	if (s->flags & SPAN_OPEN)
		return LOST_OPEN;
	return s->by == NO_THREAD && wait_class_of(w, s->chain) != WAIT_OWN_SLEEP ? LOST_UNKNOWN
										  : LOST_IDLE;
}

/* A kernel thread that sleeps waits for a device or a timer, as the thread does that waits for it:
 * the time is that thread's. */
static int add(struct walker *k, const struct span *s, enum lost_kind kind, uint64_t from_ns)
{
	unsigned depth = k->depth;
	uint32_t chain = s ? s->chain : CHAIN_NONE;

	while (depth && kind != LOST_RUN && kind != LOST_READY && kind != LOST_STOPPED &&
	       why_is_kernel(k->w, k->levels[depth].thread)) {
		const struct span *wait = k->levels[--depth].wait;

		chain = wait->chain;
		kind = kind_of(k->w, wait);
	}
	return add_at(k, depth, chain, kind, from_ns);
}

/* Goes on with the thread that ended the wait `s`; false: it cannot. */
static bool descend(struct walker *k, const struct span *s, uint32_t by, enum path_link link,
		    uint64_t from_ns)
{
	if (by == NO_THREAD || !by || ++k->nr_idle_steps > 2 * PATH_MAX_DEPTH)
		return false;
	for (unsigned i = 0; i <= k->depth; i++) {
		if (k->levels[i].thread != by)
			continue;
		/* It is waited for already: by the thread before it. */
		if (!i || i == k->depth)
			return false;
		k->depth = i;
		k->route_changed = true;
		return true;
	}
	if (k->depth == PATH_MAX_DEPTH)
		return false;
	k->levels[k->depth].wait = s;
	k->levels[++k->depth] = (struct level){.thread = by, .floor_ns = from_ns, .link = link};
	k->route_changed = true;
	return true;
}

/* The thread that usually ends the waits of this one in this place; NO_THREAD: there is none. */
static uint32_t usual_waker(const struct why *w, const struct span *s)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, s->thread);
	const struct span *all = schedule_span(w->a.sched, t->first);
	uint32_t best = NO_THREAD;
	size_t votes = 0, nr = 0, nr_best = 0;

	/* The only one that can have a majority, then its count (Boyer and Moore). */
	for (size_t i = 0; i < t->nr; i++) {
		if (&all[i] == s || all[i].chain != s->chain || !path_woken_by_thread(w, &all[i]))
			continue;
		if (!votes)
			best = all[i].by;
		votes += all[i].by == best ? 1 : (size_t)-1;
		nr++;
	}
	for (size_t i = 0; i < t->nr; i++)
		nr_best += &all[i] != s && all[i].chain == s->chain && all[i].by == best &&
			   path_woken_by_thread(w, &all[i]);
	return nr_best >= USUAL_WAKES && 2 * nr_best > nr ? best : NO_THREAD;
}

/* A long wait that no thread ended: its time limit did, or nothing yet. */
static bool is_unanswered(const struct why *w, const struct span *s)
{
	return s->to_ns - s->from_ns >= UNANSWERED_NS && !(s->flags & SPAN_CUT) &&
	       wait_class_of(w, s->chain) != WAIT_OWN_SLEEP && !is_for_disk(w, s) &&
	       (s->flags & SPAN_OPEN || s->by == NO_THREAD || !s->by || s->flags & SPAN_HARDIRQ ||
		chain_in(w, s->by_chain, IN_TIMER));
}

/* The thread that ended a wait at last: a timer interrupts some waits, to look for a deadlock, and
 * the thread sleeps again at once in the same place. NO_THREAD: it did not. */
static uint32_t last_waker(const struct why *w, const struct span *s)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, s->thread);
	const struct span *end = schedule_span(w->a.sched, t->first) + t->nr, *at = s + 1;

	if (s->state != SPAN_SLEEP)
		return NO_THREAD;
	for (uint64_t awake_ns = 0; at < end && awake_ns < AGAIN_NS; at++) {
		if (at->state == SPAN_RUN || at->state == SPAN_READY) {
			awake_ns += at->state == SPAN_RUN ? at->to_ns - at->from_ns : 0;
			continue;
		}
		if (at->state != s->state || at->chain != s->chain)
			break;
		if (path_woken_by_thread(w, at))
			return at->by;
		awake_ns = 0;
	}
	return NO_THREAD;
}

uint32_t path_holder(const struct why *w, const struct span *s)
{
	uint32_t tid = schedule_thread(w->a.sched, s->thread)->tid;
	const struct thread_state *state = thread_states_find(w->states, tid);

	return state && s->flags & SPAN_OPEN && state->f.futex_owner
		       ? schedule_find(w->a.sched, state->f.futex_owner)
		       : NO_THREAD;
}

uint32_t path_peer(const struct why *w, const struct span *s)
{
	const struct schedule_thread *me = schedule_thread(w->a.sched, s->thread);
	const struct thread_state *state = thread_states_find(w->states, me->tid);
	uint32_t peer = path_holder(w, s);

	if (!state || !(s->flags & SPAN_OPEN))
		return NO_THREAD;
	for (uint32_t i = 0; i < state->f.nr_peers && peer == NO_THREAD; i++)
		if (state->f.peers[i] != me->pid)
			peer = schedule_find(w->a.sched, state->f.peers[i]);
	return peer;
}

/* Python's threads try for the interpreter's lock every few milliseconds: its holder is the thread
 * of the process that ran most of that time. NO_THREAD: none did, or there is no such lock. */
static uint32_t interpreting(const struct why *w, const struct span *s, enum wait_class class)
{
	uint32_t pid = schedule_thread(w->a.sched, s->thread)->pid, best = NO_THREAD;
	uint64_t most = (s->to_ns - s->from_ns) / 2;

	if ((class != WAIT_FUTEX && class != WAIT_CONDITION && class != WAIT_LOCK) ||
	    !runtimes_lock(w->runtimes, pid))
		return NO_THREAD;
	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct sums sums;

		if (i == s->thread || schedule_thread(w->a.sched, i)->pid != pid)
			continue;
		sums_of(w, i, s->from_ns, s->to_ns, &sums);
		if (sums.ns[SPAN_RUN] > most) {
			most = sums.ns[SPAN_RUN];
			best = i;
		}
	}
	return best;
}

static int step_asleep(struct walker *k, const struct span *s, uint64_t from_ns)
{
	const struct why *w = k->w;
	enum wait_class class = wait_class_of(w, s->chain);

	if (class == WAIT_FREEZER || class == WAIT_DEBUGGER || class == WAIT_STOP)
		return add(k, s, LOST_STOPPED, from_ns);
	if (class == WAIT_OWN_SLEEP)
		return add(k, s, kind_of(w, s), from_ns);
	if (path_woken_by_thread(w, s)) {
		bool guess = s->flags & SPAN_SOFTIRQ && !chain_in(w, s->by_chain, IN_SEND);

		if (descend(k, s, s->by, guess ? LINK_SOFTIRQ : LINK_WOKE, from_ns))
			return 0;
	} else if (s->by != NO_THREAD && s->by && !(s->flags & (SPAN_HARDIRQ | SPAN_SOFTIRQ)) &&
		   !(s->flags & SPAN_OPEN) && why_is_kernel(w, s->by)) {
		if (descend(k, s, s->by, LINK_WOKE, from_ns))
			return 0;
	} else if (class != WAIT_POLL && class != WAIT_ACCEPT &&
		   (descend(k, s, last_waker(w, s), LINK_AGAIN, from_ns) ||
		    descend(k, s, interpreting(w, s, class), LINK_AGAIN, from_ns))) {
		return 0;
	} else if (is_unanswered(w, s)) {
		uint32_t usual = usual_waker(w, s);
		bool again = usual != NO_THREAD && last_waker(w, s) == usual;

		if (descend(k, s, path_peer(w, s), LINK_PEER, from_ns) ||
		    descend(k, s, usual, again ? LINK_AGAIN : LINK_USUAL, from_ns))
			return 0;
	}
	return add(k, s, kind_of(w, s), from_ns);
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
		if (s->flags & SPAN_FORKED && s->from_ns >= l->floor_ns &&
		    !is_waited_for(k, s->by)) {
			int rc = add(k, s, LOST_READY, from_ns);

			l->thread = s->by;
			k->route_changed = true;
			return rc;
		}
		return add(k, s, LOST_READY, from_ns);
	case SPAN_STOPPED:
		return add(k, s, LOST_STOPPED, from_ns);
	case SPAN_UNKNOWN:
	case SPAN_ENDED:
		return add(k, s, LOST_UNKNOWN, from_ns);
	default:
		return step_asleep(k, s, from_ns);
	}
}

int path_walk(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	      struct time_path *out)
{
	struct walker k = {.w = w, .at_ns = to_ns, .out = out, .route_changed = true};
	int rc = 0;

	k.levels[0] = (struct level){.thread = thread, .floor_ns = from_ns};
	out->pieces.len = out->routes.len = 0;
	while (!rc && path_nr(out) < MAX_PIECES) {
		if (k.at_ns > k.levels[k.depth].floor_ns) {
			rc = step(&k);
		} else if (k.depth) {
			k.depth--;
			k.route_changed = true;
		} else {
			break;
		}
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
	buf_free(&p->routes);
}
