// SPDX-License-Identifier: MIT
/* Threads that were runnable but did not run: others had the CPU, a timer was served late, or the
 * thread they wait for was kept from running. */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"
#include "dump/view/model/thread_states.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

/* Priorities in the kernel's units: nice 10, from which on a thread is expected to wait; nice 0. */
#define PRIO_PATIENT 130
#define PRIO_USUAL   120

/*
 * Minimum wait for a CPU to report. For the thread that requested the dump, 30 ms are noticeable.
 * For others, a fair scheduler lets no thread wait for 100 ms unless dozens of threads want the
 * same CPU.
 */
#define WAIT_ASKED  (30 * MS)
#define WAIT_OTHERS (100 * MS)

bool why_is_patient(const struct why *w, uint32_t thread)
{
	return why_prio(w, thread, w->end_ns) >= PRIO_PATIENT;
}

static void put_rival(const struct why *w, const struct rival *r, struct text *t)
{
	if (r->nr == 1 || r->mixed)
		why_who(w, r->thread, t);
	else
		why_name(w, r->thread, t);
	if (r->mixed)
		why_phrase(w, t, " and {nr} more of its pool", SAY_NR(r->nr - 1));
	else if (r->nr > 1)
		why_phrase(w, t, " ({nr} of them)", SAY_NR(r->nr));
}

void why_name_rival(const struct why *w, const struct rival *r, int16_t victim_prio, struct text *t)
{
	put_rival(w, r, t);
	if (why_real_time(r->prio) && r->prio < victim_prio)
		text_fmt(t, ", real-time priority %d,", why_real_time(r->prio));
}

/* In the units of nice and chrt. */
void why_put_prio(struct text *t, int16_t prio)
{
	if (why_real_time(prio))
		text_fmt(t, "real-time priority %d", why_real_time(prio));
	else if (prio < 0)
		text_str(t, "an unknown or deadline priority");
	else
		text_fmt(t, "nice %d", prio - PRIO_USUAL);
}

void why_say_prio(int16_t prio, struct text *t)
{
	if (prio < 0 || prio == PRIO_USUAL)
		return;
	why_phrase(NULL, t, " ({prio})", SAY_PRIO(prio));
}

/* A line about the function that the culprit was in, which becomes the finding's function. */
void why_say_function(const struct why *w, struct finding *f, uint32_t thread, uint64_t from_ns,
		      uint64_t to_ns)
{
	struct busy b;

	/* All that a kernel thread does is in the function that it began with. */
	if (why_is_kernel(w, thread))
		return;
	busy_of(w, thread, 0, from_ns, to_ns, &b);
	if (!b.hits)
		return;
	why_function(&b.function, &f->function);
	finding_say(w, f, "samples", "{thread} was in {function} in {nr} of {nr}",
		    SAY_THREAD(thread), SAY_FUNCTION(&b.function), SAY_NR(b.hits), SAY_NR(b.nr));
}

void finding_rivals(const struct why *w, struct finding *f, const struct rivals *r)
{
	struct text *t = finding_line(f, "instead");
	size_t shown = r->nr < 4 ? r->nr : 4;

	for (size_t i = 0; i < shown; i++) {
		text_str(t, i ? ", " : "");
		put_rival(w, &r->top[i], t);
		why_say_prio(r->top[i].prio, t);
		text_char(t, ' ');
		why_time(t, r->top[i].ns);
	}
	text_fmt(t, " ran on CPU %d\n", r->cpu);
}

/* From this nice value on, a thread has a third of the usual share, or less. */
#define LOW_NICE 5

/* 20 times the default. */
#define LONG_SLACK_NS 1000000ull

uint64_t why_slack_ns(const struct why *w, uint32_t thread)
{
	const struct thread_state *s =
		thread_states_find(w->states, schedule_thread(w->a.sched, thread)->tid);

	return s && s->f.timer_slack_ns >= LONG_SLACK_NS ? s->f.timer_slack_ns : 0;
}

/* "CPU 3", "CPUs 0, 2, 3" */
static void put_mask(const struct thread_state *s, size_t nr_cpus, struct text *t)
{
	unsigned nr = 0;

	text_str(t, thread_state_nr_cpus(s) > 1 ? "CPUs" : "CPU");
	for (uint32_t i = 0; i < nr_cpus && nr < 8; i++)
		if (thread_state_may_run_on(s, i))
			text_fmt(t, "%s %u", nr++ ? "," : "", i);
}

const char *why_say_limits(const struct why *w, uint32_t thread, const struct rivals *r,
			   struct text *t)
{
	const struct thread_state *s =
		thread_states_find(w->states, schedule_thread(w->a.sched, thread)->tid);
	size_t nr_cpus = schedule_nr_cpus(w->a.sched);
	bool idle, confined, own;

	for (size_t i = 0; i < nr_cpus; i++) {
		uint64_t ns = why_offline_ns(w, i);

		if (!ns || ns > w->end_ns)
			continue;
		why_phrase(w, t, "; CPU {nr} went offline {time} before the trigger", SAY_NR(i),
			   SAY_TIME(w->end_ns - ns));
		return "cpu-offline";
	}
	if (s && s->f.flags & FMT_THREAD_SCHED && s->f.policy == SCHED_IDLE) {
		why_phrase(w, t,
			   "; the scheduling policy of {thread} is SCHED_IDLE: all others "
			   "precede it",
			   SAY_THREAD(thread));
		return "low-priority";
	}
	if (s && s->f.flags & FMT_THREAD_SCHED && s->f.nice >= LOW_NICE) {
		why_phrase(w, t, "; the priority of {thread} is low", SAY_THREAD(thread));
		text_fmt(t, " (nice %d)", s->f.nice);
		return "low-priority";
	}
	idle = 2 * r->elsewhere_ns > r->ns && r->elsewhere_cpu >= 0;
	confined = s && thread_state_nr_cpus(s) && thread_state_nr_cpus(s) < nr_cpus;
	if (idle)
		why_phrase(w, t, ", while CPU {nr} was idle", SAY_NR(r->elsewhere_cpu));
	if (!confined)
		return NULL;
	why_phrase(w, t, "; the affinity of {thread} allows only ", SAY_THREAD(thread));
	put_mask(s, nr_cpus, t);
	/* Its own threads are in its way, as they may only use the same CPUs. */
	own = r->nr && schedule_thread(w->a.sched, r->top[0].thread)->pid ==
			       schedule_thread(w->a.sched, thread)->pid;
	return own ? "affinity" : NULL;
}

/* The share of time that the thread waited for a CPU before the focus. */
void why_say_before(const struct why *w, struct finding *f, uint32_t thread)
{
	uint64_t before = w->focus_ns - w->from_ns;
	struct sums s, now;

	if (before < 50 * MS)
		return;
	sums_of(w, thread, w->from_ns, w->focus_ns, &s);
	sums_of(w, thread, w->focus_ns, w->end_ns, &now);
	finding_say(w, f, "before",
		    "it waited for a CPU {share} of the time, longest {time}; now {share}",
		    SAY_SHARE(why_ms(s.ns[SPAN_READY]) / why_ms(before)),
		    SAY_TIME(s.longest_ns[SPAN_READY]),
		    SAY_SHARE(why_ms(now.ns[SPAN_READY]) / why_ms(why_focus_time(w))));
}

/* ---- a timer that fires late ---- */

/* The longest wait for a CPU directly after a timer's wake-up; *usual_ns is the median of these. */
static const struct span *latest(const struct why *w, uint32_t thread, uint64_t *usual_ns,
				 size_t *nr)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint64_t *waits = calloc(t->nr + 1, sizeof(*waits));
	const struct span *worst = NULL;

	*nr = 0;
	for (size_t i = 0; waits && i + 1 < t->nr; i++) {
		const struct span *before = schedule_span(w->a.sched, t->first + i),
				  *s = before + 1;

		if (before->state != SPAN_SLEEP || path_woken_by_thread(w, before))
			continue;
		/* The wake-up of an idle CPU may be missing; then there was no wait. */
		waits[(*nr)++] = s->state == SPAN_READY ? s->to_ns - s->from_ns : 0;
		if (s->state == SPAN_READY && s->from_ns >= w->focus_ns && s->from_ns < w->end_ns &&
		    (!worst || s->to_ns - s->from_ns > worst->to_ns - worst->from_ns))
			worst = s;
	}
	*usual_ns = *nr ? why_quantile(waits, *nr, 5) : 0;
	free(waits);
	return worst;
}

static int find_late(struct why *w, uint32_t thread, struct finding *f)
{
	uint64_t usual, late;
	struct rivals r;
	struct sums sums;
	struct text *t = &f->verdict;
	size_t nr;
	const struct span *s = latest(w, thread, &usual, &nr);
	int16_t prio = why_prio(w, thread, w->end_ns);

	if (!s || why_is_patient(w, thread))
		return 0;
	late = s->to_ns - s->from_ns;
	sums_of(w, thread, w->focus_ns, w->end_ns, &sums);
	/* Must be one exception among short waits; else the thread generally lacks CPU time. */
	if (late < (thread == w->asked ? WAIT_ASKED : WAIT_OTHERS) || nr < 5 || late < 10 * usual ||
	    2 * late < sums.ns[SPAN_READY])
		return 0;
	rivals_of(w, thread, s->from_ns, s->to_ns, &r);
	if (!r.nr || 2 * r.top[0].ns < late)
		return 0;
	f->score = why_ms(late) * 1.2;
	f->culprit = r.top[0].thread;
	f->sure = s->flags & SPAN_GUESSED ? SURE_FAIRLY : SURE_CERTAIN;
	why_phrase(w, t, "{thread} ran {time} late: its timer woke it in time, but ",
		   SAY_THREAD(thread), SAY_TIME(late));
	why_name_rival(w, &r.top[0], prio, t);
	text_fmt(t, " kept CPU %d busy", r.cpu);
	finding_say(w, f, "usual", "a timer woke it {nr} time{s}; it ran {time} later (median)",
		    SAY_NR(nr), SAY_TIME(usual));
	finding_rivals(w, f, &r);
	why_say_function(w, f, r.top[0].thread, s->from_ns, s->to_ns);
	return 0;
}

const struct detector detect_late = {
	.name = "late-timer", .per_thread = true, .find = find_late, .can = why_can_switch};

/* ---- others have the CPU ---- */

/* Waiting time beyond the usual share for this much running: on a busy machine, a thread with more
 * work also waits longer, which is not caused by others. */
static uint64_t excess(const struct why *w, uint32_t thread, const struct sums *now)
{
	struct sums before;
	double usual;

	sums_of(w, thread, w->from_ns, w->focus_ns, &before);
	if (before.ns[SPAN_RUN] < 10 * MS)
		return now->ns[SPAN_READY];
	usual = why_ms(before.ns[SPAN_READY]) / why_ms(before.ns[SPAN_RUN]) *
		(double)now->ns[SPAN_RUN];
	return usual < (double)now->ns[SPAN_READY] ? now->ns[SPAN_READY] - (uint64_t)usual : 0;
}

/* The kernel thread that serves softirqs when there are too many of them. */
static bool is_softirqd(const struct why *w, const struct rivals *r)
{
	const char *comm = r->nr ? schedule_thread(w->a.sched, r->top[0].thread)->comm : NULL;

	return comm && !strncmp(comm, "ksoftirqd/", 10) && 2 * r->top[0].ns > r->ns;
}

static int find_rivals(struct why *w, uint32_t thread, struct finding *f)
{
	uint64_t focus = why_focus_time(w);
	bool asked = thread == w->asked, elsewhere;
	const char *limit;
	struct rivals r;
	struct sums s;
	struct text *t = &f->verdict;

	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	if (asked ? s.ns[SPAN_READY] < WAIT_ASKED || 5 * s.ns[SPAN_READY] < focus
		  : why_is_patient(w, thread) || s.ns[SPAN_READY] < WAIT_OTHERS)
		return 0;
	rivals_of(w, thread, w->focus_ns, w->end_ns, &r);
	elsewhere = 2 * r.elsewhere_ns > r.ns;
	/* Fair sharing of busy CPUs is normal, but not with softirqs. */
	if (!asked && s.longest_ns[SPAN_READY] < WAIT_OTHERS && !(elsewhere && 2 * r.ns > focus) &&
	    !(is_softirqd(w, &r) && 5 * r.ns > focus))
		return 0;
	if (!r.nr || 2 * r.idle_ns > r.ns)
		return 0;
	/* A thread does not wait that long for one of lower priority: events are missing. */
	if (!asked && r.top[0].prio > why_prio(w, thread, w->end_ns))
		return 0;
	f->score = why_ms(excess(w, thread, &s)) * (asked ? 1 : 0.7);
	f->culprit = r.top[0].thread;
	f->sure = 2 * r.top[0].ns > r.ns ? SURE_CERTAIN : SURE_FAIRLY;
	why_phrase(w, t,
		   "{thread} waited for CPU {nr} {time} of the last {time}: ", SAY_THREAD(thread),
		   SAY_NR(r.cpu), SAY_TIME(s.ns[SPAN_READY]), SAY_TIME(focus));
	why_name_rival(w, &r.top[0], why_prio(w, thread, w->end_ns), t);
	why_phrase(w, t, " had it {percent} of that time",
		   SAY_PERCENT(why_ms(r.top[0].ns) / why_ms(r.ns)));
	limit = why_say_limits(w, thread, &r, t);
	f->kind = limit ? limit : f->kind;
	finding_say(w, f, "time",
		    "it ran {percent}, waited for a CPU {percent} ({nr} time{s}, longest {time})",
		    SAY_PERCENT(why_ms(s.ns[SPAN_RUN]) / why_ms(focus)),
		    SAY_PERCENT(why_ms(s.ns[SPAN_READY]) / why_ms(focus)), SAY_NR(s.nr[SPAN_READY]),
		    SAY_TIME(s.longest_ns[SPAN_READY]));
	finding_rivals(w, f, &r);
	why_say_function(w, f, r.top[0].thread, w->focus_ns, w->end_ns);
	why_say_before(w, f, thread);
	return 0;
}

const struct detector detect_rivals = {
	.name = "cpu-contention", .per_thread = true, .find = find_rivals, .can = why_can_switch};

/* ---- priority inversion ---- */

struct inversion {
	uint64_t ns;
	uint32_t holder;
	uint64_t from_ns, to_ns; /* the holder's longest wait for a CPU */
};

/*
 * The thread waits for one of lower priority that is runnable but preempted by threads in between,
 * which the waiting one would itself have preempted. Across processes only for real-time threads: a
 * pipe's reader that waits for a niced writer is intended.
 */
static struct inversion inverted(const struct why *w, uint32_t thread)
{
	struct inversion out = {.holder = NO_THREAD};
	int16_t mine = why_prio(w, thread, w->end_ns);

	for (size_t i = 0; i < path_nr(&w->path); i++) {
		const struct piece *p = path_piece(&w->path, i);
		uint64_t ns = p->to_ns - p->from_ns;
		const struct span *s;

		if (!p->depth || p->kind != LOST_READY)
			continue;
		s = schedule_at(w->a.sched, p->thread, p->from_ns);
		if (!s || s->prio <= mine || mine < 0 ||
		    (!why_real_time(mine) && schedule_thread(w->a.sched, p->thread)->pid !=
						     schedule_thread(w->a.sched, thread)->pid))
			continue;
		out.ns += ns;
		if (ns > out.to_ns - out.from_ns) {
			out.holder = p->thread;
			out.from_ns = p->from_ns;
			out.to_ns = p->to_ns;
		}
	}
	return out;
}

static int find_inversion(struct why *w, uint32_t thread, struct finding *f)
{
	int rc = path_of(w, thread);
	struct inversion v;
	struct rivals r;
	int16_t mine = why_prio(w, thread, w->end_ns), low;

	if (rc)
		return rc;
	/*
	 * Nice values only share time, so this matters only to the thread that requested the dump.
	 */
	if (thread != w->asked && !why_real_time(mine))
		return 0;
	v = inverted(w, thread);
	if (v.holder == NO_THREAD || v.ns < (thread == w->asked ? 10 * MS : 50 * MS))
		return 0;
	rivals_of(w, v.holder, v.from_ns, v.to_ns, &r);
	if (!r.nr || r.top[0].prio < mine || 2 * r.top[0].ns < r.ns || r.top[0].thread == thread)
		return 0;
	low = why_prio(w, v.holder, v.to_ns);
	f->score = why_ms(v.ns) * 2;
	f->culprit = r.top[0].thread;
	f->sure = SURE_CERTAIN;
	why_phrase(w, &f->verdict,
		   "priority inversion: {thread} waited for {thread}, which {thread} kept from "
		   "running for {time}",
		   SAY_THREAD(thread), SAY_THREAD(v.holder), SAY_THREAD(r.top[0].thread),
		   SAY_TIME(v.ns));
	finding_say(w, f, "chain", "{thread} has {prio}, {thread} {prio}, {thread} {prio}",
		    SAY_THREAD(thread), SAY_PRIO(mine), SAY_THREAD(v.holder), SAY_PRIO(low),
		    SAY_THREAD(r.top[0].thread), SAY_PRIO(r.top[0].prio));
	finding_say(w, f, "woken", "{thread} woke {name} once it had run: it released what it held",
		    SAY_THREAD(v.holder), SAY_NAME(thread));
	finding_rivals(w, f, &r);
	why_say_function(w, f, r.top[0].thread, v.from_ns, v.to_ns);
	return 0;
}

const struct detector detect_inversion = {.name = "priority-inversion",
					  .per_thread = true,
					  .find = find_inversion,
					  .can = why_can_switch};
