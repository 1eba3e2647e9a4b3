/* SPDX-License-Identifier: MIT */
/*
 * Call chains of samples that have user registers and a copied piece of the stack: by the unwind
 * rules of the code, without rules by frame pointers. A struct unwind belongs to one thread;
 * several share the process history and the rules, which must not change meanwhile. Samples and
 * rules are not trusted: unwinding stops after UNWIND_MAX_FRAMES frames, or when the rules take too
 * many steps.
 */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/cfi/unwind_rules.h"

struct err;
struct timeline_record;
struct unwind;

#define UNWIND_MAX_FRAMES 512

/* Why the chain ends. */
enum unwind_end {
	UNWIND_COMPLETE,  /* reached the start of the thread */
	UNWIND_CUT,	  /* the rest of the stack was not copied */
	UNWIND_NO_RULE,	  /* `image` has no rule for the code */
	UNWIND_BAD,	  /* the caller is not valid */
	UNWIND_DEEP,	  /* more frames than UNWIND_MAX_FRAMES */
	UNWIND_ELSEWHERE, /* the callers have another stack, which was not copied */
	UNWIND_NO_REGS, /* no 64-bit user registers: a thread of the kernel, or a 32-bit program */
};

struct unwind_frame {
	uint64_t ip;
	bool exact; /* the code was at ip; else it is where a call returns to */
};

struct unwind_chain {
	const struct unwind_frame *frames; /* innermost first */
	size_t nr;
	enum unwind_end end;
	const char *image;    /* NO_RULE: borrowed from people */
	uint64_t stack_bytes; /* that were copied */
};

/* What a frame has: the stack from its stack pointer up, as far as it was copied. */
struct unwind_top {
	struct bytes stack;
	uint64_t bp; /* where in `stack` the frame pointer points to; may be outside */
	/* As history_map(), for the sample's process. */
	bool (*where)(void *arg, uint64_t addr, struct history_map *map);
	void *arg;
};

/* Where rules come from. */
struct unwind_source {
	/* The rule for a place in what is mapped there; NULL: there is none. Stays until unwind_free(). */
	const struct unwind_rule *(*find)(void *ctx, const struct history_map *map, uint64_t place);
	/* May be NULL. Where there is none: one that is concluded from a frame. */
	const struct unwind_rule *(*conclude)(void *ctx, const struct history_map *map,
					      uint64_t place, const struct unwind_top *top);
	void *ctx;
};

/* What is asked while unwinding goes on; `p` and what `src` refers to must outlive it. 0, -ENOMEM.
 */
int unwind_new(const struct process_history *p, const struct unwind_source *src,
	       struct unwind **out, struct err *err);
void unwind_free(struct unwind *u);

/* Whether a record has what is unwound here. */
bool unwind_has(const struct timeline_record *rec);
/* `rec` is one that unwind_has(). *out is borrowed until the next call. */
void unwind_sample(struct unwind *u, const struct timeline_record *rec, struct unwind_chain *out);
