// SPDX-License-Identifier: MIT
/*
 * What is usual, from a dump of a better time: the waits of threads with the same name, in the same
 * place. Stacks have other numbers in another dump, so a place is what was waited for and the
 * program's function.
 */
#include "dump/view/why/why_impl.h"

#include <string.h>

static bool is_asleep(const struct span *s)
{
	return s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED;
}

static const char *function_of(const struct why *w, const struct span *s)
{
	const struct chain_frame *own = chain_own(w, s->chain);

	return own && own->function ? own->function : "";
}

static bool is_alike(const struct why *w, const struct span *s, const struct span *other)
{
	if (!is_asleep(s))
		return other->state == s->state;
	return is_asleep(other) &&
	       wait_class_of(w->base, other->chain) == wait_class_of(w, s->chain) &&
	       !strcmp(function_of(w->base, other), function_of(w, s));
}

/* The next thread of the baseline with this name after `i`; NO_THREAD: none. */
static uint32_t next_named(const struct why *w, const char *comm, uint32_t i)
{
	const struct schedule_thread *t;

	while (comm && ++i < schedule_nr_threads(w->base->a.sched)) {
		t = schedule_thread(w->base->a.sched, i);
		if (t->comm && !strcmp(t->comm, comm))
			return i;
	}
	return NO_THREAD;
}

int baseline_waits(const struct why *w, const struct span *s, struct buf *list)
{
	const char *comm = schedule_thread(w->a.sched, s->thread)->comm;
	uint32_t thread = 0;
	int rc = 0;

	while (w->base && !rc && (thread = next_named(w, comm, thread)) != NO_THREAD) {
		const struct schedule_thread *t = schedule_thread(w->base->a.sched, thread);
		const struct span *all = schedule_span(w->base->a.sched, t->first);

		for (size_t i = 0; !rc && i < t->nr; i++) {
			uint64_t ns = all[i].to_ns - all[i].from_ns;

			if (is_alike(w, s, &all[i]) && !(all[i].flags & (SPAN_CUT | SPAN_OPEN)))
				rc = buf_put(list, &ns, sizeof(ns));
		}
	}
	return rc;
}

double baseline_share(const struct why *w, const char *comm,
		      uint64_t (*lost)(const struct why *w, uint32_t thread, uint64_t from_ns,
				       uint64_t to_ns))
{
	uint32_t thread = 0;
	uint64_t ns = 0, nr = 0;

	while (w->base && (thread = next_named(w, comm, thread)) != NO_THREAD) {
		ns += lost(w->base, thread, w->base->from_ns, w->base->end_ns);
		nr++;
	}
	return nr ? why_ms(ns / nr) / why_ms(w->base->end_ns - w->base->from_ns + 1) : 0;
}
