/* SPDX-License-Identifier: MIT */
/*
 * What the records of the trigger itself tell (FMT_WINDOW_TRIGGER): how a thread crashed and where,
 * the stack of a call that took too long. For the first lines of info, report and why. Texts are
 * safe for a terminal, and empty when there is nothing to say.
 */
#pragma once

#include "dump/view/base/text.h"

struct analysis;
struct err;

struct cause {
	bool is_crash;
	int32_t sig, code;    /* of a crash; 0: not in the records */
	struct text took;     /* "12.3 ms, from -12.4 ms to -100 us" */
	struct text signal;   /* "SIGSEGV (SEGV_MAPERR), fault address 0x10, sent by kill (812)" */
	struct text stack;    /* "inner (seg.c:4) <- middle (seg.c:5) <- main (seg.c:7)" */
	struct text function; /* "inner": the first of it that has a name */
	/* The process' other threads, one after the other with a NUL each: "desk-1 (812): poll <-
	 * wait <- desk"; those at the same place together, the most first: "3 threads, as desk-1
	 * (812): ...". At most CAUSE_MAX_THREADS lines; how many threads there are, and are in
	 * them. */
	struct text threads;
	uint32_t nr_threads, nr_shown;
};

#define CAUSE_MAX_THREADS 8

/* Opens what it needs of `a`; a dump without such records costs nothing. 0, -ENOMEM, ... */
int cause_find(struct analysis *a, struct cause *out, struct err *err);
void cause_free(struct cause *c);

/* One of its texts, with a NUL. Of `threads` the first; the next stands behind its NUL. */
static inline const char *cause_text(const struct text *t)
{
	return t->b.len ? (const char *)t->b.p : "";
}
