/* SPDX-License-Identifier: MIT */
/*
 * What the functions are called that a hardware's trace leads through. The same addresses come
 * again and again: what was found out is kept for the time for which it holds. A struct pt_names
 * belongs to one thread.
 */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/symbols/symbols.h"

struct pt_names;
struct text;

struct pt_names_place {
	const char *function; /* not safe for a terminal; NULL: unknown */
	const char *image;    /* NULL: unknown */
	uint64_t off;	      /* in the function; where that is unknown, in the image */
	/* The same function, the same number, its parts that the compiler put elsewhere (".cold")
	 * included. 0: unknown. */
	uint64_t id;
	const char *text; /* what pt_names_put() puts, when it is short; NULL: it has to be made */
	uint8_t text_len;
	bool kernel;
	bool leaves_frames; /* longjmp() and what unwinds exceptions: it ends its callers' calls */
};

/* Both must outlive it. 0, -ENOMEM. */
int pt_names_new(const struct process_history *p, const struct symbols *s, struct pt_names **out);
void pt_names_free(struct pt_names *n);

/* Borrowed until the next call. */
const struct pt_names_place *pt_names_get(struct pt_names *n, uint32_t tid, uint64_t ns,
					  uint64_t addr);
/* "dictFind", "libc.so.6+0x1234": safe for a terminal. */
void pt_names_put(const struct pt_names_place *p, uint64_t addr, struct text *t);
