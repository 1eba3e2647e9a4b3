/* SPDX-License-Identifier: MIT */
/* Private to schedule*.c: the state while records come, and the result. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/sleepstack.h"
#include "dump/view/base/intern.h"
#include "dump/view/base/row_map.h"
#include "dump/view/schedule/schedule.h"

/* A thread and its current span. */
struct live_thread {
	struct schedule_thread pub;
	struct span now;  /* to_ns is not set */
	bool known;	  /* `now` is valid */
	uint64_t last_ns; /* of its last event */
	uint64_t here_ns; /* READY: when it joined the queue of now.cpu */
	bool recorded;	  /* its own switches are in the dump */
	const char *met;  /* its name in a switch to it; NULL: none */
	/* RUN: a wake-up that it has not taken yet, as the span that it would begin; from_ns 0: none. */
	struct span woken;
	/* From sleep-stacks: the stacks of its last sleep and of its waker, and when; 0: unknown. */
	uint32_t place, waker;
	uint64_t place_ns, waker_ns;
};

struct live_cpu {
	uint32_t current; /* thread; NO_THREAD: unknown */
	uint64_t since_ns;
	uint64_t last_ns; /* of its last event in the window; 0: none */
	/* The tid of the first event in the window: that thread ran from the start of the window to
	 * the first switch. UINT32_MAX: none. */
	uint32_t first_tid;
	/* A thread with an event here although it is not `current`, and the time of its first one:
	 * the switch to it is missing. */
	uint32_t stray;
	uint64_t stray_ns;
};

enum sched_event_kind {
	KIND_NONE,
	KIND_SWITCH,
	KIND_WAKING,
	KIND_WAKEUP,
	KIND_MIGRATE,
	KIND_FORK,
	KIND_SAMPLE,
	KIND_PLACE, /* sleep-stacks */
};

#define MAX_FIELDS 5

/* How to read an event; KIND_NONE: it is not used. */
struct event_parser {
	enum sched_event_kind kind;
	const struct field *fields[MAX_FIELDS];
	const struct field *comm; /* KIND_SWITCH: next_comm; NULL: there is none */
};

/* The last thread that has the tid. */
struct tid_thread {
	uint64_t key; /* the tid */
	uint32_t thread;
};

struct schedule {
	const struct meta *m;
	const struct process_history *p;
	struct call_chains *chains;
	struct event_parser *parsers; /* by index of meta's events */
	struct buf threads;	      /* struct live_thread; 0: idle */
	struct map by_tid;	      /* struct tid_thread */
	struct live_cpu *cpus;
	size_t nr_cpus;
	struct buf spans;   /* struct span; once sorted: by thread */
	struct buf samples; /* struct schedule_sample */
	uint64_t from_ns, to_ns;
	bool was_cut;
	bool in_window; /* the rings of all CPUs have begun */
	bool has_switches, has_wakings, has_stacks;
	bool partial;	/* FMT_HOST_TARGET */
	bool some_cpus; /* other CPUs have no rings */
	bool own_only;	/* switches come from PERF_RECORD_SWITCH alone */
	/* All rings of sleep-stacks were on, so a sleep without a sample is where the last one was. */
	uint64_t places_from_ns, places_to_ns;
	uint64_t own_channels; /* bit i: use the PERF_RECORD_SWITCH records of channel i */
	struct intern names;
	/* After schedule_end(): indices of RUN spans by CPU, and the first one of each CPU. */
	uint32_t *runs;
	size_t *first_run; /* nr_cpus + 1 */
};

static inline struct live_thread *live_of(const struct schedule *s, uint32_t thread)
{
	return (struct live_thread *)s->threads.p + thread;
}

static inline size_t nr_threads(const struct schedule *s)
{
	return s->threads.len / sizeof(struct live_thread);
}

/* Whether the PERF_RECORD_SWITCH records of the channel are used. */
static inline bool schedule_is_own(const struct schedule *s, uint32_t channel)
{
	return channel < 64 && s->own_channels >> channel & 1;
}

/* Whether two records are of one switch or wake-up. */
static inline bool schedule_is_near(uint64_t a, uint64_t b)
{
	return a < b ? b - a < SLEEP_NEAR_NS : a - b < SLEEP_NEAR_NS;
}

/* The stack of a sleep without a sample of its own: that of the last sample, or CHAIN_NONE. */
uint32_t schedule_place_of(const struct schedule *s, const struct live_thread *t, uint64_t ns);
/* Takes the stack of a SLEEP_BEGINS or SLEEP_ENDS sample of the thread. */
void schedule_take_stack(struct schedule *s, uint32_t thread, uint32_t kind, uint32_t chain,
			 uint64_t ns);

/* Adds a thread with this tid; earlier ones are not found any more. 0, -ENOMEM. */
int schedule_add_thread(struct schedule *s, uint32_t tid, uint32_t *out);
