// SPDX-License-Identifier: MIT
/*
 * Where the time of a stretch went: follows each wait to the thread that ended it and what that
 * thread did meanwhile, until nothing else explains the time (why_path.c), adds up the time of each
 * thread by what it did, and tells the largest share and the way to it.
 */
#include "dump/view/why/why_account.h"

#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "dump/view/model/thread_states.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

/* A share with less than 1/SMALL of the time gets no mention. */
#define SMALL	  20
#define MAX_SHOWN 4
#define MAX_CHAIN 3
/* Longer routes are shortened in the sentence. */
#define MAX_HOPS  3
#define MAX_ROUTE (PATH_MAX_DEPTH + 1)
/* A culprit with less of the time is one of several. */
#define MOST 0.6
/* Many short waits for threads that each have less are not explained by one of them. */
#define LEAST 0.2

/* ---- words ---- */

/* The stop signal that the thread or its process got last before the end of the wait. */
static const struct life *stop_of(const struct why *w, uint32_t thread, uint64_t ns)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	const struct life *found = NULL;

	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);

		if (l->kind == LIFE_SEND && l->sig >= SIGSTOP && l->sig <= SIGTTOU &&
		    (l->tid == t->tid || l->tid == t->pid) && l->ns <= ns)
			found = l;
	}
	return found;
}

void why_put_where(const struct why *w, uint32_t chain, struct text *t)
{
	const char *syscall = chain_syscall(w, chain);
	struct chain c = call_chains_get(w->a.chains, chain);
	const struct chain_frame *own = NULL;

	for (size_t i = 0; i < c.nr && !own; i++)
		if (why_is_caller(&c.frames[i]))
			own = &c.frames[i];
	/* That it is a futex is said where it matters. */
	if (syscall && !strcmp(syscall, "futex"))
		syscall = NULL;
	if (syscall)
		why_phrase(w, t, " in {text}()", SAY_TEXT(syscall));
	if (own)
		why_phrase(w, t, "{text} {function}", SAY_TEXT(syscall ? ", called by" : ", in"),
			   SAY_FUNCTION(own));
}

/* "was stopped by gdb (12) (SIGSTOP) for 812 ms" */
static void put_stopped(const struct why *w, const struct time_share *s, struct text *t)
{
	const struct piece *p = &s->longest;
	const struct span *span = schedule_at(w->a.sched, s->thread, p->to_ns - 1);
	const struct life *l;
	char name[32];

	if (s->class == WAIT_FREEZER || s->class == WAIT_DEBUGGER) {
		bool frozen = s->class == WAIT_FREEZER;

		why_phrase(w, t, "was {text} for {time}",
			   SAY_TEXT(frozen ? "frozen by the cgroup freezer"
					   : "stopped by a debugger (ptrace)"),
			   SAY_TIME(s->ns));
		if (span && span->by != NO_THREAD && span->by && !(span->flags & SPAN_HARDIRQ))
			why_phrase(w, t, ", until {thread} {text} it", SAY_THREAD(span->by),
				   SAY_TEXT(frozen ? "thawed" : "resumed"));
		return;
	}
	text_str(t, span && span->flags & SPAN_OPEN ? "is stopped" : "was stopped");
	l = stop_of(w, s->thread, p->to_ns);
	if (l)
		why_phrase(w, t, " by {task} ({text})", SAY_TASK(l->other, l->ns),
			   SAY_TEXT(signame(l->sig, name, sizeof(name))));
	why_phrase(w, t, " for {time}", SAY_TIME(s->ns));
}

/* ---- the finding ---- */

/* All that the sentences need. */
struct told_wait {
	const struct stretch *s;
	const struct account *a;
	const struct time_share *main; /* of the culprit */
	const uint32_t *route;	       /* from the victim to the culprit, main->longest.depth + 1 */
	const struct span *wait;       /* of the victim, that led to the culprit; NULL: none */
	enum wait_class classes[MAX_ROUTE]; /* what each thread of the route waited for */
	uint64_t hop_ns[MAX_ROUTE];	    /* and how long, for the next one */
	struct busy busy;
	struct rivals rivals;
	uint32_t
		deadlock; /* a thread of the route, holds what the culprit waits for; or NO_THREAD */
	bool wakeup_unknown; /* the culprit may have waited for the CPU that rivals[0] had */
	const char *limit;   /* the kind, where a setting of the thread explains its wait */
};

static uint64_t waited(const struct told_wait *k)
{
	if (!k->wait || k->s->many || k->s->whole)
		return k->a->by_others_ns;
	return k->s->to_ns - k->s->from_ns;
}

/* The time of the main share, "600 ms of the 812 ms that it took" if that is the victim's. */
static void put_time(const struct why *w, const struct told_wait *k, struct text *t)
{
	why_phrase(w, t, " {time}", SAY_TIME(k->main->ns));
	if (!k->main->longest.depth && (k->s->whole || k->s->many))
		why_phrase(w, t, " of the {text}{time}{text}", SAY_TEXT(k->s->whole ? "" : "last "),
			   SAY_TIME(k->s->to_ns - k->s->from_ns),
			   SAY_TEXT(k->s->whole ? " that it took" : ""));
}

/* " in mlock(), called by f()" */
static void put_busy(const struct why *w, const struct busy *b, struct text *t)
{
	text_str(t, 2 * b->hits < b->nr	       ? ", most often in"
		    : 10 * b->hits < 9 * b->nr ? ", mostly in"
					       : " in");
	if (b->syscall && 2 * b->syscall_hits > b->nr)
		why_phrase(w, t, " {text}(), called by", SAY_TEXT(b->syscall));
	why_phrase(w, t, " {function}", SAY_FUNCTION(&b->function));
}

/* A setting, or what is not known of the wake-up, makes the sleep longer than it was meant to be. */
static void put_own_sleep(const struct why *w, struct told_wait *k, struct text *t)
{
	uint32_t thread = k->main->thread;

	if (k->wakeup_unknown) {
		text_str(t, "; its wake-up is not recorded, and ");
		why_name_rival(w, &k->rivals.top[0], why_prio(w, thread, k->s->to_ns), t);
		why_phrase(w, t, " had CPU {nr} for {time} of that time", SAY_NR(k->rivals.cpu),
			   SAY_TIME(k->rivals.top[0].ns));
		k->limit = "cpu-contention";
	} else if (why_slack_ns(w, thread)) {
		why_phrase(w, t, "; its timer slack is {time}: timers may end that much later",
			   SAY_TIME(why_slack_ns(w, thread)));
		k->limit = "timer-slack";
	}
}

/* " for a lock in f()": what a sleeping thread waited for, and where. */
static void put_asleep(const struct why *w, struct told_wait *k, struct text *t)
{
	const struct time_share *m = k->main;
	const struct thread_state *state =
		thread_states_find(w->states, schedule_thread(w->a.sched, m->thread)->tid);

	if (k->deadlock == NO_THREAD && m->class != WAIT_UNKNOWN && m->class != WAIT_OWN_SLEEP)
		why_phrase(w, t, " {text}", SAY_TEXT(wait_words(m->class)->what));
	why_put_where(w, m->longest.chain, t);
	if (k->deadlock == m->thread)
		text_str(t, ", for a lock that it holds itself");
	else if (k->deadlock != NO_THREAD)
		why_phrase(w, t, ", for a lock held by {thread}", SAY_THREAD(k->deadlock));
	else if (m->kind == LOST_OPEN && state && *state->remote)
		why_phrase(w, t, "; {text} has not answered", SAY_TEXT(state->remote));
	if (m->kind == LOST_BLOCKED && (m->class == WAIT_DISK || m->class == WAIT_FSYNC))
		why_say_disk(w, &m->longest, k->s->from_ns, k->s->to_ns, t);
	if (m->class == WAIT_OWN_SLEEP)
		put_own_sleep(w, k, t);
}

/* "was busy 600 ms in f()", "waited for a CPU 20 ms: x (12) had CPU 1" */
static void put_did(const struct why *w, struct told_wait *k, struct text *t)
{
	const struct time_share *m = k->main;
	static const char *const did[NR_LOST_KINDS] = {
		[LOST_RUN] = "was busy",	[LOST_READY] = "waited for a CPU",
		[LOST_BLOCKED] = "was blocked", [LOST_IDLE] = "waited",
		[LOST_OPEN] = "waited",		[LOST_UNKNOWN] = "did what is not recorded for",
	};

	if (m->kind == LOST_STOPPED) {
		put_stopped(w, m, t);
		return;
	}
	if (lost_is_asleep(m->kind) && m->class == WAIT_OWN_SLEEP)
		text_str(t, "slept by its own choice");
	else if (lost_is_asleep(m->kind) && m->kind != LOST_BLOCKED && m->class == WAIT_UNKNOWN)
		text_str(t, "slept");
	else
		text_str(t, did[m->kind]);
	put_time(w, k, t);
	if (m->kind == LOST_RUN && k->busy.hits)
		put_busy(w, &k->busy, t);
	if (m->kind == LOST_READY && k->rivals.nr) {
		text_str(t, ": ");
		why_name_rival(w, &k->rivals.top[0], why_prio(w, m->thread, k->s->to_ns), t);
		why_phrase(w, t, " had CPU {nr}", SAY_NR(k->rivals.cpu));
		k->limit = why_say_limits(w, m->thread, &k->rivals, t);
	}
	if (lost_is_asleep(m->kind))
		put_asleep(w, k, t);
}

/* "a (1) waited 700 ms for a lock held by b (2), which waited for c (3), which was busy
 * 690 ms in f()" */
static void say_verdict(const struct why *w, struct told_wait *k, struct text *t)
{
	uint64_t all_ns = account_total(w, k->a, k->main->thread, true);
	unsigned depth = k->main->longest.depth;

	if (k->deadlock != NO_THREAD)
		text_str(t, "deadlock: ");
	why_phrase(w, t, "{thread} ", SAY_THREAD(k->route[0]));
	if (depth)
		why_phrase(w, t, "waited {time} {text}{thread}", SAY_TIME(waited(k)),
			   SAY_TEXT(wait_words(k->classes[0])->whose), SAY_THREAD(k->route[1]));
	if (depth && account_is_same(w, k->route[1], k->main->thread) &&
	    2 * all_ns > 3 * account_total(w, k->a, k->main->thread, false)) {
		why_phrase(w, t, " and other threads of its process, which took {time} of it",
			   SAY_TIME(all_ns));
		return;
	}
	for (unsigned i = 1; i < depth; i++) {
		/* Of a long chain the first and the last thread. */
		if (depth > MAX_HOPS && i == 1)
			why_phrase(w, t, ", which waited, through {nr} others,", SAY_NR(depth - 2));
		else if (depth <= MAX_HOPS)
			why_phrase(w, t, ", which waited {time}", SAY_TIME(k->hop_ns[i]));
		if (depth <= MAX_HOPS || i + 1 == depth)
			why_phrase(w, t, " {text}{thread}",
				   SAY_TEXT(wait_words(k->classes[i])->whose),
				   SAY_THREAD(k->route[i + 1]));
	}
	text_str(t, depth ? ", which " : "");
	put_did(w, k, t);
}

/* How it is known that `s` was a wait for the thread `next`. */
static const char *how_known(const struct why *w, const struct span *s, uint32_t next,
			     enum path_link link)
{
	if (path_holder(w, s) == next)
		return "; {thread} holds it";
	if (path_peer(w, s) == next)
		return "; {thread} has the other end";
	if (s->flags & SPAN_OPEN || (link == LINK_USUAL && s->by != next))
		return "; {thread} usually ends such a wait";
	return "; {thread} ended the wait";
}

/* A line for each thread on the way to the culprit. */
static void say_chain(const struct why *w, struct finding *f, const struct told_wait *k)
{
	const struct piece *p = &k->main->longest;

	for (unsigned i = 0; i < p->depth; i++) {
		const struct span *s = schedule_at(w->a.sched, k->route[i], p->to_ns - 1);
		struct text *t;

		if (!s || (i >= MAX_CHAIN - 1 && i + 1 < p->depth))
			continue;
		t = finding_line(f, "chain");
		why_phrase(w, t, "{thread} waited {time} {text}", SAY_THREAD(k->route[i]),
			   SAY_TIME(k->hop_ns[i]),
			   SAY_TEXT(wait_words(why_class_of(w, s, k->route[i + 1]))->what));
		why_put_where(w, s->chain, t);
		why_phrase(w, t, how_known(w, s, k->route[i + 1], account_link(k->main)),
			   SAY_THREAD(k->route[i + 1]));
		text_char(t, '\n');
	}
}

/* "b (2) ran 600 ms (75 %), a (1) waited for a CPU 100 ms (12 %)" */
static void say_shares(const struct why *w, struct finding *f, const struct told_wait *k)
{
	static const char *const did[NR_LOST_KINDS] = {
		[LOST_RUN] = "ran",
		[LOST_READY] = "waited for a CPU",
		[LOST_BLOCKED] = "was blocked",
		[LOST_STOPPED] = "was stopped",
		[LOST_IDLE] = "slept",
		[LOST_OPEN] = "slept",
		[LOST_UNKNOWN] = "unknown",
	};
	struct text *t;
	size_t nr = 0;

	if (k->a->list[0].ns * SMALL > k->a->ns * (SMALL - 1) ||
	    k->a->list[0].ns * SMALL < k->a->ns)
		return;
	t = finding_line(f, "time");
	for (size_t i = 0; i < k->a->nr && nr < MAX_SHOWN; i++) {
		const struct time_share *s = &k->a->list[i];

		if (s->ns * SMALL < k->a->ns)
			break;
		text_str(t, nr++ ? ", " : "");
		why_phrase(w, t, "{thread} {text} {time} ({percent})", SAY_THREAD(s->thread),
			   SAY_TEXT(did[s->kind]), SAY_TIME(s->ns),
			   SAY_PERCENT(why_ms(s->ns) / why_ms(k->a->ns)));
	}
	text_char(t, '\n');
}

static void say_usual(const struct why *w, struct finding *f, const struct stretch *s)
{
	if (s->whole)
		return;
	if (s->many)
		finding_say(w, f, "usual", "such waits took {time} in as much time before",
			    SAY_TIME(s->usual_ns));
	else if (s->nr_usual)
		finding_say(w, f, "usual",
			    "{text} of the {nr} other such wait{s} of {thread}{text} took at most "
			    "{time}",
			    SAY_TEXT(why_is_subject(w, s->thread) ? "half" : "90 %"),
			    SAY_NR(s->nr_usual), SAY_THREAD(s->thread),
			    SAY_TEXT(w->base ? ", here and in the baseline," : ""),
			    SAY_TIME(s->usual_ns));
}

static const char *kind_of(const struct told_wait *k)
{
	const struct time_share *m = k->main;
	const char *by_end = wait_words(m->class)->kind;
	bool alone = !m->longest.depth;

	for (unsigned i = 0; i < m->longest.depth; i++)
		if (wait_words(k->classes[i])->kind)
			return wait_words(k->classes[i])->kind;
	switch (m->kind) {
	case LOST_RUN:
		return alone ? "busy" : "long-task";
	case LOST_READY:
		return "cpu-contention";
	case LOST_STOPPED:
		if (m->class == WAIT_FREEZER || m->class == WAIT_DEBUGGER)
			return by_end;
		return alone ? "stopped" : "dead-peer";
	default:
		return by_end ? by_end : m->kind == LOST_BLOCKED ? "blocked" : "no-answer";
	}
}

static bool is_most(const struct why *w, const struct told_wait *k)
{
	return why_ms(account_total(w, k->a, k->main->thread, true)) >= MOST * why_ms(k->a->ns);
}

/* It took as long as the reason says, and has one cause. */
static bool is_hinted(const struct why *w, const struct told_wait *k)
{
	return k->s->hinted && is_most(w, k);
}

/* The certainty: that of the least certain step. */
static void set_sure(const struct why *w, struct finding *f, const struct told_wait *k)
{
	const struct time_share *m = k->main;
	enum path_link link = account_link(m);

	f->sure = SURE_CERTAIN;
	f->because = "each step is recorded";
	if (link == LINK_SOFTIRQ)
		finding_doubt(f, SURE_FAIRLY, "inferred: a wake-up through the network stack");
	if (link == LINK_AGAIN)
		finding_doubt(f, SURE_FAIRLY, "inferred: a timer interrupted the wait");
	if (link == LINK_PEER)
		finding_doubt(f, SURE_FAIRLY,
			      "inferred: it had the other end of what was waited for");
	/* A stopped peer that always ended this wait explains enough. */
	if (link == LINK_USUAL && m->kind == LOST_STOPPED)
		f->because = "its usual peer was stopped";
	else if (link == LINK_USUAL)
		finding_doubt(f, SURE_GUESS,
			      "inferred: the thread that usually ends this wait did not");
	if (m->kind == LOST_UNKNOWN)
		finding_doubt(f, SURE_GUESS, "what the last thread did is not recorded");
	if (lost_is_asleep(m->kind) && m->kind != LOST_STOPPED && m->class == WAIT_UNKNOWN)
		finding_doubt(f, SURE_FAIRLY, "what the last thread waited for is not recorded");
	if (lost_is_asleep(m->kind) && m->class == WAIT_OWN_SLEEP && !m->longest.depth &&
	    !why_is_subject(w, m->thread))
		finding_doubt(f, SURE_FAIRLY, "nothing links this sleep to the request");
	if (lost_is_asleep(m->kind) && m->kind != LOST_STOPPED && m->longest.depth &&
	    wait_words(m->class)->idle && m->class != WAIT_OWN_SLEEP)
		finding_doubt(f, SURE_FAIRLY, "why the last thread slept is not recorded");
	if (m->kind == LOST_READY && (!k->rivals.nr || 2 * k->rivals.idle_ns > k->rivals.ns))
		finding_doubt(f, SURE_GUESS, "switches of an idle CPU are missing");
	if (!is_most(w, k))
		finding_doubt(f, SURE_FAIRLY, "the largest of several shares");
	if (k->wakeup_unknown)
		finding_doubt(f, SURE_FAIRLY, "inferred: the wake-up is not recorded");
	if (is_hinted(w, k) && !why_is_subject(w, k->s->thread))
		finding_doubt(f, SURE_FAIRLY, "inferred from the time in the trigger's reason");
}

/* How much the main share says about the reason of a wait: a thread without work is no reason. Of
 * threads that the dump is not about, only what the records leave no doubt about. */
static double weight_of(const struct why *w, const struct told_wait *k)
{
	const struct time_share *m = k->main;
	bool subject = why_is_subject(w, k->s->thread), alone = !m->longest.depth, idle;

	idle = lost_is_asleep(m->kind) && m->kind != LOST_STOPPED && m->kind != LOST_BLOCKED &&
	       wait_words(m->class)->idle && m->class != WAIT_OWN_SLEEP;
	if (m->kind == LOST_UNKNOWN)
		return subject ? 0.1 : 0;
	/* why_cpu.c tells of others that wait for a CPU. */
	if (m->kind == LOST_READY)
		return alone && !subject ? 0 : 0.6;
	/* Those that wait for a stopped thread say more. */
	if (m->kind == LOST_STOPPED)
		return alone ? 0.5 : 1;
	if (idle)
		return !subject ? 0 : alone ? 0.5 : 0.15;
	/* Without its stack, a wait may as well be for work to do. */
	if (!alone && !subject && k->classes[0] == WAIT_UNKNOWN)
		return 0;
	if (!lost_is_asleep(m->kind) || m->class != WAIT_OWN_SLEEP)
		return 1;
	if (why_slack_ns(w, m->thread))
		return 1;
	/* Its own decision, which nothing shows to be wrong. */
	return !alone ? 0.4 : subject ? 1 : 0.25;
}

/* The thread of the route that holds the lock that the last one waits for; NO_THREAD: none. */
static uint32_t deadlock_of(const struct why *w, const struct told_wait *k)
{
	const struct piece *q = &k->main->longest;
	const struct span *last = schedule_at(w->a.sched, q->thread, q->to_ns - 1);
	uint32_t holder = last && q->kind == LOST_OPEN ? path_holder(w, last) : NO_THREAD;

	for (unsigned i = 0; i <= q->depth; i++)
		if (k->route[i] == holder)
			return holder;
	return NO_THREAD;
}

/* How long each thread of the route waited for the next one. */
static void measure_hops(const struct time_path *p, struct told_wait *k)
{
	for (size_t n = 0; n < path_nr(p); n++) {
		const struct piece *q = path_piece(p, n);
		const uint32_t *route = path_route(p, q);

		for (unsigned i = 0; i < q->depth && i < k->main->longest.depth; i++) {
			if (route[i] != k->route[i] || route[i + 1] != k->route[i + 1])
				break;
			k->hop_ns[i] += q->to_ns - q->from_ns;
		}
	}
}

/* Some kernels do not record that an interrupt woke a thread while its CPU was idle. A sleep that
 * seems long then may have been a wait for the CPU: for what had it after the usual time. */
static void look_at_wakeup(const struct why *w, struct told_wait *k)
{
	const struct piece *q = &k->main->longest;
	const struct schedule_thread *t = schedule_thread(w->a.sched, q->thread);
	const struct span *s = schedule_at(w->a.sched, q->thread, q->to_ns - 1), *next;
	uint64_t from_ns;

	if (!s || k->main->class != WAIT_OWN_SLEEP || q->kind != LOST_IDLE || s->by != NO_THREAD ||
	    s->flags & (SPAN_OPEN | SPAN_CUT))
		return;
	next = s + 1;
	if (next == schedule_span(w->a.sched, t->first) + t->nr || next->state != SPAN_RUN)
		return;
	from_ns = s->from_ns + k->s->usual_ns;
	rivals_on(w, next->cpu, from_ns < s->to_ns ? from_ns : s->to_ns, s->to_ns, &k->rivals);
	k->wakeup_unknown = k->rivals.nr && 2 * k->rivals.top[0].ns > k->rivals.ns;
}

/* Fills `k` but for s and a; false: nothing explains the stretch. */
static bool look_closer(const struct why *w, const struct time_path *p, struct told_wait *k)
{
	const struct piece *q;

	k->main = account_main(w, k->a);
	if (!k->main)
		return false;
	q = &k->main->longest;
	k->route = path_route(p, q);
	for (unsigned i = 0; i < q->depth; i++) {
		const struct span *wait = schedule_at(w->a.sched, k->route[i], q->to_ns - 1);

		k->wait = i ? k->wait : wait;
		k->classes[i] = wait ? why_class_of(w, wait, k->route[i + 1]) : WAIT_UNKNOWN;
	}
	measure_hops(p, k);
	k->deadlock = deadlock_of(w, k);
	if (k->main->kind == LOST_RUN)
		busy_of(w, k->main->thread, 0, k->s->from_ns, k->s->to_ns, &k->busy);
	look_at_wakeup(w, k);
	if (k->main->kind == LOST_READY)
		rivals_of(w, k->main->thread, k->s->from_ns, k->s->to_ns, &k->rivals);
	return true;
}

/* What ended the sleeps of a thread that no other thread explains. */
static void say_end(const struct why *w, struct finding *f, uint32_t thread)
{
	const struct span *last = finding_sleeps(w, f, thread);

	if (!last || !path_woken_by_thread(w, last))
		return;
	f->culprit = last->by;
	why_phrase(w, &f->verdict, ", until {thread} woke it", SAY_THREAD(last->by));
}

static double score_of(const struct why *w, const struct told_wait *k)
{
	double share =
		why_ms(account_total(w, k->a, k->main->thread, true)) / (why_ms(k->a->ns) + 1e-6);
	double score = k->s->score * weight_of(w, k);

	/* A culprit of a small part explains little. */
	if (share >= MOST)
		return score;
	return k->s->many && share < LEAST ? 0 : score * share / MOST;
}

static void tell(const struct why *w, struct told_wait *k, struct finding *f)
{
	const struct time_share *m = k->main;

	f->from_ns = k->s->from_ns;
	f->to_ns = k->s->to_ns;
	f->hinted = is_hinted(w, k);
	f->culprit = m->kind == LOST_READY && k->rivals.nr ? k->rivals.top[0].thread : m->thread;
	set_sure(w, f, k);
	say_verdict(w, k, &f->verdict);
	f->kind = k->limit ? k->limit : k->deadlock != NO_THREAD ? "deadlock" : kind_of(k);
	say_chain(w, f, k);
	say_shares(w, f, k);
	if (m->kind == LOST_RUN)
		finding_busy(f, &k->busy, "samples");
	else if (m->kind == LOST_READY && k->rivals.nr)
		finding_rivals(w, f, &k->rivals);
	else if (lost_is_asleep(m->kind) && m->kind != LOST_STOPPED)
		finding_asleep(w, f, m->longest.chain, "where");
	if (!m->longest.depth && lost_is_asleep(m->kind) && m->class != WAIT_OWN_SLEEP)
		say_end(w, f, m->thread);
	say_usual(w, f, k->s);
	if ((k->wait && !k->wait->chain) || (lost_is_asleep(m->kind) && !m->longest.chain))
		f->more = "what it waited for: stacks of sleeping threads (--preset waits)";
}

/* Explains a stretch, and tells it if that says more than the finding so far. */
static int explain(const struct why *w, const struct stretch *s, struct account *a,
		   struct finding *f)
{
	struct time_path path = {0};
	struct told_wait k = {.s = s, .a = a};
	int rc = path_walk(w, s->thread, s->from_ns, s->to_ns, &path);
	double score;

	if (!rc) {
		account_stretch(w, s, &path, a);
		score = look_closer(w, &path, &k) ? score_of(w, &k) : 0;
		if (score > f->score) {
			f->verdict.b.len = f->lines.b.len = f->function.b.len = 0;
			f->more = NULL;
			f->score = score;
			tell(w, &k, f);
		}
	}
	path_free(&path);
	return rc;
}

static int find_wait(struct why *w, uint32_t thread, struct finding *f)
{
	struct account *a = malloc(sizeof(*a));
	struct stretch list[MAX_STRETCHES];
	size_t nr = stretches_of(w, thread, list);
	int rc = a ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < nr; i++)
		rc = explain(w, &list[i], a, f);
	free(a);
	return rc;
}

const struct detector detect_wait = {
	.name = "wait", .per_thread = true, .find = find_wait, .can = why_can_wake};

/* ---- the thread itself ---- */

void finding_busy(struct finding *f, const struct busy *b, const char *label)
{
	struct text *t;

	if (!b->hits)
		return;
	why_function(&b->function, &f->function);
	t = finding_line(f, label);
	why_phrase(NULL, t, "{nr} of {nr} in {function}", SAY_NR(b->hits), SAY_NR(b->nr),
		   SAY_FUNCTION(&b->function));
	if (b->syscall && 2 * b->syscall_hits > b->nr)
		why_phrase(NULL, t, ", {nr} in {text}()", SAY_NR(b->syscall_hits),
			   SAY_TEXT(b->syscall));
	text_char(t, '\n');
}

/* The thread that requested the dump was running all the time: its own work explains the time. */
static int find_busy(struct why *w, uint32_t thread, struct finding *f)
{
	struct sums s;
	struct busy b;

	if (thread != w->asked || why_interval(w))
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
	finding_busy(f, &b, "samples");
	return 0;
}

const struct detector detect_busy = {
	.name = "busy", .per_thread = true, .find = find_busy, .can = why_can_switch};
