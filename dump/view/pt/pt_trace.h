/* SPDX-License-Identifier: MIT */
/*
 * The Intel PT of a dump: the steps of all its areas in the order of time, each with the thread
 * that took it. Areas are decoded piece by piece, from the time that is asked for on; what is in
 * memory is the newest bytes of each area, as far back as that, and the steps of one piece of each
 * and of a few that threads decoded ahead.
 *
 *	SWITCH records ─▶ who ran when ─┐
 *	codebook ─▶ code ───────────────┼─▶ ptflow ─▶ steps of an area ─┐
 *	AUX ─▶ bytes of an area ────────┘                 ... ─▶ steps ─┴─▶ by time ─▶ caller
 */
#pragma once

#include "dump/view/pt/code_cache.h"
#include "dump/file/meta.h"

struct pt_trace;

struct pt_trace_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	struct code_cache *book; /* whose it stays; NULL: one of its own */
	/* Of each area the newest at most; 0: as is good. */
	uint64_t max_bytes;
	/* That decode for pt_trace_next(), ahead of it; 0: as many as there are CPUs, 1: only
	 * whoever calls. The steps are the same. */
	unsigned nr_threads;
};

struct pt_trace_area {
	const char *channel; /* foreign text */
	int32_t cpu, tid;    /* -1: any */
	uint64_t bytes;	     /* that the dump has */
	uint64_t used_bytes; /* of these, that were loaded */
	uint64_t from_ns;    /* what can be decoded begins here; 0: nothing can */
	uint64_t stop_ns;    /* when it was stopped */
	bool broken;	     /* part of it is damaged: what is newer is used */
	bool no_clock;	     /* of no use: its times mean nothing */
};

/* A step; `at` is where the same flow was seen next, 0: not known. It tells what a call that went
 * through a stub, or a jump, has led to. */
struct pt_trace_step {
	uint64_t ns, from, to, at;
	uint32_t tid; /* UINT32_MAX: not known */
	uint32_t area;
	int32_t cpu;  /* -1: not known */
	uint8_t kind; /* enum pt_flow_kind */
	bool anew;    /* ON: of a program that the thread has become since its last step here */
};

/* True when the dump has Intel PT. */
bool pt_trace_is_in(const struct meta *m);

/*
 * All must outlive it. *out NULL, and 0, when the dump has no Intel PT. 0, -ENOMEM, ...: what is
 * damaged is no error.
 */
int pt_trace_open(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct pt_trace_options *opt, struct pt_trace **out, struct err *err);
void pt_trace_close(struct pt_trace *t);

size_t pt_trace_nr_areas(const struct pt_trace *t);
const struct pt_trace_area *pt_trace_area(const struct pt_trace *t, size_t i);

/* The next step, by time; steps before from_ns come too, as far as they are in the same piece: of
 * these it is known what was being called. 1; 0: the end; -ENOMEM. */
int pt_trace_next(struct pt_trace *t, struct pt_trace_step *out, struct err *err);

/*
 * The steps of one area's part after the other, newest first, decoded by `nr_threads` threads, in
 * the part's own order; for whoever wants the newest of as much as there is time for. `each` may
 * end it with non-zero, which is returned. Not together with pt_trace_next().
 */
int pt_trace_backwards(struct pt_trace *t, size_t area, unsigned nr_threads,
		       int (*each)(void *ctx, size_t area, const struct pt_flow_steps *s),
		       void *ctx, struct err *err);
