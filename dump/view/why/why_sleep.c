// SPDX-License-Identifier: MIT
/*
 * Describes a sleep: where and why the thread slept, and what ended it. One call may sleep several
 * times, for example when a timer interrupts it to check for deadlocks: each sleep is a piece, and
 * what ended the last one ended the call.
 */
#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "dump/view/unwind/runtimes.h"
#include "dump/view/why/why_impl.h"

#include <signal.h>
#include <string.h>

/* Callers to print: the first shows the purpose, the others the context. */
#define MAX_CALLERS 3
/* Pieces shorter than 1/SMALL of a call's sleep are not printed; limit of those that are. */
#define SMALL	   20
#define MAX_PIECES 4
/* A signal is generated shortly before the wake-up that it causes. */
#define SIGNAL_NS 50000

/* ---- where ---- */

enum wait_class why_class_of(const struct why *w, const struct span *s, uint32_t ended_by)
{
	enum wait_class class = wait_class_of(w, s->chain);
	uint32_t pid = schedule_thread(w->a.sched, s->thread)->pid;
	bool same = ended_by != NO_THREAD && schedule_thread(w->a.sched, ended_by)->pid == pid;

	if (same && runtimes_lock(w->runtimes, pid) &&
	    (class == WAIT_FUTEX || class == WAIT_CONDITION || class == WAIT_LOCK))
		return WAIT_INTERPRETER;
	return class;
}

/* Functions that wait on behalf of their callers: system calls, and their wrappers in the C library
 * and in well-known libraries and servers. */
static const char *const wrappers[] = {
	"*epoll_*wait*",
	"*poll",
	"*ppoll*",
	"*select",
	"*select_impl",
	"*nanosleep*",
	"*usleep*",
	"sleep",
	"*_sleep",
	"*sleep_for*",
	"*sleep_until*",
	"*cond_*wait*",
	"*sem_*wait*",
	"*sema_*wait*",
	"*mutex*lock*",
	"*lll_*lock*",
	"*futex*",
	"*semaphore_p",
	"*Semaphore*",
	"WaitLatch*",
	"WaitEventSet*",
	"*rwlock*",
	"*Condition*wait*",
	"*condition_variable*wait*",
	"*park_*",
	"uv__io_poll",
	"aeApiPoll",
	"g_main_context_*",
	"pause",
	"*wait4*",
	"*waitpid*",
	"*syscall",
	"read",
	"__read*",
	"recv*",
	"__libc_recv*",
	"*accept*",
	"__clock_*",
	"__GI_*",
};

bool why_is_wrapper(const char *function)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
		if (str_glob(wrappers[i], function))
			return true;
	return false;
}

bool why_is_caller(const struct chain_frame *f)
{
	return !f->kernel && f->function && !why_is_common(f->image) &&
	       !why_is_wrapper(f->function);
}

static bool names_a_caller(const struct chain *c, size_t i)
{
	return why_is_caller(&c->frames[i]) && !(c->frames[i].inlined && i + 1 < c->nr);
}

const struct chain_frame *why_put_asleep(const struct why *w, uint32_t chain, struct text *t)
{
	const char *syscall = chain_syscall(w, chain);
	struct chain c = call_chains_get(w->a.chains, chain);
	const struct chain_frame *own = chain_own(w, chain), *first = NULL;
	unsigned nr = 0;

	if (syscall)
		why_phrase(w, t, " in {text}()", SAY_TEXT(syscall));
	for (size_t i = 0; i < c.nr && nr < MAX_CALLERS; i++) {
		if (!names_a_caller(&c, i))
			continue;
		text_str(t, nr++ ? " < " : ", called by ");
		why_function(&c.frames[i], t);
		first = first ? first : &c.frames[i];
	}
	if (nr || !own || !own->function || why_is_wrapper(own->function))
		return first;
	text_str(t, ", called by ");
	why_function(own, t);
	return own;
}

bool finding_asleep(const struct why *w, struct finding *f, uint32_t chain, const char *label)
{
	const struct chain_frame *own = chain_own(w, chain);
	struct text *t;

	if (!chain_syscall(w, chain) && !(own && own->function))
		return false;
	t = finding_line(f, label);
	text_str(t, "it slept");
	own = why_put_asleep(w, chain, t);
	if (own && !f->function.b.len)
		why_function(own, &f->function);
	text_str(t, "\n");
	return true;
}

/* ---- what ended it ---- */

const struct life *why_signal_at(const struct why *w, const struct span *s)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, s->thread);

	for (size_t i = 0; i < why_nr_life(w); i++) {
		const struct life *l = why_life(w, i);

		if (l->kind == LIFE_SEND && (l->tid == t->tid || l->tid == t->pid) &&
		    l->ns <= s->to_ns + SIGNAL_NS && l->ns + SIGNAL_NS >= s->to_ns)
			return l;
	}
	return NULL;
}

static void put_signal(const struct why *w, const struct life *l, struct text *t)
{
	char name[32];

	text_str(t, signame(l->sig, name, sizeof(name)));
	if (l->code == SI_TIMER || (l->sig == SIGALRM && l->code == SI_KERNEL)) {
		text_str(t, " of a timer");
	} else if (l->code <= 0) {
		why_phrase(w, t, " from {task}", SAY_TASK(l->other, l->ns));
	}
}

/* What ended a sleep: "postgres (1196) woke it", "a timer". */
static void put_end(const struct why *w, const struct span *s, struct text *t)
{
	const struct life *l = why_signal_at(w, s);

	if (l)
		put_signal(w, l, t);
	else if (s->by == NO_THREAD)
		text_str(t, "a wake-up that is not recorded");
	else if (chain_in(w, s->by_chain, IN_TIMER))
		text_str(t, "a timer");
	else if (!s->by || s->flags & SPAN_HARDIRQ)
		text_str(t, s->by_chain == CHAIN_NONE ? "a timer or a device" : "a device");
	else if (path_woken_by_thread(w, s) || why_is_kernel(w, s->by))
		why_who(w, s->by, t);
	else
		text_str(t, "the network or a timer");
}

static bool is_sleep(const struct span *s)
{
	return s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED || s->state == SPAN_STOPPED;
}

const struct span *finding_sleeps(const struct why *w, struct finding *f, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	const struct span *last = NULL;
	struct text *line = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t ns = overlap(s->from_ns, s->to_ns, w->focus_ns, w->end_ns);

		if (!is_sleep(s) || s->flags & SPAN_OPEN || ns * SMALL < why_focus_time(w))
			continue;
		last = s;
		if (nr++ >= MAX_PIECES)
			continue;
		line = line ? line : finding_line(f, "slept");
		text_str(line, nr > 1 ? ", then " : "");
		why_time(line, ns);
		text_str(line, " until ");
		put_end(w, s, line);
	}
	if (nr > MAX_PIECES) {
		text_fmt(line, ", then %zu more; the last until ", nr - MAX_PIECES);
		put_end(w, last, line);
	}
	if (line)
		text_str(line, "\n");
	return last;
}
