/* SPDX-License-Identifier: MIT */
/*
 * What the trigger's own records (FMT_WINDOW_TRIGGER) show: how and where a thread crashed, the
 * stack of a call that took too long. Used in the first lines of info, report and why. Texts are
 * safe for a terminal; they are empty when the records lack the data.
 */
#pragma once

#include "dump/view/base/text.h"

struct analysis;
struct err;

struct cause {
	bool is_crash;
	int32_t sig, code;     /* of a crash; 0: not in the records */
	const char *group;     /* control group of the thread; NULL: unknown */
	struct text container; /* "pod checkout-7d9, container app": that this is of */
	struct text took;      /* "12.3 ms, from -12.4 ms to -100 us" */
	struct text signal;    /* "SIGSEGV (SEGV_MAPERR), fault address 0x10, sent by kill (812)" */
	struct text stack;     /* "inner (seg.c:4) <- middle (seg.c:5) <- main (seg.c:7)" */
	struct text function;  /* "inner": the innermost function of the stack that has a name */
	/*
	 * The other threads of the process, each terminated by a NUL: "desk-1 (812): poll <- wait
	 * <- desk". Threads at the same place share a line, largest group first: "3 threads, as
	 * desk-1 (812): ...". At most CAUSE_MAX_THREADS lines; then the number of threads, and of
	 * threads in these lines.
	 */
	struct text threads;
	uint32_t nr_threads, nr_shown;
};

#define CAUSE_MAX_THREADS 8

/* Opens the parts of `a` that it needs; cheap for a dump without such records. 0, -ENOMEM, ... */
int cause_find(struct analysis *a, struct cause *out, struct err *err);
void cause_free(struct cause *c);

/* One of the texts, terminated. In `threads` this is the first line; the next follows its NUL. */
static inline const char *cause_text(const struct text *t)
{
	return t->b.len ? (const char *)t->b.p : "";
}
