/* SPDX-License-Identifier: MIT */
/*
 * The call stack of a sample, with names: the call chain that the kernel recorded, or, where it
 * copied registers and a piece of the stack, the result of unwinding them (unwind.h). A struct
 * stacks belongs to one thread and caches what it finds about addresses.
 */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/base/text.h"

struct meta;
struct stacks;
struct timeline_record;
struct unwind;
struct unwind_chain;

/* More than any kernel records; functions inlined count. */
#define STACK_MAX_FRAMES 1024

struct stack_frame {
	uint64_t ip; /* as recorded: of a caller, where it goes on */
	bool kernel;
	bool interrupted; /* by a signal, not by a call: the frames before it are the handler's */
	struct symbol_place at; /* with at.inlined the next frame has the same ip */
};

/* Why there is nothing behind the last user frame. */
enum stack_end {
	STACK_EMPTY,	/* the sample has no stack at all */
	STACK_COMPLETE, /* as far as can be told */
	STACK_CUT,	/* as many frames as the kernel records, there may be more */
	/* What was copied did not lead to where the thread began: */
	STACK_SHORT,	 /* more of the stack would have been needed */
	STACK_NO_RULE,	 /* nothing tells how to go on from `end_image` */
	STACK_BAD,	 /* what should be the caller can't be */
	STACK_DEEP,	 /* more frames than are followed */
	STACK_ELSEWHERE, /* the callers have another stack */
	STACK_NO_REGS,	 /* a 32-bit program */
};

struct stack {
	const struct stack_frame *frames; /* innermost first: the kernel's, then the user's */
	size_t nr;
	enum stack_end end;
	const char *end_image; /* NO_RULE */
	uint64_t end_bytes;    /* SHORT: so many were copied */
	/* In this time, the same call chain of the same thread is the same stack; with nothing of
	 * the user's in it, of any thread. Not set when it was unwound. */
	struct history_span span;
};

/* All of them must outlive the result. 0, -ENOMEM. */
int stacks_new(const struct meta *m, const struct process_history *p, const struct symbols *s,
	       struct stacks **out, struct err *err);
void stacks_free(struct stacks *st);

/*
 * The stack of a record; of a sample without a call chain its ip alone, of others none. *out is
 * borrowed until the next call.
 */
void stack_get(struct stacks *st, const struct timeline_record *rec, struct stack *out);

/* "do_sys_poll", "libc.so.6+0x1234", "0xffff...": what a frame is called, safe for a terminal. */
void stack_name(const struct stack_frame *f, struct text *t);
/* What unwinds by the rules of the dump, for those that want no struct stacks. Both must outlive
 * it. */
int stack_unwind_new(const struct process_history *p, const struct symbols *s, struct unwind **out,
		     struct err *err);
/* What a chain's end is as a stack's: sets the fields that begin with `end`. */
void stack_end_of(const struct unwind_chain *c, struct stack *out);
/* Why there is no more, in a few words, safe for a terminal: "no unwind table for libx.so". Nothing
 * when it is complete. */
void stack_end_name(const struct stack *s, struct text *t);
