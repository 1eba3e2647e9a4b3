/* SPDX-License-Identifier: MIT */
/*
 * Who ran, waited and slept when: the scheduler's events of a dump as a list of spans for each
 * thread, and of runs for each CPU. Records are given to it in the order of time; it is read once
 * they are all there.
 *
 *	thread   RUN ─────▶ SLEEP ──────────▶ READY ─────────▶ RUN ──────▶ READY ─────▶ RUN
 *	           sched_switch   sched_waking      sched_switch   sched_switch (preempted)
 *	                            by: who woke it
 *
 * What an event contradicts (a wake-up was lost, or rings reach back differently far) is put right
 * and the span marked SPAN_GUESSED; a wait that the records do not prove is SPAN_UNKNOWN.
 *
 * Where only some threads were recorded (-p, -t, --cgroup, a command: FMT_HOST_TARGET), the others
 * are met as those whom a recorded thread left its CPU to, or who woke it. They have a name and no
 * spans, since nothing is known of them after that moment; nor is it known who ran on a CPU while
 * none of the recorded threads did. Where only some CPUs were (-C, also with a target), what a
 * thread did after it left these is SPAN_UNKNOWN.
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
/* What is kept in memory at most, 48 bytes each; the newest. */
#define SCHEDULE_MAX_SPANS (4u << 20)

enum span_state {
	SPAN_RUN,
	SPAN_READY,   /* could run, but another one does (or its quota is used up) */
	SPAN_SLEEP,   /* S, I: waits for an event, a signal would wake it */
	SPAN_BLOCKED, /* D: waits uninterruptibly, mostly for a disk or a lock of the kernel's */
	SPAN_STOPPED, /* T, t: by a signal or a debugger */
	SPAN_ENDED,
	SPAN_UNKNOWN, /* the records contradict each other, or miss what it did: counts for nothing
		       */
	NR_SPAN_STATES
};

#define SPAN_CUT       1u /* begins before the window: from_ns is the window's */
#define SPAN_OPEN      2u /* not over yet at the end of the window */
#define SPAN_GUESSED   4u /* the event that begins or ends it is missing */
#define SPAN_PREEMPTED 8u /* READY: it was running and was taken off */
#define SPAN_HARDIRQ                                                                               \
	16u		 /* SLEEP, BLOCKED: the wake-up came from an interrupt: `by` is whom that  \
			  */
#define SPAN_SOFTIRQ 32u /* met there, by accident; or from a softirq, which may be its doing */
#define SPAN_FORKED  64u /* READY: `by` started it */

struct span {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* index, as of schedule_thread() */
	uint32_t by;	 /* SLEEP, BLOCKED, STOPPED: thread that woke it; NO_THREAD: unknown */
	uint32_t chain;	 /* where it went off the CPU (RUN: at its end); CHAIN_NONE: not recorded */
	uint32_t by_chain; /* where `by` was when it woke it */
	int32_t cpu;	   /* RUN: on; READY: would run on; others: was on; -1 unknown */
	int16_t prio;  /* RUN, READY: the kernel's, lower is better, < 100 real-time; -1 unknown */
	uint8_t state; /* enum span_state */
	uint8_t flags;
};

/* A sample of what ran: a clock tick, a counter. */
struct schedule_sample {
	uint64_t ns;
	uint32_t thread, chain;
	int32_t cpu;
	uint32_t event; /* index of meta's events */
};

struct schedule_thread {
	uint32_t tid;
	uint32_t pid;	  /* 0: unknown; of the idle task too */
	const char *comm; /* its last name, not safe for a terminal; NULL unknown */
	size_t first, nr; /* its spans, oldest first: schedule_span(s, first...) */
};

/* `chains` may be NULL: then no stacks. All must outlive the result. 0, -ENOMEM. */
int schedule_new(const struct meta *m, const struct fields *f, const struct process_history *p,
		 struct call_chains *chains, struct schedule **out, struct err *err);
void schedule_free(struct schedule *s);

/* Whether it has a use for records of an event (index of meta's); if so, adds what of them. */
bool schedule_needs(const struct schedule *s, size_t event, struct timeline_need *need);
/* Records oldest first; those it has no use for are ignored. 0, -ENOMEM. */
int schedule_feed(struct schedule *s, const struct timeline_record *rec);
/* No more records: sorts spans by thread. What follows may be asked only then. 0, -ENOMEM. */
int schedule_end(struct schedule *s);

/* The time in which the switches of all CPUs are known. 0 and 0 when no switch was recorded. */
void schedule_window(const struct schedule *s, uint64_t *from_ns, uint64_t *to_ns);
/* There were more than SCHEDULE_MAX_SPANS: the window begins later than it could. */
bool schedule_was_cut(const struct schedule *s);
bool schedule_has_switches(const struct schedule *s);
/* Only some threads or CPUs were recorded: what CPUs did besides is unknown. */
bool schedule_is_partial(const struct schedule *s);
/* Only some CPUs were (-C): what threads did after they left these is unknown, also how long they
 * waited or slept. */
bool schedule_lacks_cpus(const struct schedule *s);
bool schedule_has_wakings(const struct schedule *s);
/* Stacks come with switches. */
bool schedule_has_stacks(const struct schedule *s);

/* Thread 0 is the idle task: its spans are those of all CPUs, without order, RUN only. */
size_t schedule_nr_threads(const struct schedule *s);
const struct schedule_thread *schedule_thread(const struct schedule *s, uint32_t thread);
/* The last thread that had this tid; NO_THREAD when there is none. */
uint32_t schedule_find(const struct schedule *s, uint32_t tid);

const struct span *schedule_span(const struct schedule *s, size_t i);
/* The span of a thread at `ns`; NULL when nothing is known of it then. O(log n). */
const struct span *schedule_at(const struct schedule *s, uint32_t thread, uint64_t ns);

/* What ran on a CPU, idle task included, oldest first: spans of state RUN. */
size_t schedule_nr_cpus(const struct schedule *s);
size_t schedule_nr_runs(const struct schedule *s, size_t cpu);
const struct span *schedule_run(const struct schedule *s, size_t cpu, size_t i);
/* The first run on `cpu` that ends after `ns`; schedule_nr_runs() when there is none. */
size_t schedule_run_after(const struct schedule *s, size_t cpu, uint64_t ns);

size_t schedule_nr_samples(const struct schedule *s);
const struct schedule_sample *schedule_sample(const struct schedule *s, size_t i);
