/* SPDX-License-Identifier: MIT */
/*
 * The Intel PT of a dump: the steps of all its areas in time order, each with its thread. Areas are
 * decoded piece by piece, starting at the wanted time. In memory are the newest bytes of each area,
 * back to that time, the steps of one piece per area, and those of a few pieces decoded ahead.
 *
 *	SWITCH records ─▶ pt_threads ─┐
 *	SYMBOLS, files ─▶ code_cache ─┼─▶ pt_flow ─▶ steps of an area ─┐
 *	AUX ─▶ bytes of an area ──────┘                  ... ─▶ steps ─┴─▶ by time ─▶ caller
 */
#pragma once

#include "dump/view/pt/code_cache.h"
#include "dump/file/meta.h"

struct pt_trace;

struct pt_trace_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	struct code_cache *book; /* owned by the caller; NULL: the trace makes its own */
	/* Limit per area, keeps the newest; 0: default. */
	uint64_t max_bytes;
	/* Threads that decode ahead for pt_trace_next(). 0: one per CPU; 1: only the caller's
	 * thread. The steps are the same. */
	unsigned nr_threads;
};

struct pt_trace_area {
	const char *channel; /* not escaped for a terminal */
	int32_t cpu, tid;    /* -1: any */
	uint64_t bytes;	     /* in the dump */
	uint64_t used_bytes; /* loaded bytes */
	uint64_t from_ns;    /* start of the decodable trace; 0: none */
	uint64_t stop_ns;    /* time of the stop */
	bool broken;	     /* damaged in part; only the newer rest is used */
	bool no_clock;	     /* not usable: its times cannot be converted */
};

/* A step. `at` is the next known address of the same flow, 0: unknown. It shows the destination of
 * a jump, or of a call through a stub. */
struct pt_trace_step {
	uint64_t ns, from, to, at;
	uint32_t tid; /* UINT32_MAX: not known */
	uint32_t area;
	int32_t cpu;  /* -1: not known */
	uint8_t kind; /* enum pt_flow_kind */
	bool anew;    /* ON: the thread has exec'd since its last step here */
};

/* True when the dump has Intel PT. */
bool pt_trace_is_in(const struct meta *m);

/* All arguments must outlive the result. Returns 0 with *out NULL when the dump has no Intel PT.
 * Damaged parts are no error. 0, -ENOMEM, ... */
int pt_trace_open(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct pt_trace_options *opt, struct pt_trace **out, struct err *err);
void pt_trace_close(struct pt_trace *t);

size_t pt_trace_nr_areas(const struct pt_trace *t);
const struct pt_trace_area *pt_trace_area(const struct pt_trace *t, size_t i);

/* The next step, in time order. Also returns steps before from_ns from the same piece, because they
 * show which calls are open. 1; 0: the end; -ENOMEM. */
int pt_trace_next(struct pt_trace *t, struct pt_trace_step *out, struct err *err);

/*
 * Passes the steps of one area's parts to `each`, newest part first, in order within a part;
 * `nr_threads` threads decode. For callers with limited time that want the newest steps. A non-zero
 * result of `each` stops it and is returned. Do not mix with pt_trace_next().
 */
int pt_trace_backwards(struct pt_trace *t, size_t area, unsigned nr_threads,
		       int (*each)(void *ctx, size_t area, const struct pt_flow_steps *s),
		       void *ctx, struct err *err);
