// SPDX-License-Identifier: MIT
/* Threads that sleep: for a peer that does not answer, for a thread that is busy with something
 * else, for a device. */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static uint32_t pid_of(const struct why *w, uint32_t thread)
{
	return schedule_thread(w->a.sched, thread)->pid;
}

void finding_busy(struct finding *f, const struct busy *b, const char *label)
{
	struct text *t;

	if (!b->hits)
		return;
	why_function(&b->function, &f->function);
	t = finding_line(f, label);
	why_phrase(NULL, t, "{function} in {nr} of {nr} sample{s}", SAY_FUNCTION(&b->function),
		   SAY_NR(b->hits), SAY_NR(b->nr));
	if (b->syscall && 2 * b->syscall_hits > b->nr)
		why_phrase(NULL, t, "; the kernel ran {text}()", SAY_TEXT(b->syscall));
	text_char(t, '\n');
}

/* ---- sleeps that were longer than usual ---- */

struct usual {
	const struct span *longest; /* in the focus, ended by a thread or not, as requested */
	uint64_t ns;
	uint64_t median_ns; /* of the other sleeps that a thread ended */
	size_t nr;	    /* number of these */
	uint32_t partner;   /* thread that ended most of them; NO_THREAD */
	size_t nr_partner;
};

static uint64_t length(const struct span *s)
{
	return s->to_ns - s->from_ns;
}

/* Finds the thread that ended most of the other sleeps. */
static void find_partner(const struct why *w, uint32_t thread, struct usual *u)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint32_t *counts = calloc(schedule_nr_threads(w->a.sched) + 1, sizeof(*counts));

	u->partner = NO_THREAD;
	for (size_t i = 0; counts && i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);

		if (s == u->longest || s->state != SPAN_SLEEP || !path_woken_by_thread(w, s))
			continue;
		if (++counts[s->by] > u->nr_partner) {
			u->nr_partner = counts[s->by];
			u->partner = s->by;
		}
	}
	free(counts);
}

static struct usual usual_of(const struct why *w, uint32_t thread, bool by_thread)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint64_t *list = calloc(t->nr + 1, sizeof(*list));
	struct usual u = {.partner = NO_THREAD};

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);

		if (s->state != SPAN_SLEEP || path_woken_by_thread(w, s) != by_thread ||
		    s->to_ns <= w->focus_ns || s->from_ns >= w->end_ns)
			continue;
		if (!u.longest || length(s) > length(u.longest))
			u.longest = s;
	}
	for (size_t i = 0; list && i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);

		if (s != u.longest && s->state == SPAN_SLEEP && path_woken_by_thread(w, s) &&
		    !(s->flags & SPAN_CUT))
			list[u.nr++] = length(s);
	}
	u.ns = u.longest ? length(u.longest) : 0;
	u.median_ns = u.nr ? why_median(list, u.nr) : 0;
	free(list);
	find_partner(w, thread, &u);
	return u;
}

/* ---- a peer that does not answer ---- */

struct silent_peer {
	const struct span *stopped; /* the peer's stop during the sleep */
	uint64_t stopped_ns, run_ns, blocked_ns;
	const struct life *sent, *exited;
};

static struct silent_peer look_at(const struct why *w, uint32_t peer, const struct span *sleep)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, peer);
	struct silent_peer p = {0};
	struct sums s;

	sums_of(w, peer, sleep->from_ns, sleep->to_ns, &s);
	p.stopped = s.longest[SPAN_STOPPED];
	p.stopped_ns = s.ns[SPAN_STOPPED];
	p.run_ns = s.ns[SPAN_RUN] + s.ns[SPAN_READY];
	p.blocked_ns = s.ns[SPAN_BLOCKED];
	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);

		/* SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, to the process or to the thread. */
		if (l->kind == LIFE_SEND && l->sig >= 19 && l->sig <= 22 &&
		    (l->tid == t->tid || l->tid == t->pid) && l->ns <= sleep->to_ns)
			p.sent = l;
		if (l->kind == LIFE_EXIT && l->tid == t->tid && l->ns <= sleep->to_ns)
			p.exited = l;
	}
	return p;
}

/* A thread that another wakes regularly sleeps far longer while that other does nothing: it is
 * stopped, has exited or sleeps. */
static int find_peer(struct why *w, uint32_t thread, struct finding *f)
{
	bool asked = thread == w->asked;
	struct usual u = usual_of(w, thread, false);
	struct silent_peer p;

	if (!u.longest || u.partner == NO_THREAD || u.nr_partner < 5 ||
	    u.ns < (asked ? 50 : 200) * MS || u.ns < 10 * u.median_ns)
		return 0;
	p = look_at(w, u.partner, u.longest);
	/* Unless stopped, the peer is to blame only if it did nothing else; a thread that waits for
	 * work looks alike, so this needs `asked`. */
	if (2 * p.stopped_ns < u.ns && !(asked && (p.exited || 20 * p.run_ns < u.ns)))
		return 0;
	f->culprit = u.partner;
	f->score = why_ms(u.ns) * (p.stopped_ns || p.exited ? 1.5 : 0.6);
	f->sure = p.stopped_ns ? SURE_CERTAIN : p.exited ? SURE_FAIRLY : SURE_GUESS;
	why_phrase(w, &f->verdict, "{thread} waited {time} for {thread}, which ",
		   SAY_THREAD(thread), SAY_TIME(u.ns), SAY_THREAD(u.partner));
	if (p.stopped_ns && p.sent)
		why_phrase(w, &f->verdict, "is stopped by {task}",
			   SAY_TASK(p.sent->other, p.sent->ns));
	else
		text_str(&f->verdict, p.stopped_ns ? "is stopped"
				      : p.exited   ? "has exited"
						   : "did not run in that time");
	finding_say(w, f, "usual", "{thread} woke it {nr} time{s}, after sleeps of {time} (median)",
		    SAY_THREAD(u.partner), SAY_NR(u.nr_partner), SAY_TIME(u.median_ns));
	if (p.sent)
		finding_say(w, f, "signal", "{text} from {task}, {time} before the trigger",
			    SAY_TEXT(p.sent->sig == 19 ? "SIGSTOP" : "a stop signal"),
			    SAY_TASK(p.sent->other, p.sent->ns),
			    SAY_TIME(w->end_ns > p.sent->ns ? w->end_ns - p.sent->ns : 0));
	finding_say(w, f, "peer", "{thread} was stopped {time} and ran {time} in that time",
		    SAY_THREAD(u.partner), SAY_TIME(p.stopped_ns), SAY_TIME(p.run_ns));
	if (!finding_asleep(w, f, u.longest->chain, "where"))
		f->more = "where it slept: stacks of sleeping threads (--preset waits), or "
			  "--preset syscalls";
	return 0;
}

const struct detector detect_peer = {
	.name = "dead-peer", .per_thread = true, .find = find_peer, .can = why_can_wake};

/* ---- a thread that is busy with something else ---- */

#define MAX_WORKERS 64

struct work {
	uint32_t thread;
	uint64_t run_ns, ready_ns, blocked_ns;
};

/* The thread that most of a sleep is attributed to. */
static int who_worked(const struct why *w, uint32_t thread, const struct span *sleep,
		      struct work *out)
{
	struct time_path p = {0};
	int rc = path_walk(w, thread, sleep->from_ns, sleep->to_ns, &p);
	struct work list[MAX_WORKERS];
	size_t nr = 0, k;

	*out = (struct work){.thread = NO_THREAD};
	for (size_t i = 0; !rc && i < path_nr(&p); i++) {
		const struct piece *q = path_piece(&p, i);
		uint64_t ns = q->to_ns - q->from_ns;

		if (!q->depth)
			continue;
		for (k = 0; k < nr && list[k].thread != q->thread; k++)
			;
		if (k == MAX_WORKERS)
			continue;
		if (k == nr)
			list[nr++] = (struct work){.thread = q->thread};
		list[k].run_ns += q->kind == LOST_RUN ? ns : 0;
		list[k].ready_ns += q->kind == LOST_READY ? ns : 0;
		list[k].blocked_ns += q->kind == LOST_BLOCKED ? ns : 0;
	}
	path_free(&p);
	for (k = 0; k < nr; k++)
		if (list[k].run_ns + list[k].ready_ns + list[k].blocked_ns >
		    out->run_ns + out->ready_ns + out->blocked_ns)
			*out = list[k];
	return rc;
}

/* Counts siblings of the worker that were in the same function meanwhile: the rest of a pool. */
static unsigned same_work(const struct why *w, uint32_t worker, const struct chain_frame *fn,
			  const struct span *sleep, uint32_t *other)
{
	unsigned nr = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct busy b;
		struct sums s;

		if (i == worker || !pid_of(w, i) || pid_of(w, i) != pid_of(w, worker))
			continue;
		sums_of(w, i, sleep->from_ns, sleep->to_ns, &s);
		if (2 * (s.ns[SPAN_RUN] + s.ns[SPAN_READY]) < length(sleep))
			continue;
		busy_of(w, i, 0, sleep->from_ns, sleep->to_ns, &b);
		if (b.hits && b.function.function && b.function.function == fn->function) {
			nr++;
			*other = i;
		}
	}
	return nr;
}

static int find_task(struct why *w, uint32_t thread, struct finding *f)
{
	struct usual u = usual_of(w, thread, true);
	uint32_t other = NO_THREAD;
	unsigned nr_others = 0;
	struct work k;
	struct busy b;
	struct text *t = &f->verdict;
	uint64_t at;
	int rc;

	/* Only for the thread that requested the dump: others may just wait for work. */
	if (thread != w->asked || !u.longest || u.ns < 30 * MS ||
	    (u.nr >= 5 && u.ns < 5 * u.median_ns))
		return 0;
	rc = who_worked(w, thread, u.longest, &k);
	at = k.run_ns + k.ready_ns + k.blocked_ns;
	if (rc || k.thread == NO_THREAD || 2 * at < u.ns)
		return rc;
	busy_of(w, k.thread, 0, u.longest->from_ns, u.longest->to_ns, &b);
	if (b.hits)
		nr_others = same_work(w, k.thread, &b.function, u.longest, &other);
	f->score = why_ms(at) * 1.1;
	f->culprit = k.thread;
	f->sure = SURE_CERTAIN;
	why_phrase(w, t, "{thread} waited {time} for {thread}, which was ", SAY_THREAD(thread),
		   SAY_TIME(u.ns), SAY_THREAD(k.thread));
	if (k.blocked_ns > k.run_ns + k.ready_ns)
		text_str(t, "blocked itself");
	else if (b.hits)
		why_phrase(w, t, "busy in {function}", SAY_FUNCTION(&b.function));
	else
		text_str(t, "busy");
	if (nr_others == 1)
		why_phrase(w, t, ", as was {thread}", SAY_THREAD(other));
	else if (nr_others)
		why_phrase(w, t, ", as were {nr} other threads of its process", SAY_NR(nr_others));
	finding_say(w, f, "meanwhile",
		    "{thread} ran {time}, waited for a CPU {time}, was blocked {time}, then woke "
		    "{name}",
		    SAY_THREAD(k.thread), SAY_TIME(k.run_ns), SAY_TIME(k.ready_ns),
		    SAY_TIME(k.blocked_ns), SAY_NAME(thread));
	finding_busy(f, &b, "there");
	if (u.nr)
		finding_say(w, f, "usual", "{nr} other wait{s} for threads took {time} (median)",
			    SAY_NR(u.nr), SAY_TIME(u.median_ns));
	finding_asleep(w, f, u.longest->chain, "where");
	return 0;
}

const struct detector detect_task = {
	.name = "long-task", .per_thread = true, .find = find_task, .can = why_can_wake};

/* ---- uninterruptible ---- */

#define MAX_CALLS 32

struct sleep_call {
	const char *syscall;
	uint64_t ns, longest_ns;
	uint32_t chain; /* stack of the longest */
};

/* The system call in which it was blocked longest, from the stacks of its switches. */
static struct sleep_call blocked_in(const struct why *w, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	struct sleep_call calls[MAX_CALLS], best = {0};
	size_t nr = 0, k;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t ns = overlap(s->from_ns, s->to_ns, w->focus_ns, w->end_ns);
		const char *syscall = s->state == SPAN_BLOCKED ? chain_syscall(w, s->chain) : NULL;

		if (!ns || !syscall)
			continue;
		for (k = 0; k < nr && strcmp(calls[k].syscall, syscall) != 0; k++)
			;
		if (k == MAX_CALLS)
			continue;
		if (k == nr)
			calls[nr++] = (struct sleep_call){.syscall = syscall};
		calls[k].ns += ns;
		if (ns > calls[k].longest_ns) {
			calls[k].longest_ns = ns;
			calls[k].chain = s->chain;
		}
	}
	for (k = 0; k < nr; k++)
		if (calls[k].ns > best.ns)
			best = calls[k];
	return best;
}

static int find_blocked(struct why *w, uint32_t thread, struct finding *f)
{
	bool asked = thread == w->asked;
	const struct span *longest;
	struct sleep_call call;
	struct sums s, before;
	struct busy b;
	struct text *t = &f->verdict;

	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	longest = s.longest[SPAN_BLOCKED];
	/* Waiting for disks is normal: of other threads only long waits count. */
	if (!longest || s.ns[SPAN_BLOCKED] < (asked ? 20 : 300) * MS ||
	    (!asked && s.longest_ns[SPAN_BLOCKED] < 100 * MS))
		return 0;
	busy_of(w, thread, 0, longest->from_ns > 50 * MS ? longest->from_ns - 50 * MS : 0,
		longest->to_ns + 50 * MS, &b);
	call = blocked_in(w, thread);
	f->score = why_ms(s.ns[SPAN_BLOCKED]) * (asked ? 1.2 : 0.6);
	f->culprit = longest->by != NO_THREAD && longest->by ? longest->by : NO_THREAD;
	f->sure = 2 * call.ns > s.ns[SPAN_BLOCKED] ? SURE_CERTAIN : SURE_FAIRLY;
	why_phrase(w, t, "{thread} was blocked {time} of the last {time}", SAY_THREAD(thread),
		   SAY_TIME(s.ns[SPAN_BLOCKED]), SAY_TIME(why_focus_time(w)));
	if (call.syscall)
		why_phrase(w, t, ", {time} of it in {text}()", SAY_TIME(call.ns),
			   SAY_TEXT(call.syscall));
	text_str(t, ": an uninterruptible wait for a disk or a kernel lock");
	finding_say(w, f, "time", "{nr} time{s}, longest {time}; it ran {time} meanwhile",
		    SAY_NR(s.nr[SPAN_BLOCKED]), SAY_TIME(s.longest_ns[SPAN_BLOCKED]),
		    SAY_TIME(s.ns[SPAN_RUN]));
	if (!finding_asleep(w, f, call.syscall ? call.chain : longest->chain, "where"))
		finding_busy(f, &b, "around");
	if (longest->by != NO_THREAD && longest->by && !(longest->flags & SPAN_HARDIRQ))
		finding_say(w, f, "woken", "from the longest by {thread}", SAY_THREAD(longest->by));
	else if (longest->by != NO_THREAD)
		finding_say(w, f, "woken", "from the longest by an interrupt of a device");
	if (w->focus_ns - w->from_ns > 50 * MS) {
		sums_of(w, thread, w->from_ns, w->focus_ns, &before);
		finding_say(w, f, "before", "blocked {share} of the time; now {share}",
			    SAY_SHARE(why_ms(before.ns[SPAN_BLOCKED]) /
				      why_ms(w->focus_ns - w->from_ns)),
			    SAY_SHARE(why_ms(s.ns[SPAN_BLOCKED]) / why_ms(why_focus_time(w))));
	}
	if (!call.syscall)
		f->more = "which call and file: stacks of sleeping threads (--preset waits); the "
			  "disk: --preset io";
	return 0;
}

const struct detector detect_blocked = {
	.name = "blocked", .per_thread = true, .find = find_blocked, .can = why_can_switch};

/* ---- the thread itself ---- */

/* The thread that requested the dump was running all the time: its own work explains the time. */
static int find_busy(struct why *w, uint32_t thread, struct finding *f)
{
	struct sums s;
	struct busy b;

	if (thread != w->asked)
		return 0;
	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	if (2 * s.ns[SPAN_RUN] < why_focus_time(w) || s.ns[SPAN_RUN] < 50 * MS)
		return 0;
	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	f->score = why_ms(s.ns[SPAN_RUN]) * 0.3;
	f->culprit = thread;
	f->sure = b.hits ? SURE_FAIRLY : SURE_GUESS;
	why_phrase(w, &f->verdict, "{thread} was CPU-bound: it ran {time} of the last {time}",
		   SAY_THREAD(thread), SAY_TIME(s.ns[SPAN_RUN]), SAY_TIME(why_focus_time(w)));
	if (b.hits)
		why_phrase(w, &f->verdict, ", mostly in {function}", SAY_FUNCTION(&b.function));
	finding_busy(f, &b, "there");
	return 0;
}

const struct detector detect_busy = {
	.name = "busy", .per_thread = true, .find = find_busy, .can = why_can_switch};
