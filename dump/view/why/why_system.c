// SPDX-License-Identifier: MIT
/* Problems other than scheduling: crashes, process storms, memory. */
#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

/* ---- crashes ---- */

/* Fatal signals that a program causes itself. */
static const struct {
	int sig;
	const char *name, *what;
} fatal[] = {
	{11, "SIGSEGV", "invalid memory access"},
	{7, "SIGBUS", "access to memory that does not exist"},
	{4, "SIGILL", "illegal instruction"},
	{8, "SIGFPE", "arithmetic error, such as a division by zero"},
	{6, "SIGABRT", "abort, as by a failed assertion"},
	{31, "SIGSYS", "forbidden system call"},
	{5, "SIGTRAP", "breakpoint without a debugger"},
	{3, "SIGQUIT", "request to quit with a core dump"},
	{24, "SIGXCPU", "CPU time limit exceeded"},
	{25, "SIGXFSZ", "file size limit exceeded"},
};

static int fatal_index(int sig)
{
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (fatal[i].sig == sig)
			return (int)i;
	return -1;
}

/* A signal sent by another process is not a crash, except SIGABRT, which a process sends to itself.
 * Signals from the kernel have a positive code. */
static bool is_crash(const struct why *w, const struct life *l)
{
	if (l->kind == LIFE_OOM)
		return true;
	if (l->of_trigger && l->kind == LIFE_DELIVER && !l->handled)
		return fatal_index(l->sig) >= 0;
	if (fatal_index(l->sig) < 0 || (l->code <= 0 && l->sig != 6))
		return false;
	if (l->kind == LIFE_DELIVER)
		return !l->handled;
	return l->kind == LIFE_SEND && !w->recorded[LIFE_DELIVER];
}

/* True for a thread of the process that requested the dump, of its children or of its parent. */
static bool is_related(const struct why *w, uint32_t tid)
{
	const struct fmt_task *t = history_task(w->a.history, tid, w->end_ns), *asked;

	if (w->asked == NO_THREAD)
		return true;
	asked = history_task(w->a.history, schedule_thread(w->a.sched, w->asked)->tid, w->end_ns);
	return t && asked &&
	       (t->pid == asked->pid || t->ppid == asked->pid || t->pid == asked->ppid);
}

/* The last crash before the trigger; prefers threads that the dump is about. */
static const struct life *last_crash(const struct why *w)
{
	const struct life *found = NULL;

	for (size_t i = 0; i < why_nr_life(w) && why_life(w, i)->ns <= w->end_ns; i++) {
		const struct life *l = why_life(w, i);

		if (is_crash(w, l) &&
		    (!found || is_related(w, l->tid) || !is_related(w, found->tid)))
			found = l;
	}
	return found;
}

static void say_stack(const struct why *w, struct finding *f, uint32_t chain)
{
	struct chain c = call_chains_get(w->a.chains, chain);
	struct text *t;
	unsigned shown = 0;

	for (size_t i = 0; i < c.nr && shown < 5; i++) {
		if (c.frames[i].kernel)
			continue;
		t = shown ? &f->lines : finding_line(f, "stack");
		text_str(t, shown++ ? " < " : "");
		why_function(&c.frames[i], t);
	}
	if (shown)
		text_str(&f->lines, "\n");
}

/* The meaning is printed only for signals from the kernel, SIGABRT and SIGQUIT: that of others
 * depends on the sender. */
static void say_signal(const struct why *w, struct finding *f, const struct life *l,
		       const char *means)
{
	struct text *t = finding_line(f, "signal");
	char name[32], code[32];

	if (l->of_trigger && w->cause.signal.b.len)
		text_str(t, cause_text(&w->cause.signal));
	else
		text_fmt(t, "%s (%s)", signame(l->sig, name, sizeof(name)),
			 signame_code(l->sig, l->code, code, sizeof(code)));
	if (l->code > 0 || l->sig == SIGABRT || l->sig == SIGQUIT)
		text_fmt(t, ": %s", means);
	text_char(t, '\n');
}

/* A crash that only the trigger's own records show: of a program that handles its signals. */
static int find_told_crash(struct why *w, struct finding *f)
{
	uint32_t tid = w->a.m->trigger.tid;
	const struct cause *c = &w->cause;

	f->score = 1e6;
	f->rank = RANK_CRASH;
	f->victim = schedule_find(w->a.sched, tid);
	f->victim_tid = f->culprit_tid = tid;
	f->sure = SURE_CERTAIN;
	why_phrase(w, &f->verdict, "{task} crashed", SAY_TASK(tid, w->a.m->trigger.hit_ns));
	if (c->function.b.len) {
		text_fmt(&f->verdict, " in %s()", cause_text(&c->function));
		text_fmt(&f->function, "%s()", cause_text(&c->function));
	}
	if (c->stack.b.len)
		text_fmt(finding_line(f, "stack"), "%s\n", cause_text(&c->stack));
	return 0;
}

static const struct chain_frame *user_frame(const struct chain_frame *f)
{
	return f && !f->kernel ? f : NULL;
}

/*
 * Finds the original fault. A handler of a fatal signal may itself crash or abort; it is above the
 * interrupted function on the stack. Returns that function and sets *l to its signal; else the
 * function of the crash itself, or NULL.
 *
 *	abort <- on_segv <- (signal return) <- price_of <- main
 *	                                       was interrupted by the last signal handled
 */
static const struct chain_frame *first_fault(const struct why *w, const struct life **l)
{
	const struct life *crash = *l;
	const struct chain_frame *found = user_frame(chain_own(w, crash->chain));
	struct chain c = call_chains_get(w->a.chains, crash->chain);
	size_t at = 0;

	for (const struct life *d = crash; d-- > why_life(w, 0);) {
		if (d->kind != LIFE_DELIVER || !d->handled || d->tid != crash->tid)
			continue;
		if (fatal_index(d->sig) < 0)
			break;
		for (at++; at < c.nr && !c.frames[at].interrupted; at++)
			;
		if (at >= c.nr)
			break;
		found = user_frame(chain_own_from(w, crash->chain, at));
		*l = d;
	}
	return found;
}

/*
 * The event of another process that sent the fatal signal; NULL: the kernel or itself, or unknown.
 */
static const struct life *sent_by_other(const struct why *w, const struct life *l)
{
	const struct fmt_task *task = history_task(w->a.history, l->tid, l->ns);

	for (const struct life *s = l; l->code <= 0 && s-- > why_life(w, 0);) {
		const struct fmt_task *sender;

		if (s->kind != LIFE_SEND || s->sig != l->sig ||
		    (s->tid != l->tid && !(task && s->tid == task->pid)))
			continue;
		sender = history_task(w->a.history, s->other, s->ns);
		return s->other == l->tid || (task && sender && task->pid == sender->pid) ? NULL
											  : s;
	}
	return NULL;
}

/* Prints the verdict; returns the signal of the original fault. */
static const struct life *say_crash(const struct why *w, struct finding *f, const struct life *l)
{
	const struct life *first = l;
	const struct chain_frame *own = first_fault(w, &first);
	const struct life *sent = sent_by_other(w, first);
	const struct chain_frame *last = user_frame(chain_own(w, l->chain));
	struct text *t = &f->verdict;

	text_fmt(t, first == l || sent ? " was killed by %s" : " crashed with %s",
		 fatal[fatal_index(first->sig)].name);
	if (sent) {
		why_phrase(w, t, ", sent by {task},", SAY_TASK(sent->other, sent->ns));
		f->culprit_tid = sent->other;
	}
	if (own) {
		why_phrase(w, t, " in {function}", SAY_FUNCTION(own));
		why_function(own, &f->function);
	}
	if (first == l)
		return l;
	t = finding_line(f, "handler");
	text_fmt(t, "its signal handler was then killed by %s", fatal[fatal_index(l->sig)].name);
	if (last)
		why_phrase(w, t, " in {function}", SAY_FUNCTION(last));
	text_char(t, '\n');
	return first;
}

static int find_crash(struct why *w, uint32_t thread, struct finding *f)
{
	const struct life *l = last_crash(w), *first = l;
	const struct fmt_task *task;
	int i = l ? fatal_index(l->sig) : -1;
	struct text *t = &f->verdict;

	if (!l)
		return w->cause.is_crash ? find_told_crash(w, f) : 0;
	task = history_task(w->a.history, l->tid, l->ns);
	/* Unrelated crashes rank below losses of the thread that requested the dump. */
	f->score = is_related(w, l->tid) ? 1e6 : 200;
	f->rank = is_related(w, l->tid) ? RANK_CRASH : RANK_OTHERS;
	f->victim = schedule_find(w->a.sched, l->tid);
	f->victim_tid = l->tid;
	f->culprit_tid = l->tid;
	f->sure = SURE_CERTAIN;
	why_phrase(w, t, "{task}", SAY_TASK(l->tid, l->ns));
	if (task && task->pid != l->tid)
		why_phrase(w, t, " of {task}", SAY_TASK(task->pid, l->ns));
	if (l->kind == LIFE_OOM)
		text_str(t, " was killed by the OOM killer");
	else
		first = say_crash(w, f, l);
	if (!l->of_trigger)
		why_phrase(w, t, ", {time} before the trigger", SAY_TIME(w->end_ns - l->ns));
	if (l->kind == LIFE_OOM)
		why_say_memory(w, l->tid, l->ns, t);
	if (i >= 0)
		say_signal(w, f, first, fatal[fatal_index(first->sig)].what);
	if (l->of_trigger && w->cause.stack.b.len)
		text_fmt(finding_line(f, "stack"), "%s\n", cause_text(&w->cause.stack));
	else
		say_stack(w, f, l->chain);
	if (!l->chain)
		f->more = "where: --channel 'crash:signal:signal_deliver[sig==11];stack=fp'";
	return 0;
}

static bool can_crash(const struct why *w)
{
	return w->recorded[LIFE_DELIVER] || w->recorded[LIFE_SEND] || w->recorded[LIFE_OOM] ||
	       w->cause.is_crash || last_crash(w);
}

const struct detector detect_crash = {.name = "crash", .find = find_crash, .can = can_crash};

/* ---- process storms ---- */

/*
 * Minimum rate of processes started by one thread, per second. Each costs about a millisecond, so
 * this is a considerable part of a CPU. A shell script that only starts programs reaches about 150.
 */
#define STORM_RATE 250.0

struct forker {
	uint32_t tid;
	unsigned nr;
};

static unsigned forks_between(const struct why *w, uint64_t from_ns, uint64_t to_ns,
			      struct forker *top)
{
	struct forker list[64];
	unsigned nr = 0, total = 0, k;

	*top = (struct forker){0};
	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);

		if (l->kind != LIFE_FORK || l->is_thread || l->ns < from_ns || l->ns >= to_ns)
			continue;
		total++;
		for (k = 0; k < nr && list[k].tid != l->tid; k++)
			;
		if (k == sizeof(list) / sizeof(list[0]))
			continue;
		if (k == nr)
			list[nr++] = (struct forker){.tid = l->tid};
		list[k].nr++;
		if (list[k].nr > top->nr)
			*top = list[k];
	}
	/* Prefers the thread that requested the dump if it exceeds the rate, too. */
	for (k = 0; k < nr && w->asked != NO_THREAD; k++)
		if (list[k].tid == schedule_thread(w->a.sched, w->asked)->tid &&
		    why_ms(to_ns - from_ns) * STORM_RATE < 1e3 * list[k].nr)
			*top = list[k];
	return total;
}

/* The CPU time of the processes that it started, and the name of the last one. */
static uint64_t children_cost(const struct why *w, uint32_t tid, uint64_t from_ns,
			      const char **name)
{
	uint64_t ns = 0;

	*name = NULL;
	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);
		uint32_t thread;
		struct sums s;

		if (l->kind != LIFE_FORK || l->is_thread || l->tid != tid || l->ns < from_ns)
			continue;
		thread = schedule_find(w->a.sched, l->other);
		if (thread == NO_THREAD)
			continue;
		sums_of(w, thread, from_ns, w->end_ns, &s);
		ns += s.ns[SPAN_RUN];
		*name = schedule_thread(w->a.sched, thread)->comm;
		/* Ignores the tool that requested the dump. */
		if (*name && !strncmp(*name, "ringback", 8))
			*name = NULL;
	}
	return ns;
}

static const char *usual_child(const struct why *w, uint32_t tid, uint64_t from_ns)
{
	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);
		uint32_t thread;

		if (l->kind != LIFE_FORK || l->tid != tid || l->ns < from_ns)
			continue;
		thread = schedule_find(w->a.sched, l->other);
		if (thread != NO_THREAD)
			return schedule_thread(w->a.sched, thread)->comm;
	}
	return NULL;
}

static int find_forks(struct why *w, uint32_t thread, struct finding *f)
{
	uint64_t from = w->life_ns > w->focus_ns ? w->life_ns : w->focus_ns, cost;
	double seconds = why_ms(w->end_ns - from) / 1e3, rate, before;
	struct forker top, old;
	const char *name;
	unsigned total, nr_before;
	struct text *t = &f->verdict;
	struct sums s = {0};

	if (w->end_ns < from + 100 * MS)
		return 0;
	total = forks_between(w, from, w->end_ns, &top);
	rate = top.nr / seconds;
	if (rate < STORM_RATE || 3 * top.nr < total)
		return 0;
	cost = children_cost(w, top.tid, from, &name);
	if (!name)
		name = usual_child(w, top.tid, from);
	f->culprit = schedule_find(w->a.sched, top.tid);
	f->culprit_tid = top.tid;
	f->victim_tid = 0;
	if (f->culprit != NO_THREAD)
		sums_of(w, f->culprit, from, w->end_ns, &s);
	f->score = (why_ms(cost) + why_ms(s.ns[SPAN_RUN])) * 1.5;
	f->sure = SURE_CERTAIN;
	why_phrase(w, t, "fork storm: {task} started {nr} process{es} in {time}, ",
		   SAY_TASK(top.tid, w->end_ns), SAY_NR(top.nr), SAY_TIME(w->end_ns - from));
	text_fmt(t, "%.0f per second", rate);
	if (name)
		why_phrase(w, t, ": {text}", SAY_TEXT(name));
	finding_say(w, f, "cost",
		    "the processes ran {time} on all CPUs, their parent {time}; {nr} process{es} "
		    "started "
		    "in all",
		    SAY_TIME(cost), SAY_TIME(s.ns[SPAN_RUN]), SAY_NR(total));
	if (w->life_ns + 100 * MS < w->focus_ns && w->from_ns + 100 * MS < w->focus_ns) {
		uint64_t begin = w->life_ns > w->from_ns ? w->life_ns : w->from_ns;

		nr_before = forks_between(w, begin, w->focus_ns, &old);
		before = nr_before / (why_ms(w->focus_ns - begin) / 1e3);
		text_fmt(finding_line(f, "before"), "%.0f processes per second\n", before);
	}
	return 0;
}

static bool can_forks(const struct why *w)
{
	return w->recorded[LIFE_FORK];
}

const struct detector detect_forks = {.name = "fork-storm", .find = find_forks, .can = can_forks};

/* ---- memory ---- */

static bool can_sample(const struct why *w)
{
	return w->has_samples && w->has_names && schedule_has_switches(w->a.sched);
}

static void say_share(struct finding *f, const struct busy *b, unsigned hits, const char *what)
{
	text_fmt(finding_line(f, "samples"), "%u of %u were in %s\n", hits, b->nr, what);
}

static void say_own(const struct busy *b, struct finding *f)
{

	if (!b->hits || b->function.kernel)
		return;
	why_function(&b->function, &f->function);
	finding_say(NULL, f, "samples", "{nr} of {nr} were in calls from {function}",
		    SAY_NR(b->hits), SAY_NR(b->nr), SAY_FUNCTION(&b->function));
}

/* Samples of a thread in the kernel's memory reclaim: allocations pay for it, and the reclaimed
 * pages are often needed again soon. 3 samples are 30 ms at 99 Hz. */
static int find_reclaim(struct why *w, uint32_t thread, struct finding *f)
{
	bool asked = thread == w->asked;
	struct sums s;
	struct busy b;
	struct text *t = &f->verdict;
	double share;

	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	if (b.in[IN_RECLAIM] < (asked ? 3 : 10) || b.in[IN_RECLAIM] * (asked ? 20 : 5) < b.nr)
		return 0;
	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	share = (double)b.in[IN_RECLAIM] / b.nr;
	f->score = (why_ms(s.ns[SPAN_RUN]) * share + why_ms(s.ns[SPAN_BLOCKED])) * 1.5;
	f->culprit = thread;
	f->sure = share > 0.15 ? SURE_CERTAIN : SURE_FAIRLY;
	why_phrase(
		w, t,
		"memory pressure: {thread} spent {percent} of its running time in direct reclaim",
		SAY_THREAD(thread), SAY_PERCENT(share));
	if (s.ns[SPAN_BLOCKED] > MS)
		why_phrase(w, t, " and was blocked {time} of the last {time}",
			   SAY_TIME(s.ns[SPAN_BLOCKED]), SAY_TIME(why_focus_time(w)));
	why_say_full_memory(w, thread, t);
	say_share(f, &b, b.in[IN_RECLAIM],
		  "memory reclaim: its control group is at its limit, or the machine is full");
	if (b.in[IN_READ_BACK])
		say_share(f, &b, b.in[IN_READ_BACK], "faults that read pages from a disk");
	say_own(&b, f);
	finding_say(w, f, "time",
		    "it ran {time}, was blocked {time} in {nr} wait{s}, longest {time}",
		    SAY_TIME(s.ns[SPAN_RUN]), SAY_TIME(s.ns[SPAN_BLOCKED]),
		    SAY_NR(s.nr[SPAN_BLOCKED]), SAY_TIME(s.longest_ns[SPAN_BLOCKED]));
	if (!w->counted[COUNT_RECLAIM])
		f->more = "how often, and how much was freed: --preset mem";
	return 0;
}

const struct detector detect_reclaim = {
	.name = "memory-pressure", .per_thread = true, .find = find_reclaim, .can = can_sample};

/* The last fork by a thread of the process. */
static const struct life *last_fork(const struct why *w, uint32_t pid)
{
	const struct life *found = NULL;

	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);
		const struct fmt_task *t;

		if (l->kind != LIFE_FORK || l->is_thread || l->ns > w->end_ns)
			continue;
		t = history_task(w->a.history, l->tid, l->ns);
		if (!t || t->pid != pid)
			continue;
		t = history_task(w->a.history, l->other, l->ns + 50 * MS);
		/* Ignores the tool that requested the dump. */
		if (w->a.m->trigger.pid != l->other)
			found = l;
	}
	return found;
}

static int find_copies(struct why *w, uint32_t thread, struct finding *f)
{
	bool asked = thread == w->asked;
	const struct life *fork;
	struct sums s;
	struct busy b;
	struct text *t = &f->verdict;
	double share;

	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	if (b.in[IN_COPY] < (asked ? 5 : 20) || b.in[IN_COPY] * (asked ? 5 : 3) < b.nr)
		return 0;
	fork = last_fork(w, schedule_thread(w->a.sched, thread)->pid);
	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	share = (double)(b.in[IN_FAULT] > b.in[IN_COPY] ? b.in[IN_FAULT] : b.in[IN_COPY]) / b.nr;
	f->score = why_ms(s.ns[SPAN_RUN]) * share * 1.5;
	f->culprit = thread;
	f->sure = fork ? SURE_CERTAIN : SURE_FAIRLY;
	why_phrase(
		w, t,
		"page faults after fork: {thread} spent {percent} of its running time on faults, "
		"copying pages that it shares",
		SAY_THREAD(thread), SAY_PERCENT(share));
	if (fork)
		why_phrase(w, t, " with {task}", SAY_TASK(fork->other, w->end_ns));
	say_share(f, &b, b.in[IN_FAULT], "page faults");
	say_share(f, &b, b.in[IN_COPY], "copies of shared pages on their first write");
	say_own(&b, f);
	if (fork)
		finding_say(w, f, "fork", "the last {time} before the trigger",
			    SAY_TIME(w->end_ns - fork->ns));
	if (!w->counted[COUNT_FAULTS])
		f->more = "how many faults: -e page-faults/period=64/ or --preset mem";
	return 0;
}

const struct detector detect_copies = {
	.name = "page-fault-storm", .per_thread = true, .find = find_copies, .can = can_sample};

/* Page faults other than copies: memory that is used for the first time, or again after reclaim. */
static int find_faults(struct why *w, uint32_t thread, struct finding *f)
{
	struct sums s;
	struct busy b;

	if (thread != w->asked)
		return 0;
	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	if (b.in[IN_FAULT] < 10 || 2 * b.in[IN_FAULT] < b.nr || b.in[IN_COPY] * 5 >= b.nr ||
	    b.in[IN_RECLAIM] * 20 >= b.nr)
		return 0;
	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	f->score = why_ms(s.ns[SPAN_RUN]) * b.in[IN_FAULT] / b.nr;
	f->culprit = thread;
	f->sure = SURE_FAIRLY;
	why_phrase(w, &f->verdict, "{thread} spent {percent} of its running time on page faults",
		   SAY_THREAD(thread), SAY_PERCENT((double)b.in[IN_FAULT] / b.nr));
	say_share(f, &b, b.in[IN_FAULT], "page faults");
	say_own(&b, f);
	return 0;
}

const struct detector detect_faults = {
	.name = "page-faults", .per_thread = true, .find = find_faults, .can = can_sample};
