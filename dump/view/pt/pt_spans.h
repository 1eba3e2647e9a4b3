/* SPDX-License-Identifier: MIT */
/*
 * From the steps of a hardware's trace to calls that begin and end: a stack for each thread.
 *
 *	 depth 0  ├─ main ···──────────────────────────────┤
 *	 depth 1     ├─ parse ─────────┤   ├─ send ─────────┤
 *	 depth 2        ├─ strtol ─┤
 *	                                     ░░ the kernel's, or not on a CPU
 *
 * Where the stack does not agree with a step it is put right: a return that leads further out ends
 * all calls in between; a jump to another function ends one and begins the other (a tail call);
 * longjmp() and exceptions end calls down to where the flow goes on; what a signal makes the thread
 * run is a call by the kernel. What was lost ends all calls, and the stack is built anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_names;
struct pt_spans;
struct pt_trace_step;

#define PT_SPANS_BEGAN	 1u  /* it began before what is known */
#define PT_SPANS_OPEN	 2u  /* it is not known to have ended */
#define PT_SPANS_LEFT	 4u  /* it did not return: it was left by longjmp() or an exception */
#define PT_SPANS_JUMPED	 8u  /* it did not return itself: it jumped to what comes next */
#define PT_SPANS_ENTERED 16u /* it was jumped to */
#define PT_SPANS_KERNEL	 32u /* called by the kernel: a signal's handler */
#define PT_SPANS_AGAIN	 64u /* its function is called by itself further out */

/* A call. */
struct pt_spans_call {
	uint64_t from_ns, to_ns;
	uint64_t self_ns;    /* that its own instructions took; what they had called not counted */
	uint64_t outside_ns; /* of from_ns to to_ns, in the kernel or off the CPU */
	uint64_t address;    /* in the function */
	uint64_t caller;     /* address of the call; 0: unknown */
	uint64_t id;	     /* as of struct pt_names_place */
	uint32_t tid;
	int32_t cpu;   /* where it ended */
	int32_t depth; /* from where the thread was first seen: outer ones may be below 0 */
	uint32_t flags;
};

/* What a step was. */
enum pt_spans_what {
	PT_SPANS_NOTHING,
	PT_SPANS_CALL,
	PT_SPANS_RETURN,
	PT_SPANS_OUT,  /* into the kernel */
	PT_SPANS_BACK, /* from there */
	PT_SPANS_LOST,
};

struct pt_spans_event {
	enum pt_spans_what what;
	uint64_t address; /* in the function that is called, returned from, or that went out */
	int32_t depth;	  /* of that */
	uint64_t ns;	  /* RETURN: since it was called; BACK: since it was out; 0: unknown */
	uint32_t nr_left; /* RETURN: calls that ended with it without returning */
	bool by_kernel;	  /* CALL: of a signal's handler */
};

/* `names` must outlive it. `each` (may be NULL) gets each call when it ends, inner ones first; not
 * 0: pt_spans_step() returns it. */
int pt_spans_new(struct pt_names *names, int (*each)(void *ctx, const struct pt_spans_call *c),
		 void *ctx, struct pt_spans **out);
void pt_spans_free(struct pt_spans *p);

/* Steps by time. What it was is in *event (may be NULL). 0, -ENOMEM, or what `each` said. */
int pt_spans_step(struct pt_spans *p, const struct pt_trace_step *step,
		  struct pt_spans_event *event);
/* No more steps: what is open ends at `ns`. */
int pt_spans_end(struct pt_spans *p, uint64_t ns);
