// SPDX-License-Identifier: MIT
/*
 * The time to explain of a thread: the wait that is longest beyond what is usual for this thread in
 * this place, or its many short waits if these together are more than usual. A thread that always
 * sleeps for half a second is usual; one that sleeps as long in a place where it sleeps for
 * a millisecond is not.
 */
#include "dump/view/why/why_impl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

/* Minimum to report of a thread that the dump is about, of others, of others at a disk. */
#define MIN_SUBJECT (20 * MS)
#define MIN_OTHERS  (100 * MS)
#define MIN_DISK    (300 * MS)
/* Long waits of a thread to look at: each is compared with all others. */
#define MAX_JUDGED 64
/* Waits that show what is usual: of a subject, of others. */
#define MIN_USUAL	 5
#define MIN_USUAL_OTHERS 10
/* A wait is unusual if it is this many times as long as usual: of a subject, of others. */
#define TIMES_SUBJECT 3
#define TIMES_OTHERS  5
/* Short waits matter from this share of the focus on. */
#define SUM_SHARE 0.2

/* Weights of what may be idle time, of sleeps of its own, and of waits as long as the reason says. */
#define WEIGHT_IDLE   0.7
#define WEIGHT_OWN    0.4
#define WEIGHT_HINTED 4

static bool is_wait(const struct span *s)
{
	return s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED || s->state == SPAN_READY ||
	       s->state == SPAN_STOPPED;
}

static bool is_asleep(const struct span *s)
{
	return s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED;
}

/* In the same place: with the same stack, or both for a CPU, or both stopped. */
static bool is_alike(const struct span *a, const struct span *b)
{
	return is_asleep(a) ? is_asleep(b) && a->chain == b->chain : a->state == b->state;
}

/* Adds the waits of `t` that are like `s`, but not `s` itself. 0, -ENOMEM. */
static int add_alike(const struct why *w, const struct schedule_thread *t, const struct span *s,
		     struct buf *list)
{
	const struct span *all = schedule_span(w->a.sched, t->first);
	int rc = 0;

	for (size_t i = 0; !rc && i < t->nr; i++) {
		uint64_t ns = all[i].to_ns - all[i].from_ns;

		if (&all[i] != s && is_alike(&all[i], s) &&
		    !(all[i].flags & (SPAN_CUT | SPAN_OPEN)))
			rc = buf_put(list, &ns, sizeof(ns));
	}
	return rc;
}

/* The length that 9 of 10 other waits in the place of `s` do not exceed; of a subject, half of them:
 * its trouble may have lasted for many waits. Of a thread that was just started, waits of others
 * with its name count, too: it may be the same program again. */
static uint64_t usual_of(const struct why *w, const struct span *s, size_t *nr_out)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, s->thread), *other;
	bool is_new = t->nr && schedule_span(w->a.sched, t->first)->flags & SPAN_FORKED;
	struct buf list = {0};
	uint64_t usual;
	int rc = add_alike(w, t, s, &list);

	for (uint32_t i = 1; !rc && is_new && t->comm && i < schedule_nr_threads(w->a.sched); i++) {
		other = schedule_thread(w->a.sched, i);
		if (i != s->thread && other->comm && !strcmp(other->comm, t->comm))
			rc = add_alike(w, other, s, &list);
	}
	rc = rc ? rc : baseline_waits(w, s, &list);
	*nr_out = rc ? 0 : list.len / sizeof(usual);
	usual = *nr_out ? why_quantile((uint64_t *)list.p, *nr_out,
				       why_is_subject(w, s->thread) ? 5 : 9)
			: 0;
	buf_free(&list);
	return usual;
}

/* True when the CPU that it waits for was idle: the switch to the thread is missing, not a CPU.
 * Other threads that are nice wait on purpose. */
static bool is_doubtful(const struct why *w, const struct span *s)
{
	struct rivals r;

	if (s->state != SPAN_READY)
		return false;
	if (!why_is_subject(w, s->thread) && why_is_patient(w, s->thread))
		return true;
	rivals_of(w, s->thread, s->from_ns, s->to_ns, &r);
	return 2 * r.idle_ns > r.ns;
}

/* A parent that waits for its child, such as a shell or make: that is its work. */
static bool is_for_child(const struct why *w, const struct span *s)
{
	const struct schedule_thread *me = schedule_thread(w->a.sched, s->thread), *by;
	const struct life *l = why_signal_at(w, s);
	const struct fmt_task *task;

	if (l && l->sig == SIGCHLD)
		return true;
	if (s->by == NO_THREAD || !s->by)
		return false;
	by = schedule_thread(w->a.sched, s->by);
	task = history_task(w->a.history, by->tid, s->to_ns);
	return task && me->pid && task->ppid == me->pid;
}

/* The reason says how long something took: within 15 %, this may be it. A program that asks is what
 * the dump is about in any case. */
static bool is_hinted_length(const struct why *w, uint64_t ns)
{
	uint64_t differ = ns > w->hint_ns ? ns - w->hint_ns : w->hint_ns - ns;

	return w->asked == NO_THREAD && w->hint_ns && differ * 100 <= w->hint_ns * 15;
}

/* False: the wait is no more than usual, or it cannot be told. */
static bool judge(const struct why *w, const struct span *s, struct stretch *out)
{
	bool subject = why_is_subject(w, s->thread), idle, knows_usual;
	uint64_t ns = s->to_ns - s->from_ns;
	enum wait_class class = is_asleep(s) ? wait_class_of(w, s->chain) : WAIT_STOP;
	double age = why_ms(w->end_ns > s->to_ns ? w->end_ns - s->to_ns : 0);

	*out = (struct stretch){.thread = s->thread, .from_ns = s->from_ns, .to_ns = s->to_ns};
	/* Of other threads' waits for a disk only long ones count. */
	if (!subject && s->state == SPAN_BLOCKED && ns < MIN_DISK &&
	    (class == WAIT_DISK || class == WAIT_FSYNC || class == WAIT_UNKNOWN))
		return false;
	idle = s->state == SPAN_SLEEP && wait_words(class)->idle;
	if (!subject && (class == WAIT_CHILD || class == WAIT_UNKNOWN) && is_for_child(w, s))
		return false;
	out->usual_ns = usual_of(w, s, &out->nr_usual);
	knows_usual = out->nr_usual >= (subject ? MIN_USUAL : MIN_USUAL_OTHERS);
	out->hinted = is_hinted_length(w, ns);
	if (idle && !knows_usual &&
	    !((subject || out->hinted) && !(s->flags & (SPAN_OPEN | SPAN_CUT))))
		return false;
	if (knows_usual && ns < (subject ? TIMES_SUBJECT : TIMES_OTHERS) * out->usual_ns)
		return false;
	out->excess_ns = knows_usual ? ns - out->usual_ns : ns;
	out->score = why_ms(out->excess_ns);
	out->score *= class == WAIT_OWN_SLEEP && !why_slack_ns(w, s->thread) ? WEIGHT_OWN
		      : idle						     ? WEIGHT_IDLE
									     : 1;
	out->score *= out->hinted ? WEIGHT_HINTED : 1;
	/* What is long past matters less. */
	out->score *= 1 - 0.5 * age / (why_ms(w->end_ns - w->from_ns) + 1);
	return !is_doubtful(w, s);
}

/* Inserts `s` by its score. */
static void insert(struct stretch *list, size_t *nr, const struct stretch *s)
{
	size_t at = *nr;

	while (at && list[at - 1].score < s->score)
		at--;
	if (at == MAX_STRETCHES)
		return;
	*nr += *nr < MAX_STRETCHES;
	memmove(&list[at + 1], &list[at], (*nr - at - 1) * sizeof(*list));
	list[at] = *s;
}

/* The thread that requested the dump waits for it. */
static bool is_for_dump(const struct why *w, const struct span *s)
{
	return s->thread == w->asked && !w->met && !w->by_option && s->to_ns >= w->end_ns;
}

static size_t long_waits(const struct why *w, uint32_t thread, struct stretch *list)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	const struct span *all = schedule_span(w->a.sched, t->first);
	uint64_t min =
		why_is_subject(w, thread) || why_slack_ns(w, thread) ? MIN_SUBJECT : MIN_OTHERS;
	struct stretch found;
	size_t nr = 0, judged = 0;

	/* The newest ones. */
	for (size_t i = t->nr; i-- > 0 && judged < MAX_JUDGED;) {
		if (!is_wait(&all[i]) || is_for_dump(w, &all[i]) ||
		    all[i].to_ns - all[i].from_ns < min ||
		    !overlap(all[i].from_ns, all[i].to_ns, w->scan_ns, w->end_ns))
			continue;
		/* Its score cannot be higher than its length. */
		if (nr == MAX_STRETCHES &&
		    why_ms(all[i].to_ns - all[i].from_ns) <= list[nr - 1].score)
			continue;
		judged++;
		if (judge(w, &all[i], &found))
			insert(list, &nr, &found);
	}
	return nr;
}

/* Time in waits that are not idle time, between these times. */
static uint64_t lost(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	bool subject = why_is_subject(w, thread);
	uint64_t ns = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t here = overlap(s->from_ns, s->to_ns, from_ns, to_ns);

		if (!here || !is_asleep(s))
			continue;
		if (s->state == SPAN_BLOCKED ? subject || s->chain
		    : subject		     ? path_woken_by_thread(w, s)
					     : !wait_words(wait_class_of(w, s->chain))->idle)
			ns += here;
	}
	return ns;
}

/* Many short waits of something that took as long as the reason says. */
static bool is_hinted_sum(const struct why *w, uint64_t ns)
{
	return w->asked == NO_THREAD && 5 * ns >= 3 * w->hint_ns &&
	       is_hinted_length(w, w->hint_ns) && 20 * ns <= 23 * w->hint_ns;
}

/* Minimum of many short waits to report. */
static uint64_t min_sum(const struct why *w, bool subject)
{
	uint64_t share = (uint64_t)(SUM_SHARE * (double)why_focus_time(w));
	uint64_t min = subject ? MIN_SUBJECT : MIN_DISK;

	min = share > min ? share : min;
	return w->asked == NO_THREAD && w->hint_ns && w->hint_ns * 3 / 5 < min ? w->hint_ns * 3 / 5
									       : min;
}

/* Many waits in the focus, each of which is short. */
static bool short_waits(const struct why *w, uint32_t thread, struct stretch *out)
{
	uint64_t focus = why_focus_time(w), before = w->focus_ns - w->from_ns, ns, usual = 0;
	const char *comm = schedule_thread(w->a.sched, thread)->comm;
	uint64_t in_baseline;

	ns = lost(w, thread, w->focus_ns, w->end_ns);
	if (before >= 50 * MS)
		usual = (uint64_t)((double)lost(w, thread, w->from_ns, w->focus_ns) *
				   why_ms(focus) / why_ms(before));
	in_baseline = (uint64_t)(baseline_share(w, comm, lost) * (double)focus);
	usual = usual > in_baseline ? usual : in_baseline;
	if (ns < usual || ns - usual < min_sum(w, why_is_subject(w, thread)))
		return false;
	*out = (struct stretch){.thread = thread,
				.from_ns = w->focus_ns,
				.to_ns = w->end_ns,
				.usual_ns = usual,
				.excess_ns = ns - usual,
				.score = why_ms(ns - usual) * WEIGHT_IDLE,
				.many = true,
				.hinted = is_hinted_sum(w, ns - usual)};
	return true;
}

size_t stretches_of(const struct why *w, uint32_t thread, struct stretch out[MAX_STRETCHES])
{
	struct stretch many;
	size_t nr;

	if (why_interval(w) && thread == w->asked && w->met) {
		*out = (struct stretch){.thread = thread,
					.from_ns = w->focus_ns,
					.to_ns = w->end_ns,
					.excess_ns = why_focus_time(w),
					.score = why_ms(why_focus_time(w)),
					.whole = true};
		return 1;
	}
	nr = long_waits(w, thread, out);
	if (short_waits(w, thread, &many))
		insert(out, &nr, &many);
	return nr;
}
