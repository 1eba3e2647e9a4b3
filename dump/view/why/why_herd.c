// SPDX-License-Identifier: MIT
/* Thundering herd: one thread wakes many others of a process at once, and these are in each other's
 * way, for a CPU or for a lock. */
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>

#define MS 1000000ull

/* Threads that are woken by one thread within this time. */
#define AT_ONCE_NS (100 * MS)
#define MIN_HERD   16
/* A user who asks for a dump needs some seconds to type. */
#define RECENT_NS (5000 * MS)
/* Minimum wait to report: of a subject, of others. */
#define WAIT_SUBJECT (20 * MS)
#define WAIT_OTHERS  (100 * MS)

struct herd_wake {
	uint64_t ns;
	uint32_t by, woken;
};

static int by_waker(const void *a, const void *b)
{
	const struct herd_wake *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The largest number of threads of the process that one thread woke at once, in the focus or
 * shortly before its end. */
static int herd_of(const struct why *w, uint32_t pid, struct herd *out)
{
	uint64_t from_ns = w->end_ns > RECENT_NS ? w->end_ns - RECENT_NS : 0;
	uint32_t *inside = calloc(schedule_nr_threads(w->a.sched), sizeof(*inside));
	struct buf wakes = {0};
	const struct herd_wake *list;
	size_t nr, first = 0, threads = 0;
	int rc = inside ? 0 : -ENOMEM;

	*out = (struct herd){.by = NO_THREAD};
	from_ns = from_ns < w->focus_ns ? from_ns : w->focus_ns;
	for (uint32_t i = 1; !rc && i < schedule_nr_threads(w->a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(w->a.sched, i);

		for (size_t k = 0; !rc && t->pid == pid && k < t->nr; k++) {
			const struct span *s = schedule_span(w->a.sched, t->first + k);
			struct herd_wake wake = {s->to_ns, s->by, i};

			if (s->state == SPAN_SLEEP && s->to_ns > from_ns && s->to_ns <= w->end_ns &&
			    path_woken_by_thread(w, s))
				rc = buf_put(&wakes, &wake, sizeof(wake));
		}
	}
	list = (const struct herd_wake *)wakes.p;
	nr = wakes.len / sizeof(*list);
	if (nr)
		qsort(wakes.p, nr, sizeof(*list), by_waker);
	for (size_t i = 0; !rc && i < nr; i++) {
		threads += !inside[list[i].woken]++;
		for (; list[first].by != list[i].by || list[i].ns - list[first].ns > AT_ONCE_NS;
		     first++)
			threads -= !--inside[list[first].woken];
		if (threads > out->nr)
			*out = (struct herd){list[i].by, threads, list[first].ns, list[i].ns};
	}
	buf_free(&wakes);
	free(inside);
	return rc;
}

/* Waits for a CPU and for locks after the herd was woken. */
static uint64_t lost_to(const struct why *w, uint32_t thread, const struct herd *h)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint64_t ns = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		enum wait_class c =
			s->state == SPAN_SLEEP ? wait_class_of(w, s->chain) : WAIT_UNKNOWN;

		if (s->state == SPAN_READY || c == WAIT_LOCK || c == WAIT_FUTEX)
			ns += overlap(s->from_ns, s->to_ns, h->from_ns, w->end_ns);
	}
	return ns;
}

static int find_herd(struct why *w, uint32_t thread, struct finding *f)
{
	bool subject = why_is_subject(w, thread);
	uint32_t pid = schedule_thread(w->a.sched, thread)->pid;
	struct herd h;
	struct busy b;
	uint64_t ns;
	int rc;

	if (!pid)
		return 0;
	if (w->herd_pid != pid) {
		rc = herd_of(w, pid, &w->herd);
		if (rc)
			return rc;
		w->herd_pid = pid;
	}
	h = w->herd;
	if (h.nr < MIN_HERD)
		return 0;
	ns = lost_to(w, thread, &h);
	if (ns < (subject ? WAIT_SUBJECT : WAIT_OTHERS))
		return 0;
	busy_of(w, h.by, 0, h.from_ns > 10 * MS ? h.from_ns - 10 * MS : 0, h.to_ns + 10 * MS, &b);
	f->score = why_ms(ns) * 2;
	f->culprit = h.by;
	f->sure = SURE_FAIRLY;
	why_phrase(w, &f->verdict,
		   "thundering herd: {thread} woke {nr} threads of {text} process within {time}; "
		   "{thread}, one of them, waited {time} for CPUs and locks since then",
		   SAY_THREAD(h.by), SAY_NR(h.nr),
		   SAY_TEXT(schedule_thread(w->a.sched, h.by)->pid == pid ? "its" : "another"),
		   SAY_TIME(h.to_ns - h.from_ns), SAY_THREAD(thread), SAY_TIME(ns));
	finding_say(w, f, "woken", "{time} before the trigger",
		    SAY_TIME(w->end_ns > h.from_ns ? w->end_ns - h.from_ns : 0));
	finding_busy(f, &b, "waker");
	return 0;
}

const struct detector detect_herd = {
	.name = "thundering-herd", .per_thread = true, .find = find_herd, .can = why_can_wake};
