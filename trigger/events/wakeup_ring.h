/* SPDX-License-Identifier: MIT */
/*
 * A perf event that wakes the recorder at each record. It has one small forward ring per CPU; the
 * backward rings of the recording never wake. For sources that wait for rare events: a tracepoint,
 * a probe, a breakpoint, the output of a BPF filter.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/event.h"

#include <sys/types.h>

struct aux_pauses;
struct err;
struct rule;
struct source_env;
struct sighting;
struct wakeup_ring;

struct wakeup_ring_options {
	const struct event *event; /* borrowed until the wakeup ring is closed */
	/* In addition to TID, TIME and CPU; tracepoints also have RAW. With PERF_SAMPLE_STACK_USER
	 * the call chain has kernel frames only. */
	uint64_t sample_type;
	uint32_t stack_bytes; /* of the user stack, with PERF_SAMPLE_STACK_USER; a multiple of 8 */
	size_t ring_bytes;    /* per CPU; 0: 64 KiB, or room for four stacks */
	/* Tasks to watch: all, or these and (with `inherit`) their later children. */
	const pid_t *tids;
	size_t nr_tids;
	bool inherit;
	/* Hits pause traces in the kernel, if all tasks are watched and aux_pause_can(); NULL: they
	 * do not. Outlives the wakeup ring. */
	struct aux_pauses *brakes;
};

/* Sets the stack options from the rule's stack=. The default is a stack copy, which also works for
 * libraries without frame pointers. */
void wakeup_ring_set_stack(struct wakeup_ring_options *o, const struct rule *r);

/* Opens and enables the event on all online CPUs. 0 or -errno, with advice for the user. */
int wakeup_ring_open(const struct wakeup_ring_options *o, const struct source_env *env,
		     struct wakeup_ring **out, struct err *err);
void wakeup_ring_close(struct wakeup_ring *t); /* NULL allowed */

/*
 * Becomes readable (POLLIN) when a record arrives. Readiness is reported only once: after any
 * wake-up, and after adding it to an epoll set, call wakeup_ring_next() until it returns 0;
 * otherwise the next record may not wake. Nested epoll sets are allowed.
 */
int wakeup_ring_fd(const struct wakeup_ring *t);

/* One parsed record. Fields that the event does not sample are 0 or empty. */
struct wakeup_ring_sample {
	uint64_t ns, ip, addr;
	uint32_t pid, tid, cpu;
	struct bytes chain; /* u64s, with PERF_CONTEXT_* before each part */
	struct bytes raw;   /* a tracepoint's fields, laid out by its format */
	struct bytes regs;  /* user registers, see event_user_frame(); empty: none */
	struct bytes stack; /* from the stack pointer up, as much as was readable */
	struct bytes rec;   /* the whole record, including its header */
};

/* Reads the next record: 1, 0 (none left) or -errno. *out is borrowed until the next call. */
int wakeup_ring_next(struct wakeup_ring *t, struct wakeup_ring_sample *out, struct err *err);

/* A hash of a call chain for counting repeats. It is the same after a restart of the program: of
 * user addresses it uses only the bits that address space randomisation keeps. 0: no chain. */
uint64_t wakeup_ring_stack_hash(struct bytes chain);
/* The same for a sample whose user part may be registers and a stack copy: then the callers are
 * found by frame pointers, as in a call chain. */
uint64_t wakeup_ring_sample_hash(const struct wakeup_ring_sample *s);

/* Returns and resets the number of hits lost because a ring was full; valid once wakeup_ring_next()
 * returned 0. (Before Linux 6.0 some are reported late: with the next record.) */
uint64_t wakeup_ring_take_lost(struct wakeup_ring *t);

/* Discards all pending records and returns their number, including lost ones. Ends the borrowing of
 * the last wakeup_ring_next(). For source_ops.skip. */
uint64_t wakeup_ring_skip(struct wakeup_ring *t);

/* Occurrences of the event on all CPUs since it was opened, sampled or not. */
uint64_t wakeup_ring_count(const struct wakeup_ring *t);

/* All watched tasks have ended: no more records will come. */
bool wakeup_ring_ended(const struct wakeup_ring *t);

/* Fills in a sighting: thread (with its name if it still exists), time and stack hash, with the
 * record as evidence (unless out of memory). Increments `nr_hits`. */
void wakeup_ring_sighting(const struct wakeup_ring *t, const struct wakeup_ring_sample *s,
			  struct sighting *what);

/* A CPU came online or went offline; see source_ops.cpu. wakeup_ring_next() still reads the old
 * ring. */
int wakeup_ring_cpu(struct wakeup_ring *t, int cpu, bool online, struct err *err);

/* The event's descriptor on that CPU, for example for a BPF program's output; -1: none. */
int wakeup_ring_cpu_fd(const struct wakeup_ring *t, int cpu);

/* See source_ops.brake. */
void wakeup_ring_brake(struct wakeup_ring *t, bool on);
/* Whether it pauses at least one trace. */
bool wakeup_ring_brakes(const struct wakeup_ring *t);

/* The attr of its records, for evidence_add_kind(). */
const struct perf_event_attr *wakeup_ring_attr(const struct wakeup_ring *t);
