// SPDX-License-Identifier: MIT
/*
 * What else used the disk, or reclaimed memory, while a thread waited for a disk. Only the time links
 * them, so this is added to a sentence about the thread and is no cause of its own. A process that
 * reclaims memory pushes pages out of the page cache, which others then read again.
 */
#include "dump/view/why/why_impl.h"

#include <string.h>

/* Minimum of its time at the disk, in percent of the stretch. */
#define MIN_SHARE 15
/* Minimum of samples in memory reclaim, and of running time that can have as many. */
#define MIN_RECLAIMS   3
#define MIN_RECLAIM_NS 20000000ull

struct disk_user {
	uint32_t thread;
	uint64_t ns;
	struct span longest;
	unsigned nr_reclaims, nr_samples;
};

static bool is_at_disk(const struct why *w, const struct span *s)
{
	enum wait_class class = wait_class_of(w, s->chain);

	return s->state == SPAN_BLOCKED &&
	       (class == WAIT_DISK || class == WAIT_FSYNC || class == WAIT_RECLAIM);
}

static struct disk_user use_of(const struct why *w, uint32_t thread, uint64_t from_ns,
			       uint64_t to_ns)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	struct disk_user u = {.thread = thread};
	uint64_t run_ns = 0;
	struct busy b;

	for (size_t i = t->nr; i-- > 0;) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t ns = overlap(s->from_ns, s->to_ns, from_ns, to_ns);

		if (s->to_ns <= from_ns)
			break;
		run_ns += s->state == SPAN_RUN ? ns : 0;
		if (!ns || !is_at_disk(w, s))
			continue;
		u.ns += ns;
		if (s->to_ns - s->from_ns > u.longest.to_ns - u.longest.from_ns)
			u.longest = *s;
	}
	if (run_ns >= MIN_RECLAIM_NS) {
		busy_of(w, thread, 0, from_ns, to_ns, &b);
		u.nr_reclaims = b.in[IN_RECLAIM];
		u.nr_samples = b.nr;
	}
	return u;
}

/* A thread with the same work suffers from the same. */
static bool works_alike(const struct why *w, uint32_t chain, uint32_t other)
{
	const struct chain_frame *a = chain_own(w, chain), *b = chain_own(w, other);

	return a && b && a->function && b->function && !strcmp(a->function, b->function);
}

static bool is_more(const struct disk_user *a, const struct disk_user *b)
{
	return a->nr_reclaims != b->nr_reclaims ? a->nr_reclaims > b->nr_reclaims : a->ns > b->ns;
}

void why_say_disk(const struct why *w, const struct piece *p, uint64_t from_ns, uint64_t to_ns,
		  struct text *t)
{
	struct disk_user most = {0};

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct disk_user u;

		if (i == p->thread || why_is_ours(w, i))
			continue;
		u = use_of(w, i, from_ns, to_ns);
		if (u.nr_reclaims < MIN_RECLAIMS)
			u.nr_reclaims = 0;
		if (!u.nr_reclaims && (u.ns * 100 < (to_ns - from_ns) * MIN_SHARE ||
				       works_alike(w, p->chain, u.longest.chain)))
			continue;
		if (is_more(&u, &most))
			most = u;
	}
	if (wait_class_of(w, p->chain) != WAIT_FSYNC)
		why_say_full_memory(w, p->thread, t);
	if (!most.thread)
		return;
	why_phrase(w, t, "; meanwhile {thread}", SAY_THREAD(most.thread));
	if (most.nr_reclaims)
		why_phrase(w, t,
			   " pushed pages out of memory (reclaim in {nr} of its {nr} samples)",
			   SAY_NR(most.nr_reclaims), SAY_NR(most.nr_samples));
	if (!most.ns)
		return;
	why_phrase(w, t, "{text} was blocked {time}", SAY_TEXT(most.nr_reclaims ? " and" : ""),
		   SAY_TIME(most.ns));
	if (!why_is_kernel(w, most.thread))
		why_put_asleep(w, most.longest.chain, t);
}
