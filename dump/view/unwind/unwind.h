/* SPDX-License-Identifier: MIT */
/*
 * Call chains of samples with user registers and a copied part of the stack. Unwinds by the unwind
 * rules of the code, and by frame pointers where there are none. A struct unwind belongs to one
 * thread; several share the process history and the rules, which must not change meanwhile. Samples
 * and rules are not trusted: unwinding stops after UNWIND_MAX_FRAMES frames, or when the rules take
 * too many steps.
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
	UNWIND_ELSEWHERE, /* the callers are on another stack, which was not copied */
	UNWIND_NO_REGS,	  /* no 64-bit user registers: a kernel thread or a 32-bit program */
};

struct unwind_frame {
	uint64_t ip;
	bool exact; /* the code was at ip; else ip is a return address */
};

struct unwind_chain {
	const struct unwind_frame *frames; /* innermost first */
	size_t nr;
	enum unwind_end end;
	const char *image;    /* for UNWIND_NO_RULE; borrowed from the process history */
	uint64_t stack_bytes; /* bytes of stack that were copied */
};

/* The stack of a frame: from its stack pointer up, as far as it was copied. */
struct unwind_top {
	struct bytes stack;
	uint64_t bp; /* offset in `stack` of the frame pointer's target; may be outside */
	/* As history_map(), for the sample's process. */
	bool (*where)(void *arg, uint64_t addr, struct history_map *map);
	void *arg;
};

/* The source of rules. */
struct unwind_source {
	/* The rule for a place in a mapping; NULL: none. Valid until unwind_free(). */
	const struct unwind_rule *(*find)(void *ctx, const struct history_map *map, uint64_t place);
	/* May be NULL. If find() has no rule: concludes one from a frame. */
	const struct unwind_rule *(*conclude)(void *ctx, const struct history_map *map,
					      uint64_t place, const struct unwind_top *top);
	void *ctx;
};

/* `p` and the objects that `src` refers to must outlive the result; unwinding calls them. 0,
 * -ENOMEM. */
int unwind_new(const struct process_history *p, const struct unwind_source *src,
	       struct unwind **out, struct err *err);
void unwind_free(struct unwind *u);

/* Whether a record has the registers and the stack for unwinding. */
bool unwind_has(const struct timeline_record *rec);
/* unwind_has(rec) must be true. *out is borrowed until the next call. */
void unwind_sample(struct unwind *u, const struct timeline_record *rec, struct unwind_chain *out);
