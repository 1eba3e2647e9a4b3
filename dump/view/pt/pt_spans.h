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

struct ptname;
struct ptspan;
struct pttrace_step;

#define PTSPAN_BEGAN   1u  /* it began before what is known */
#define PTSPAN_OPEN    2u  /* it is not known to have ended */
#define PTSPAN_LEFT    4u  /* it did not return: it was left by longjmp() or an exception */
#define PTSPAN_JUMPED  8u  /* it did not return itself: it jumped to what comes next */
#define PTSPAN_ENTERED 16u /* it was jumped to */
#define PTSPAN_KERNEL  32u /* called by the kernel: a signal's handler */
#define PTSPAN_AGAIN   64u /* its function is called by itself further out */

/* A call. */
struct ptspan_call {
	uint64_t from_ns, to_ns;
	uint64_t self_ns;    /* that its own instructions took; what they had called not counted */
	uint64_t outside_ns; /* of from_ns to to_ns, in the kernel or off the CPU */
	uint64_t address;    /* in the function */
	uint64_t caller;     /* address of the call; 0: unknown */
	uint64_t id;	     /* as of struct ptname_place */
	uint32_t tid;
	int32_t cpu;   /* where it ended */
	int32_t depth; /* from where the thread was first seen: outer ones may be below 0 */
	uint32_t flags;
};

/* What a step was. */
enum ptspan_what {
	PTSPAN_NOTHING,
	PTSPAN_CALL,
	PTSPAN_RETURN,
	PTSPAN_OUT,  /* into the kernel */
	PTSPAN_BACK, /* from there */
	PTSPAN_LOST,
};

struct ptspan_event {
	enum ptspan_what what;
	uint64_t address; /* in the function that is called, returned from, or that went out */
	int32_t depth;	  /* of that */
	uint64_t ns;	  /* RETURN: since it was called; BACK: since it was out; 0: unknown */
	uint32_t nr_left; /* RETURN: calls that ended with it without returning */
	bool by_kernel;	  /* CALL: of a signal's handler */
};

/* `names` must outlive it. `each` (may be NULL) gets each call when it ends, inner ones first; not
 * 0: ptspan_step() returns it. */
int ptspan_new(struct ptname *names, int (*each)(void *ctx, const struct ptspan_call *c), void *ctx,
	       struct ptspan **out);
void ptspan_free(struct ptspan *p);

/* Steps by time. What it was is in *event (may be NULL). 0, -ENOMEM, or what `each` said. */
int ptspan_step(struct ptspan *p, const struct pttrace_step *step, struct ptspan_event *event);
/* No more steps: what is open ends at `ns`. */
int ptspan_end(struct ptspan *p, uint64_t ns);
