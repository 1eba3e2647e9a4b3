/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's events of a dump as spans (running, ready, asleep) of each thread and runs of
 * each CPU. The caller feeds records in time order, calls schedule_end(), and then reads the
 * result.
 *
 *	thread   RUN ─────▶ SLEEP ──────────▶ READY ─────────▶ RUN ──────▶ READY ─────▶ RUN
 *	           sched_switch   sched_waking      sched_switch   sched_switch (preempted)
 *	                            by: the waking thread
 *
 * Where events contradict each other (a wake-up was lost, or rings reach back to different times),
 * the spans are corrected and marked SPAN_GUESSED. A wait without evidence is SPAN_UNKNOWN.
 *
 * Where only some threads were recorded (-p, -t, --cgroup, a command: FMT_HOST_TARGET), other
 * threads appear only in the switches and wake-ups of recorded ones. They have a name but no spans,
 * and it is unknown what ran on a CPU while no recorded thread did. Where only some CPUs were
 * recorded (-C, also with a target), the time of a thread outside these is SPAN_UNKNOWN.
 *
 * Memory: 48 bytes for each change of state, bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_chains;
struct err;
struct fields;
struct meta;
struct process_history;
struct schedule;
struct timeline_need;
struct timeline_record;

#define NO_THREAD UINT32_MAX
/* The newest ones are kept. */
#define SCHEDULE_MAX_SPANS (4u << 20)

enum span_state {
	SPAN_RUN,
	SPAN_READY,   /* waits for a CPU, or its quota is used up */
	SPAN_SLEEP,   /* S, I: waits for an event, a signal would wake it */
	SPAN_BLOCKED, /* D: waits uninterruptibly, mostly for a disk or a kernel lock */
	SPAN_STOPPED, /* T, t: by a signal or a debugger */
	SPAN_ENDED,
	SPAN_UNKNOWN, /* records are missing or contradictory; not counted as any state */
	NR_SPAN_STATES
};

#define SPAN_CUT       1u  /* begins before the window: from_ns is the window's */
#define SPAN_OPEN      2u  /* does not end within the window */
#define SPAN_GUESSED   4u  /* the event that begins or ends it is missing */
#define SPAN_PREEMPTED 8u  /* READY: was preempted */
#define SPAN_HARDIRQ   16u /* woken from an interrupt: `by` is accidental */
#define SPAN_SOFTIRQ   32u /* woken from a softirq: `by` may be accidental */
#define SPAN_FORKED    64u /* READY: `by` started it */

struct span {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* index, as for schedule_thread() */
	uint32_t by;	 /* SLEEP, BLOCKED, STOPPED: the waking thread; NO_THREAD: unknown */
	uint32_t chain;	 /* the stack when it left the CPU (RUN: at its end); CHAIN_NONE: unknown */
	uint32_t by_chain; /* the stack of `by` at the wake-up */
	int32_t cpu;	   /* RUN: its CPU; READY: its queue; others: the last CPU; -1: unknown */
	int16_t prio;  /* RUN, READY: the kernel's, lower is better, < 100 real-time; -1 unknown */
	uint8_t state; /* enum span_state */
	uint8_t flags;
};

/* A sample of a running thread, from a clock or a counter. */
struct schedule_sample {
	uint64_t ns;
	uint32_t thread, chain;
	int32_t cpu;
	uint32_t event; /* index of meta's events */
};

struct schedule_thread {
	uint32_t tid;
	uint32_t pid;	  /* 0: unknown; of the idle task too */
	const char *comm; /* its last name, not escaped; NULL: unknown */
	size_t first, nr; /* its spans, oldest first: schedule_span(s, first...) */
};

/* `chains` NULL: no stacks. All arguments must outlive the result. 0, -ENOMEM. */
int schedule_new(const struct meta *m, const struct fields *f, const struct process_history *p,
		 struct call_chains *chains, struct schedule **out, struct err *err);
void schedule_free(struct schedule *s);

/*
 * Whether the schedule uses records of this event (index of meta's); if so, adds the needed parts.
 */
bool schedule_needs(const struct schedule *s, size_t event, struct timeline_need *need);
/* Takes records in time order; ignores those of other events. 0, -ENOMEM. */
int schedule_feed(struct schedule *s, const struct timeline_record *rec);
/* Ends the input and sorts spans by thread. Required before the functions below. 0, -ENOMEM. */
int schedule_end(struct schedule *s);

/* The time for which the rings of all CPUs have switches. 0 and 0: no switch was recorded. */
void schedule_window(const struct schedule *s, uint64_t *from_ns, uint64_t *to_ns);
/* The dump has more than SCHEDULE_MAX_SPANS, so the window begins later than the rings. */
bool schedule_was_cut(const struct schedule *s);
bool schedule_has_switches(const struct schedule *s);
/* Only some threads or CPUs were recorded; the rest of the CPUs' time is unknown. */
bool schedule_is_partial(const struct schedule *s);
/* Only some CPUs were recorded (-C): what threads did elsewhere is unknown, and so is how long they
 * waited or slept. */
bool schedule_lacks_cpus(const struct schedule *s);
bool schedule_has_wakings(const struct schedule *s);
/* Switches have stacks. */
bool schedule_has_stacks(const struct schedule *s);

/* Thread 0 is the idle task: RUN spans of all CPUs, unsorted. */
size_t schedule_nr_threads(const struct schedule *s);
const struct schedule_thread *schedule_thread(const struct schedule *s, uint32_t thread);
/* The last thread that had this tid; NO_THREAD when there is none. */
uint32_t schedule_find(const struct schedule *s, uint32_t tid);

const struct span *schedule_span(const struct schedule *s, size_t i);
/* The span of a thread at `ns`; NULL: there is none. O(log n). */
const struct span *schedule_at(const struct schedule *s, uint32_t thread, uint64_t ns);

/* The RUN spans of a CPU, idle task included, oldest first. */
size_t schedule_nr_cpus(const struct schedule *s);
size_t schedule_nr_runs(const struct schedule *s, size_t cpu);
const struct span *schedule_run(const struct schedule *s, size_t cpu, size_t i);
/* The first run on `cpu` that ends after `ns`; schedule_nr_runs() when there is none. */
size_t schedule_run_after(const struct schedule *s, size_t cpu, uint64_t ns);

size_t schedule_nr_samples(const struct schedule *s);
const struct schedule_sample *schedule_sample(const struct schedule *s, size_t i);
