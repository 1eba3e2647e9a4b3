/* SPDX-License-Identifier: MIT */
/*
 * What recent samples were unwound to. Much of a stack is the same in the next sample of its
 * thread, or in one soon: where instruction pointer and stack pointer are equal, and so is all that
 * was read from there on, so is the rest of the chain.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stddef.h>

struct unwind_memo;

struct unwind_memo_frame {
	uint64_t ip, sp;
	uint64_t bp;	     /* the frame pointer, */
	uint64_t bp_at;	     /* and where it was read, as in unwind_memo_read; 0: unknown */
	uint32_t first_read; /* of those that it took to get to the next frame */
	bool exact;	     /* as in unwind_frame */
};

/* A word of the stack, or the register of this number. */
struct unwind_memo_read {
	uint64_t addr, value;
};

struct unwind_memo_chain {
	struct unwind_memo_frame *frames;
	struct unwind_memo_read *reads;
	size_t nr, nr_reads;
};

/* NULL: out of memory. */
struct unwind_memo *unwind_memo_new(void);
void unwind_memo_free(struct unwind_memo *m);

/*
 * Adds to `c` what comes after its last frame, when a sample of the thread had such a frame and the
 * stack, which begins at address `sp`, says the same. `era` is another one when what addresses
 * mean has changed. False: nothing is known, or there is no room for it.
 */
bool unwind_memo_recall(const struct unwind_memo *m, uint32_t tid, uint64_t era, uint64_t sp,
			struct bytes stack, struct unwind_memo_chain *c, size_t max,
			size_t max_reads);

/* Remembers a sample that was unwound to the end. */
void unwind_memo_keep(struct unwind_memo *m, uint32_t tid, uint64_t era,
		      const struct unwind_memo_chain *c);
