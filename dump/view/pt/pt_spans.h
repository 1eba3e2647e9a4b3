/* SPDX-License-Identifier: MIT */
/*
 * Turns the steps of a hardware trace into calls with a start and an end: one stack per thread.
 *
 *	 depth 0  ├─ main ···──────────────────────────────┤
 *	 depth 1     ├─ parse ─────────┤   ├─ send ─────────┤
 *	 depth 2        ├─ strtol ─┤
 *	                                     ░░ the kernel's, or not on a CPU
 *
 * A step that contradicts the stack corrects it: a return to an outer caller ends all calls in
 * between; a jump to another function ends one call and begins another (a tail call); longjmp() and
 * exceptions end calls down to the function that continues; a signal's handler is a call by the
 * kernel. Lost trace ends all calls, and the stack is rebuilt.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_names;
struct pt_spans;
struct pt_trace_step;

#define PT_SPANS_BEGAN	 1u  /* began before the known time */
#define PT_SPANS_OPEN	 2u  /* its end is unknown */
#define PT_SPANS_LEFT	 4u  /* did not return: left by longjmp() or an exception */
#define PT_SPANS_JUMPED	 8u  /* did not return: jumped to the next call (a tail call) */
#define PT_SPANS_ENTERED 16u /* entered by a jump */
#define PT_SPANS_KERNEL	 32u /* called by the kernel: a signal's handler */
#define PT_SPANS_AGAIN	 64u /* recursion: an outer call is of the same function */

/* A call. */
struct pt_spans_call {
	uint64_t from_ns, to_ns;
	uint64_t self_ns;    /* time of its own instructions, without its callees */
	uint64_t outside_ns; /* part of from_ns to to_ns in the kernel or off the CPU */
	uint64_t address;    /* in the function */
	uint64_t caller;     /* address of the call; 0: unknown */
	uint64_t id;	     /* as in struct pt_names_place */
	uint32_t tid;
	int32_t cpu;   /* CPU at its end */
	int32_t depth; /* relative to the thread's first known call; outer ones may be negative */
	uint32_t flags;
};

/* The meaning of a step. */
enum pt_spans_what {
	PT_SPANS_NOTHING,
	PT_SPANS_CALL,
	PT_SPANS_RETURN,
	PT_SPANS_OUT,  /* into the kernel */
	PT_SPANS_BACK, /* back from the kernel */
	PT_SPANS_LOST,
};

struct pt_spans_event {
	enum pt_spans_what what;
	uint64_t address; /* in the called or returning function, or the one that went OUT */
	int32_t depth;	  /* of that function */
	uint64_t ns;	  /* RETURN: since the call; BACK: since OUT; 0: unknown */
	uint32_t nr_left; /* RETURN: calls that it ended without a return */
	bool by_kernel;	  /* CALL: a signal's handler */
};

/* `names` must outlive the result. `each` (may be NULL) gets each call at its end, inner ones
 * first; if it returns non-zero, pt_spans_step() returns that. */
int pt_spans_new(struct pt_names *names, int (*each)(void *ctx, const struct pt_spans_call *c),
		 void *ctx, struct pt_spans **out);
void pt_spans_free(struct pt_spans *p);

/* Feeds steps in time order. Sets *event (may be NULL) to the meaning of the step. 0, -ENOMEM, or
 * the result of `each`. */
int pt_spans_step(struct pt_spans *p, const struct pt_trace_step *step,
		  struct pt_spans_event *event);
/* Ends the input: open calls end at `ns`. */
int pt_spans_end(struct pt_spans *p, uint64_t ns);
