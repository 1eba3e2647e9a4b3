/* SPDX-License-Identifier: MIT */
/*
 * The call stack of a sample, with names: the call chain that the kernel recorded, or, if it copied
 * registers and part of the stack, the result of unwinding these (unwind.h). A struct stacks
 * belongs to one thread and caches results by address.
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

/* More than any kernel records; inlined functions count. */
#define STACK_MAX_FRAMES 1024

struct stack_frame {
	uint64_t ip; /* as recorded: for a caller, the return address */
	bool kernel;
	bool interrupted; /* by a signal, not a call: the frames before it are the handler's */
	struct symbol_place at; /* if at.inlined, the next frame has the same ip */
};

/* Why the user frames end. */
enum stack_end {
	STACK_EMPTY,	/* the sample has no stack */
	STACK_COMPLETE, /* no sign that frames are missing */
	STACK_CUT,	/* the kernel's limit of frames: there may be more */
	/* The copied part of the stack does not reach the start of the thread: */
	STACK_SHORT,	 /* not enough of the stack was copied */
	STACK_NO_RULE,	 /* no unwind rule for code in `end_image` */
	STACK_BAD,	 /* the caller found is not valid */
	STACK_DEEP,	 /* more frames than the limit */
	STACK_ELSEWHERE, /* the callers are on another stack */
	STACK_NO_REGS,	 /* a 32-bit program */
};

struct stack {
	const struct stack_frame *frames; /* innermost first: kernel frames, then user frames */
	size_t nr;
	enum stack_end end;
	const char *end_image; /* for STACK_NO_RULE */
	uint64_t end_bytes;    /* STACK_SHORT: bytes of stack that were copied */
	/* For this time, the same call chain of the same thread gives the same stack; a chain with
	 * only kernel frames, for any thread. Not set for unwound stacks. */
	struct history_span span;
};

/* All arguments must outlive the result. 0, -ENOMEM. */
int stacks_new(const struct meta *m, const struct process_history *p, const struct symbols *s,
	       struct stacks **out, struct err *err);
void stacks_free(struct stacks *st);

/* The stack of a record. A sample without a call chain has only its ip; other records have none.
 * *out is borrowed until the next call. */
void stack_get(struct stacks *st, const struct timeline_record *rec, struct stack *out);

/* The name of a frame, safe for a terminal: "do_sys_poll", "libc.so.6+0x1234", "0xffff...". */
void stack_name(const struct stack_frame *f, struct text *t);
/* An unwinder with the rules of the dump, for callers without a struct stacks. `p` and `s` must
 * outlive it. */
int stack_unwind_new(const struct process_history *p, const struct symbols *s, struct unwind **out,
		     struct err *err);
/* Sets the fields of *out that begin with `end` from the end of an unwound chain. */
void stack_end_of(const struct unwind_chain *c, struct stack *out);
/* Why the stack ends, in a few words, safe for a terminal: "no unwind table for libx.so". Empty
 * when the stack is complete. */
void stack_end_name(const struct stack *s, struct text *t);
