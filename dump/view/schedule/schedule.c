// SPDX-License-Identifier: MIT
/*
 * Turns the scheduler's events into spans; see schedule.h. Each thread has a current span; an event
 * closes it and opens the next. schedule_open.c sets up, schedule_query.c sorts and answers.
 */
#include "dump/view/schedule/schedule.h"

#include "dump/base/err.h"
#include "dump/base/sleepstack.h"
#include "dump/view/unwind/call_chains.h"
#include "dump/view/print/fields.h"
#include "dump/view/schedule/schedule_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bits of a task's state in sched_switch (include/linux/sched.h, TASK_REPORT). */
#define STATE_SLEEP   0x01
#define STATE_DISK    0x02
#define STATE_STOPPED 0x0c
#define STATE_ENDED   0x30
#define STATE_PREEMPT 0x100

/* Bits of common_flags (include/linux/trace_events.h). */
#define TRACE_HARDIRQ 0x08
#define TRACE_SOFTIRQ 0x10

/* ---- spans ---- */

/* A tid that reappears after its thread ended is another thread. */
static int find(struct schedule *s, uint32_t tid, uint32_t *out)
{
	uint32_t thread = schedule_find(s, tid);

	if (thread == NO_THREAD ||
	    (tid && live_of(s, thread)->known && live_of(s, thread)->now.state == SPAN_ENDED))
		return schedule_add_thread(s, tid, out);
	*out = thread;
	return 0;
}

/* Drops the older half; the window begins after it. */
static void forget_half(struct schedule *s)
{
	struct span *spans = (struct span *)s->spans.p;
	size_t nr = s->spans.len / sizeof(*spans), gone = nr / 2;

	for (size_t i = 0; i < gone; i++)
		if (spans[i].to_ns > s->from_ns)
			s->from_ns = spans[i].to_ns;
	memmove(spans, spans + gone, (nr - gone) * sizeof(*spans));
	s->spans.len = (nr - gone) * sizeof(*spans);
	s->was_cut = true;
}

static int emit(struct schedule *s, struct span span, uint64_t to_ns)
{
	if (s->spans.len >= SCHEDULE_MAX_SPANS * sizeof(span))
		forget_half(s);
	span.to_ns = to_ns;
	if (span.from_ns > to_ns)
		return 0;
	return buf_put(&s->spans, &span, sizeof(span));
}

/* Ends the current span of the thread. */
static int close_span(struct schedule *s, uint32_t thread, uint64_t ns, unsigned flags)
{
	struct live_thread *t = live_of(s, thread);

	t->last_ns = ns > t->last_ns ? ns : t->last_ns;
	if (!t->known)
		return 0;
	t->known = false;
	t->now.flags |= (uint8_t)flags;
	if (t->now.state == SPAN_READY && flags & SPAN_GUESSED)
		t->now.state = SPAN_UNKNOWN; /* it may have run in part of it */
	return emit(s, t->now, ns);
}

/* Begins no earlier than the last span ended: with missing events, times may overlap. */
static struct span *open_span(struct schedule *s, uint32_t thread, enum span_state state,
			      uint64_t ns, int32_t cpu)
{
	struct live_thread *t = live_of(s, thread);

	t->known = true;
	t->here_ns = ns;
	t->now = (struct span){.from_ns = ns > t->last_ns ? ns : t->last_ns,
			       .thread = thread,
			       .by = NO_THREAD,
			       .cpu = cpu,
			       .prio = -1,
			       .state = (uint8_t)state};
	return &t->now;
}

/* The first event of a thread implies its state before. */
static void assume_before(struct schedule *s, uint32_t thread, enum span_state state, uint64_t ns,
			  int32_t cpu)
{
	struct span *now;

	if (live_of(s, thread)->known || live_of(s, thread)->last_ns)
		return;
	now = open_span(s, thread, state, s->from_ns < ns ? s->from_ns : ns, cpu);
	now->flags = SPAN_CUT;
}

/* ---- events ---- */

struct sched_moment {
	uint64_t ns;
	int32_t cpu;
	uint32_t tid; /* of the running thread */
	uint32_t chain;
};

/*
 * A thread in state RUN has an event on another CPU: it left the old one at the latest when another
 * thread had an event there.
 */
static int leave_cpu(struct schedule *s, uint32_t thread, uint64_t ns)
{
	struct live_thread *t = live_of(s, thread);
	struct live_cpu *c;
	uint64_t until;

	if (!t->known || t->now.state != SPAN_RUN || t->now.cpu < 0 ||
	    (size_t)t->now.cpu >= s->nr_cpus)
		return 0;
	c = &s->cpus[t->now.cpu];
	if (c->current != thread) /* its CPU was a guess, too */
		return close_span(s, thread, t->now.from_ns, SPAN_GUESSED);
	until = c->stray != NO_THREAD ? c->stray_ns : c->last_ns;
	until = until < t->now.from_ns ? t->now.from_ns : until < ns ? until : ns;
	c->current = NO_THREAD;
	return close_span(s, thread, until, SPAN_GUESSED);
}

static bool was_woken_here(const struct live_thread *t, int32_t cpu)
{
	return t->known && t->now.state == SPAN_READY && !(t->now.flags & SPAN_PREEMPTED) &&
	       t->now.cpu == cpu;
}

/*
 * When a thread without a switch to it began to run here: at its first event here. An idle CPU runs
 * a woken thread at once, and some kernels do not trace that switch on some CPUs; then it began at
 * the wake-up. A preempted thread is different: its quota may be used up while the CPU is idle.
 */
static uint64_t began_here(const struct schedule *s, const struct live_cpu *c, uint32_t thread,
			   const struct sched_moment *o)
{
	const struct live_thread *t = live_of(s, thread);
	uint64_t heard = c->stray == thread ? c->stray_ns : o->ns, queued;

	if (c->current || !was_woken_here(t, o->cpu))
		return heard;
	queued = t->here_ns > c->since_ns ? t->here_ns : c->since_ns;
	return queued < heard ? queued : heard;
}

/* `thread` leaves the CPU, where it ran since `began`. */
static int end_run(struct schedule *s, struct live_cpu *c, uint32_t thread,
		   const struct sched_moment *o, int16_t prio, uint64_t began)
{
	struct live_thread *t = live_of(s, thread);
	uint32_t gone = c->current;
	bool from_idle = !gone && was_woken_here(t, o->cpu);
	struct span *now;
	int rc = 0;

	if (gone == thread) {
		t->now.prio = prio;
		t->now.chain = o->chain;
		return thread ? close_span(s, thread, o->ns, 0) : 0;
	}
	/* The switch from the previous thread is missing. */
	if (gone != NO_THREAD && gone && live_of(s, gone)->known &&
	    live_of(s, gone)->now.state == SPAN_RUN && live_of(s, gone)->now.cpu == o->cpu)
		rc = close_span(s, gone, began, SPAN_GUESSED);
	if (!rc && thread) {
		if (t->known && t->now.cpu != o->cpu)
			rc = leave_cpu(s, thread, began);
		if (gone == NO_THREAD && c->first_tid == t->pub.tid)
			assume_before(s, thread, SPAN_RUN, began, o->cpu);
		if (!rc && t->known && t->now.state != SPAN_RUN)
			rc = close_span(s, thread, began, from_idle ? 0 : SPAN_GUESSED);
		if (!rc && !t->known)
			open_span(s, thread, SPAN_RUN, began, o->cpu)->flags = SPAN_GUESSED;
		now = &t->now;
		now->cpu = o->cpu;
		now->prio = prio;
		now->chain = o->chain;
		rc = rc ? rc : close_span(s, thread, o->ns, 0);
	}
	return rc;
}

/* Adds a run of the idle task for this idle time of the CPU. */
static int end_idle(struct schedule *s, const struct live_cpu *c, int32_t cpu, uint64_t ns)
{
	struct span idle = {
		.from_ns = c->since_ns, .by = NO_THREAD, .cpu = cpu, .prio = -1, .state = SPAN_RUN};

	return c->current || !c->since_ns ? 0 : emit(s, idle, ns);
}

static enum span_state state_of(uint64_t prev_state)
{
	if (!prev_state || prev_state & STATE_PREEMPT)
		return SPAN_READY;
	if (prev_state & STATE_ENDED)
		return SPAN_ENDED;
	if (prev_state & STATE_STOPPED)
		return SPAN_STOPPED;
	return prev_state & STATE_DISK ? SPAN_BLOCKED : SPAN_SLEEP;
}

static int begin_run(struct schedule *s, uint32_t thread, const struct sched_moment *o,
		     int16_t prio)
{
	/* Without an earlier event, the previous state is unknown: the thread may be new. */
	int rc = leave_cpu(s, thread, o->ns);
	const struct span *now = &live_of(s, thread)->now;

	rc = rc ? rc : close_span(s, thread, o->ns, now->state == SPAN_READY ? 0 : SPAN_GUESSED);
	open_span(s, thread, SPAN_RUN, o->ns, o->cpu)->prio = prio;
	return rc;
}

/* Makes `thread` the current one of the CPU. */
static void occupy(struct live_cpu *c, uint32_t thread, uint64_t ns)
{
	*c = (struct live_cpu){.current = thread,
			       .since_ns = ns,
			       .last_ns = ns,
			       .stray = NO_THREAD,
			       .first_tid = UINT32_MAX};
}

/* The thread begins to wait for a CPU. */
static int begin_wait(struct schedule *s, uint32_t thread, uint64_t ns, const struct span *woken,
		      unsigned flags)
{
	int rc = close_span(s, thread, ns, flags);

	open_span(s, thread, SPAN_READY, ns, woken->cpu)->prio = woken->prio;
	return rc;
}

/*
 * A thread that is off its run queue but still on its CPU can be woken before its switch is traced;
 * this ends the sleep that begins with the switch. If the thread is still on the queue,
 * sched_wakeup follows at once (try_to_wake_up() in kernel/sched/core.c).
 */
static int wake_early(struct schedule *s, uint32_t thread, uint64_t ns, const struct span *woken)
{
	struct live_thread *t = live_of(s, thread);

	if (!woken->from_ns || !schedule_is_near(woken->from_ns, ns))
		return 0;
	t->now.by = woken->by;
	t->now.by_chain = woken->by_chain;
	t->now.flags |= woken->flags;
	return begin_wait(s, thread, ns, woken, 0);
}

/* Applies a pending wake-up before a switch of the thread to or from a CPU: a waiting thread that is
 * woken again ran and slept in between, at an unknown time. */
static int take_woken(struct schedule *s, uint32_t thread, uint64_t ns, bool leaves,
		      struct span *woken)
{
	struct live_thread *t = live_of(s, thread);

	*woken = t->woken;
	t->woken.from_ns = 0;
	if (!woken->from_ns || !t->known || t->now.state != SPAN_READY ||
	    (leaves && schedule_is_near(woken->from_ns, ns)))
		return 0;
	return begin_wait(s, thread, woken->from_ns, woken, SPAN_GUESSED);
}

static int on_switch(struct schedule *s, const uint64_t *v, const struct sched_moment *o)
{
	struct live_cpu *c = &s->cpus[o->cpu];
	enum span_state state = state_of(v[2]);
	uint32_t prev, next;
	struct span *now, woken;
	uint64_t began;
	int rc = find(s, (uint32_t)v[0], &prev);

	rc = rc ? rc : find(s, (uint32_t)v[3], &next);
	rc = rc ? rc : take_woken(s, next, o->ns, false, &woken);
	rc = rc ? rc : take_woken(s, prev, o->ns, true, &woken);
	if (rc)
		return rc;
	began = began_here(s, c, prev, o);
	if (prev && c->stray != NO_THREAD && c->stray_ns < began)
		began = c->stray_ns;
	rc = end_idle(s, c, o->cpu, prev ? began : c->stray != NO_THREAD ? c->stray_ns : o->ns);
	rc = rc ? rc : end_run(s, c, prev, o, (int16_t)v[1], began);
	if (rc)
		return rc;
	if (prev) {
		now = open_span(s, prev, state, o->ns, o->cpu);
		now->chain = o->chain;
		if (!now->chain && state != SPAN_READY)
			now->chain = schedule_place_of(s, live_of(s, prev), o->ns);
		if (state == SPAN_READY) {
			now->flags = SPAN_PREEMPTED;
			now->prio = (int16_t)v[1];
		}
		if (state == SPAN_SLEEP || state == SPAN_BLOCKED)
			rc = wake_early(s, prev, o->ns, &woken);
	}
	live_of(s, prev)->recorded = true;
	if (s->partial && !live_of(s, next)->recorded)
		next = NO_THREAD; /* nor is the CPU's next thread known */
	else if (next)
		rc = rc ? rc : begin_run(s, next, o, (int16_t)v[4]);
	occupy(c, next, o->ns);
	return rc;
}

/* The record only says whether the thread sleeps or was preempted. */
static int on_own_leave(struct schedule *s, uint32_t thread, uint16_t misc,
			const struct sched_moment *o)
{
	struct live_cpu *c = &s->cpus[o->cpu];
	bool preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	struct span *now;
	int rc = end_run(s, c, thread, o, -1, o->ns);

	now = open_span(s, thread, preempted ? SPAN_READY : SPAN_SLEEP, o->ns, o->cpu);
	now->flags = preempted ? SPAN_PREEMPTED : 0;
	occupy(c, NO_THREAD, o->ns);
	return rc;
}

/*
 * PERF_RECORD_SWITCH: in partial dumps the only record of a thread's return to a CPU, since the
 * tracepoint belongs to the thread that leaves.
 */
static int on_own_switch(struct schedule *s, uint16_t misc, const struct sched_moment *o)
{
	struct live_cpu *c = &s->cpus[o->cpu];
	uint32_t thread, gone = c->current;
	int rc = o->tid == UINT32_MAX || !o->tid ? 0 : find(s, o->tid, &thread);

	if (rc || o->tid == UINT32_MAX || !o->tid)
		return rc;
	live_of(s, thread)->recorded = true;
	if (misc & PERF_RECORD_MISC_SWITCH_OUT) /* a tracepoint has reported it */
		return s->own_only ? on_own_leave(s, thread, misc, o) : 0;
	c->last_ns = o->ns;
	if (gone == thread)
		return 0;
	if (gone != NO_THREAD && gone && live_of(s, gone)->known &&
	    live_of(s, gone)->now.state == SPAN_RUN && live_of(s, gone)->now.cpu == o->cpu)
		rc = close_span(s, gone, o->ns, SPAN_GUESSED);
	rc = rc ? rc : begin_run(s, thread, o, live_of(s, thread)->now.prio);
	occupy(c, thread, o->ns);
	return rc;
}

/* A ready thread moves to the queue of another CPU. */
static void move(struct live_thread *t, int32_t cpu, uint64_t ns)
{
	if (t->now.cpu == cpu)
		return;
	t->now.cpu = cpu;
	t->here_ns = ns;
}

/*
 * Whether the thread was woken on a CPU that was idle since: some kernels do not trace this switch.
 */
static bool runs_unseen(const struct schedule *s, const struct live_thread *t)
{
	return t->now.cpu >= 0 && (size_t)t->now.cpu < s->nr_cpus && !s->cpus[t->now.cpu].current &&
	       was_woken_here(t, t->now.cpu);
}

/* `v`: pid, prio, target_cpu, common_flags. */
static int on_wake(struct schedule *s, const uint64_t *v, const struct sched_moment *o,
		   bool is_waking)
{
	uint32_t thread, by = NO_THREAD;
	struct live_thread *t;
	struct span woken;
	int rc = find(s, (uint32_t)v[0], &thread);

	if (!rc && o->tid != UINT32_MAX)
		rc = find(s, o->tid, &by);
	if (rc || !thread)
		return rc;
	if (s->partial && !live_of(s, thread)->recorded)
		return 0;
	assume_before(s, thread, SPAN_SLEEP, o->ns, -1);
	t = live_of(s, thread);
	woken = (struct span){.from_ns = is_waking ? o->ns : 0,
			      .by = by,
			      .by_chain = o->chain,
			      .cpu = (int32_t)v[2],
			      .prio = (int16_t)v[1],
			      .flags = (v[3] & TRACE_HARDIRQ ? SPAN_HARDIRQ : 0) |
				       (v[3] & TRACE_SOFTIRQ ? SPAN_SOFTIRQ : 0)};
	if (t->known && t->now.state == SPAN_READY) {
		bool preempted = t->now.flags & SPAN_PREEMPTED;

		if (preempted || t->now.flags & SPAN_FORKED || is_waking != s->has_wakings) {
			/* sched_wakeup has another CPU than sched_waking. */
			if (!preempted)
				move(t, woken.cpu, o->ns);
			return 0;
		}
		/* On an idle CPU it may run without a traced switch, and be about to sleep. */
		if (is_waking && runs_unseen(s, t)) {
			t->woken = woken;
			return 0;
		}
		return begin_wait(s, thread, o->ns, &woken, SPAN_GUESSED);
	}
	/* Woken before it slept: it continues, or see wake_early(). */
	if (t->known && t->now.state != SPAN_SLEEP && t->now.state != SPAN_BLOCKED &&
	    t->now.state != SPAN_STOPPED) {
		t->woken = woken;
		return 0;
	}
	t->now.by = by;
	t->now.by_chain = o->chain;
	if (!o->chain && t->waker_ns && schedule_is_near(t->waker_ns, o->ns))
		t->now.by_chain = t->waker;
	t->waker_ns = 0;
	t->now.flags |= woken.flags;
	return begin_wait(s, thread, o->ns, &woken,
			  is_waking || !s->has_wakings ? 0 : SPAN_GUESSED);
}

/* A sample of sleep-stacks. It comes after the record of the switch and before the thread runs
 * again, because the BPF programs are attached after the events are open. */
static int on_place(struct schedule *s, const struct timeline_record *rec,
		    const struct sched_moment *o)
{
	struct sleep_sample sample;
	uint32_t thread;
	int rc;

	if (rec->s.raw.len < sizeof(sample))
		return 0;
	memcpy(&sample, rec->s.raw.p, sizeof(sample));
	rc = sample.tid ? find(s, sample.tid, &thread) : 0;
	if (!rc && sample.tid)
		schedule_take_stack(s, thread, sample.kind, o->chain, o->ns);
	return rc;
}

static int on_fork(struct schedule *s, const uint64_t *v, const struct sched_moment *o)
{
	uint32_t parent, child, before = schedule_find(s, (uint32_t)v[1]);
	struct span *now;
	int rc = find(s, (uint32_t)v[0], &parent);

	if (rc || !v[1] || s->partial) /* the child may not be recorded */
		return rc;
	/* The thread that had this tid has ended. */
	if (before != NO_THREAD && live_of(s, before)->known)
		live_of(s, before)->now.state = SPAN_ENDED;
	rc = find(s, (uint32_t)v[1], &child);
	if (rc)
		return rc;
	now = open_span(s, child, SPAN_READY, o->ns, o->cpu);
	now->by = parent;
	now->flags = SPAN_FORKED;
	return 0;
}

static int on_sample(struct schedule *s, const struct timeline_record *rec,
		     const struct sched_moment *o)
{
	struct schedule_sample sample = {
		.ns = o->ns,
		.chain = o->chain,
		.cpu = o->cpu,
		.event = (uint32_t)(rec->event - s->m->events),
	};
	int rc;

	if (o->tid == UINT32_MAX)
		return 0;
	rc = find(s, o->tid, &sample.thread);
	return rc ? rc : buf_put(&s->samples, &sample, sizeof(sample));
}

/* Notes a thread that runs here without a switch to it. */
static int note_stray(struct schedule *s, const struct sched_moment *o)
{
	struct live_cpu *c = &s->cpus[o->cpu];
	uint32_t thread;
	int rc;

	if (o->tid == UINT32_MAX ||
	    (c->current != NO_THREAD && live_of(s, c->current)->pub.tid == o->tid) ||
	    (c->stray != NO_THREAD && live_of(s, c->stray)->pub.tid == o->tid))
		return 0;
	rc = find(s, o->tid, &thread);
	c->stray = thread;
	c->stray_ns = o->ns;
	return rc;
}

/*
 * Before the window the events of some CPUs are missing, so all states are doubtful: starts anew.
 */
static int begin_window(struct schedule *s)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nr_threads(s); i++) {
		struct live_thread *t = live_of(s, i);

		if (!t->known || t->now.state == SPAN_ENDED)
			continue;
		rc = close_span(s, i, s->from_ns, SPAN_GUESSED);
		t->last_ns = 0;
	}
	for (size_t i = 0; i < s->nr_cpus; i++)
		s->cpus[i] = (struct live_cpu){.current = NO_THREAD, .stray = NO_THREAD};
	s->in_window = true;
	return rc;
}

/* Records of this CPU since the last one are missing: the current thread ran until then; what runs
 * now is unknown. */
static int on_lost(struct schedule *s, const struct timeline_record *rec)
{
	int32_t cpu = rec->window->cpu;
	struct live_cpu *c;
	struct sched_moment o = {.cpu = cpu};
	bool switches = false;
	int rc = 0;

	for (size_t i = 0; i < s->m->nr_events; i++)
		switches |= s->parsers[i].kind == KIND_SWITCH &&
			    s->m->events[i].f.channel == rec->window->channel;
	if ((!switches && !schedule_is_own(s, rec->window->channel)) || cpu < 0 ||
	    (size_t)cpu >= s->nr_cpus)
		return 0;
	c = &s->cpus[cpu];
	o.ns = c->last_ns;
	if (!o.ns) { /* no event of this CPU before */
		c->last_ns = rec->time_ns;
		c->first_tid = UINT32_MAX;
		return 0;
	}
	rc = end_idle(s, c, cpu, o.ns);
	if (!rc && c->current && c->current != NO_THREAD && live_of(s, c->current)->known &&
	    live_of(s, c->current)->now.state == SPAN_RUN && live_of(s, c->current)->now.cpu == cpu)
		rc = close_span(s, c->current, c->last_ns, SPAN_GUESSED);
	*c = (struct live_cpu){
		.current = NO_THREAD, .stray = NO_THREAD, .last_ns = o.ns, .first_tid = UINT32_MAX};
	return rc;
}

bool schedule_needs(const struct schedule *s, size_t event, struct timeline_need *need)
{
	const struct event_parser *p = &s->parsers[event];

	for (size_t i = 0; i < MAX_FIELDS && p->fields[i]; i++)
		timeline_need_raw(need, p->fields[i]->offset, p->fields[i]->size);
	if (p->comm && s->partial)
		timeline_need_raw(need, p->comm->offset, p->comm->size);
	if (p->kind == KIND_PLACE)
		timeline_need_raw(need, 0, sizeof(struct sleep_sample));
	need->stack |= p->kind && p->kind != KIND_FORK && s->chains;
	return p->kind || schedule_is_own(s, s->m->events[event].f.channel);
}

/* Records other than samples: losses and, in some dumps, switches. */
static int on_kernel_record(struct schedule *s, const struct timeline_record *rec)
{
	struct perf_event_header h;
	struct sched_moment o = {.ns = rec->time_ns, .tid = rec->tid};
	int rc;

	memcpy(&h, rec->rec.p, sizeof(h));
	if (h.type == PERF_RECORD_LOST || h.type == PERF_RECORD_LOST_SAMPLES)
		return on_lost(s, rec);
	o.cpu = rec->s.have & PERF_SAMPLE_CPU ? (int32_t)rec->s.cpu : rec->window->cpu;
	if ((h.type != PERF_RECORD_SWITCH && h.type != PERF_RECORD_SWITCH_CPU_WIDE) ||
	    !schedule_is_own(s, rec->window->channel) || o.cpu < 0 || (size_t)o.cpu >= s->nr_cpus)
		return 0;
	rc = !s->in_window && o.ns >= s->from_ns ? begin_window(s) : 0;
	return rc ? rc : on_own_switch(s, h.misc, &o);
}

/* Keeps the name of the thread that a recorded thread was switched to. */
static int note_name(struct schedule *s, const struct event_parser *p, uint32_t tid,
		     const struct timeline_record *rec)
{
	uint32_t thread;
	int rc = find(s, tid, &thread);

	if (rc || !tid || live_of(s, thread)->met || !p->comm ||
	    (uint64_t)p->comm->offset + p->comm->size > rec->s.raw.len)
		return rc;
	live_of(s, thread)->met =
		intern(&s->names, (struct bytes){rec->s.raw.p + p->comm->offset, p->comm->size});
	return live_of(s, thread)->met ? 0 : -ENOMEM;
}

int schedule_feed(struct schedule *s, const struct timeline_record *rec)
{
	const struct event_parser *p;
	uint64_t v[MAX_FIELDS] = {0};
	struct sched_moment o = {.ns = rec->time_ns, .tid = rec->tid};
	int rc;

	if (!rec->event)
		return on_kernel_record(s, rec);
	p = &s->parsers[rec->event - s->m->events];
	o.cpu = rec->s.have & PERF_SAMPLE_CPU ? (int32_t)rec->s.cpu : rec->window->cpu;
	if (!p->kind || o.cpu < 0 || (size_t)o.cpu >= s->nr_cpus)
		return 0;
	for (size_t i = 0; i < MAX_FIELDS && p->fields[i]; i++)
		v[i] = field_number(p->fields[i], rec->s.raw);
	if (s->chains && p->kind != KIND_FORK && rec->s.have & PERF_SAMPLE_CALLCHAIN)
		o.chain = call_chains_add(s->chains, rec);
	rc = !s->in_window && o.ns >= s->from_ns ? begin_window(s) : 0;
	/* The sampled thread may have left the CPU, so this says nothing about what runs. */
	if (!rc && p->kind == KIND_PLACE)
		return on_place(s, rec, &o);
	if (!rc && !s->partial)
		rc = note_stray(s, &o);
	if (!rc && s->partial && p->kind == KIND_SWITCH)
		rc = note_name(s, p, (uint32_t)v[3], rec);
	if (rc)
		return rc;
	if (!s->cpus[o.cpu].last_ns)
		s->cpus[o.cpu].first_tid = o.tid;
	s->cpus[o.cpu].last_ns = o.ns;
	switch (p->kind) {
	case KIND_SWITCH:
		return on_switch(s, v, &o);
	case KIND_WAKING:
	case KIND_WAKEUP:
		return on_wake(s, v, &o, p->kind == KIND_WAKING);
	case KIND_FORK:
		return on_fork(s, v, &o);
	case KIND_SAMPLE:
		return on_sample(s, rec, &o);
	case KIND_MIGRATE:
		rc = find(s, (uint32_t)v[0], &o.tid);
		if (!rc && live_of(s, o.tid)->known && live_of(s, o.tid)->now.state == SPAN_READY)
			move(live_of(s, o.tid), (int32_t)v[1], o.ns);
		return rc;
	default:
		return 0;
	}
}
