/* SPDX-License-Identifier: MIT */
/*
 * A perf event that wakes the recorder for each record: a tiny forward ring per CPU, as opposed to
 * the recording's backward ones that never wake. For sources that wait for something rare: a
 * tracepoint, a probe, a breakpoint, what a BPF filter lets through.
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
	const struct event *event; /* borrowed until the tap is closed */
	/* Besides TID, TIME and CPU, which it always has; tracepoints also have RAW.
	 * With PERF_SAMPLE_STACK_USER a call chain is the kernel's part alone. */
	uint64_t sample_type;
	uint32_t stack_bytes; /* of the user stack, with PERF_SAMPLE_STACK_USER; a multiple of 8 */
	size_t ring_bytes;    /* per CPU; 0: 64 KiB, or room for four stacks */
	/* Whose events: all tasks', or these and (when `inherit`) those they start. */
	const pid_t *tids;
	size_t nr_tids;
	bool inherit;
	/* Its hits stop traces in the kernel, if they are all tasks' and the event's kind allows
	 * it; NULL: not. Outlives the tap. */
	struct aux_pauses *brakes;
};

/* What the rule's stack= says, else a copy of the stack: whose libraries have no frame pointers is
 * told, too. */
void wakeup_ring_set_stack(struct wakeup_ring_options *o, const struct rule *r);

/* Opened and enabled on all CPUs that are online. 0 or -errno, with what the user can do. */
int wakeup_ring_open(const struct wakeup_ring_options *o, const struct source_env *env,
		     struct wakeup_ring **out, struct err *err);
void wakeup_ring_close(struct wakeup_ring *t); /* NULL allowed */

/*
 * Becomes readable (POLLIN) when a record comes. It says so once: after any wake-up, and after it
 * was put into an epoll set, call wakeup_ring_next() until it returns 0; only then is it sure that the next
 * record wakes. It may stand in epoll sets within epoll sets.
 */
int wakeup_ring_fd(const struct wakeup_ring *t);

/* One record, taken apart. What the event does not sample is 0 or empty. */
struct wakeup_ring_sample {
	uint64_t ns, ip, addr;
	uint32_t pid, tid, cpu;
	struct bytes chain; /* u64s, with PERF_CONTEXT_* before each part */
	struct bytes raw;   /* a tracepoint's fields, as its format has them */
	struct bytes regs;  /* of the user side, see event_user_frame(); empty: it has none */
	struct bytes stack; /* from its stack pointer up, as much as could be read */
	struct bytes rec;   /* the whole record, with its header */
};

/* The next one; 1, 0: none is left, or -errno. Borrowed until the next call. */
int wakeup_ring_next(struct wakeup_ring *t, struct wakeup_ring_sample *out, struct err *err);

/*
 * A hash of a call chain that is the same when the program is started anew, for counting repeats:
 * of user addresses it has only what address space randomisation leaves alone. 0: no chain.
 */
uint64_t wakeup_ring_stack_hash(struct bytes chain);
/* Likewise of a sample, whose user part may be registers and a copy of its stack instead: of this
 * the callers by frame pointers, as a call chain has them. */
uint64_t wakeup_ring_sample_hash(const struct wakeup_ring_sample *s);

/* Hits that did not fit into the rings since last asked, once wakeup_ring_next() has said that none is
 * left: they count too. (Before Linux 6.0 some may be told late: with the next record.) */
uint64_t wakeup_ring_take_lost(struct wakeup_ring *t);

/* Takes all records that are there without looking at them; how many, lost ones included. Ends the
 * borrowing of what wakeup_ring_next() gave. For source_ops.skip. */
uint64_t wakeup_ring_skip(struct wakeup_ring *t);

/* How often the event came on all CPUs since the tap was opened, sampled or not. */
uint64_t wakeup_ring_count(const struct wakeup_ring *t);

/* All its tasks have ended: nothing will ever come again. */
bool wakeup_ring_ended(const struct wakeup_ring *t);

/*
 * Fills in who (with the thread's name when it is still there) and when of a sighting and the hash
 * of its stack, and gives it the record as evidence (unless memory is short). `nr_hits` of the
 * sighting is raised by one.
 */
void wakeup_ring_sighting(const struct wakeup_ring *t, const struct wakeup_ring_sample *s,
			  struct sighting *what);

/* A CPU came online or went; see source_ops.cpu. What its ring holds is read by wakeup_ring_next(). */
int wakeup_ring_cpu(struct wakeup_ring *t, int cpu, bool online, struct err *err);

/* The descriptor of its event on that CPU, such as a BPF program wants for its output; -1: none. */
int wakeup_ring_cpu_fd(const struct wakeup_ring *t, int cpu);

/* As source_ops.brake. */
void wakeup_ring_brake(struct wakeup_ring *t, bool on);
/* Whether there is a trace that it stops. */
bool wakeup_ring_brakes(const struct wakeup_ring *t);

/* The attr its records were made with, for evidence_add_kind(). */
const struct perf_event_attr *wakeup_ring_attr(const struct wakeup_ring *t);
