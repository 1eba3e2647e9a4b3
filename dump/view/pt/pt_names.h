/* SPDX-License-Identifier: MIT */
/* Names of the functions in a hardware trace. Addresses repeat, so each answer is cached for the
 * time for which it holds. A struct pt_names belongs to one thread. */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/symbols/symbols.h"

struct pt_names;
struct text;

struct pt_names_place {
	const char *function; /* not escaped for a terminal; NULL: unknown */
	const char *image;    /* NULL: unknown */
	uint64_t off;	      /* in the function; if that is unknown, in the image */
	/* Equal for one function, including the parts that the compiler put elsewhere (".cold"). 0:
	 * unknown. */
	uint64_t id;
	const char *text; /* cached output of pt_names_put() if it is short; else NULL */
	uint8_t text_len;
	bool kernel;
	bool leaves_frames; /* longjmp() or exception unwinding: ends calls of its callers */
};

/* `p` and `s` must outlive the result. 0, -ENOMEM. */
int pt_names_new(const struct process_history *p, const struct symbols *s, struct pt_names **out);
void pt_names_free(struct pt_names *n);

/* Borrowed until the next call. */
const struct pt_names_place *pt_names_get(struct pt_names *n, uint32_t tid, uint64_t ns,
					  uint64_t addr);
/* Writes "dictFind" or "libc.so.6+0x1234", safe for a terminal. */
void pt_names_put(const struct pt_names_place *p, uint64_t addr, struct text *t);
