/* SPDX-License-Identifier: MIT */
/* Shared by schedule*.c: what is known while records come, and what is left of it. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/base/intern.h"
#include "dump/view/base/row_map.h"
#include "dump/view/schedule/schedule.h"

/* A thread and the span that it is in. */
struct live {
	struct schedule_thread pub;
	struct span now;  /* to_ns is not set */
	bool known;	  /* `now` is */
	uint64_t last_ns; /* of what was last heard of it */
	uint64_t here_ns; /* READY: since when it has been on the queue of now.cpu */
	bool recorded;	  /* its own switches are in the dump */
	const char *met;  /* its name in a switch to it; NULL: none */
	/* Of sleep-stacks: where it slept last, and who woke it, each with its time; 0: unknown. */
	uint32_t place, waker;
	uint64_t place_ns, waker_ns;
};

struct live_cpu {
	uint32_t current; /* thread; NO_THREAD: unknown */
	uint64_t since_ns;
	uint64_t last_ns; /* of what was last heard of it; 0: nothing yet in the window */
	/* Whom the first event in the window is of: it has been there since the window began, as
	 * long as no switch was seen. UINT32_MAX: nobody. */
	uint32_t first_tid;
	/* A thread that shows up here although it is not `current`, and when it did first: the
	 * switch to it is missing. */
	uint32_t stray;
	uint64_t stray_ns;
};

enum event_kind {
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

/* How an event is read; KIND_NONE: it is not for us. */
struct event_parser {
	enum event_kind kind;
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
	struct buf threads;	      /* struct live; 0: idle */
	struct map by_tid;	      /* struct tid_thread */
	struct live_cpu *cpus;
	size_t nr_cpus;
	struct buf spans;   /* struct span; once sorted: by thread */
	struct buf samples; /* struct schedule_sample */
	uint64_t from_ns, to_ns;
	bool was_cut;
	bool in_window; /* all CPUs' rings have begun */
	bool has_switches, has_wakings, has_stacks;
	bool partial;	/* FMT_HOST_TARGET */
	bool some_cpus; /* others have no rings: a thread may have run there */
	bool own_only;	/* no tracepoint tells of switches */
	/* All rings of sleep-stacks were on: samples tell of the sleeps that follow, too. */
	uint64_t places_from_ns, places_to_ns;
	uint64_t own_channels; /* bit i: PERF_RECORD_SWITCH of channel i tell of switches */
	struct intern names;
	/* Once ended: indices of spans of state RUN, by CPU, and where each CPU's begin. */
	uint32_t *runs;
	size_t *first_run; /* nr_cpus + 1 */
};

static inline struct live *live_of(const struct schedule *s, uint32_t thread)
{
	return (struct live *)s->threads.p + thread;
}

static inline size_t nr_threads(const struct schedule *s)
{
	return s->threads.len / sizeof(struct live);
}

/* The kernel's own records of switches in that channel are for us. */
static inline bool schedule_is_own(const struct schedule *s, uint32_t channel)
{
	return channel < 64 && s->own_channels >> channel & 1;
}

/* Another thread with this tid; those that had it are found no more. 0, -ENOMEM. */
int schedule_add_thread(struct schedule *s, uint32_t tid, uint32_t *out);
