/* SPDX-License-Identifier: MIT */
/* The calls of a dump's Intel PT in memory, for drawing: by thread, then by start, outer calls
 * first. The number is limited; the newest are kept. */
#pragma once

#include "dump/view/pt/pt_spans.h"

#include <stdbool.h>

struct err;
struct meta;
struct process_history;
struct pt_calls;
struct reader;
struct symbols;
struct text;

struct pt_calls_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	size_t max;
};

/* All arguments must outlive the result. Returns 0 with *out NULL when the dump has no Intel PT, or
 * none that can be decoded. 0, -ENOMEM, ... */
int pt_calls_load(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct symbols *s, const struct pt_calls_options *opt,
		  struct pt_calls **out, struct err *err);
void pt_calls_free(struct pt_calls *c);

size_t pt_calls_nr(const struct pt_calls *c);
/* Depths start at 0; the times are within those of the options. */
const struct pt_spans_call *pt_calls_nth(const struct pt_calls *c, size_t i);
/* Older calls that were dropped. */
uint64_t pt_calls_nr_left_out(const struct pt_calls *c);
/* The name of the call's function, safe for a terminal. */
void pt_calls_name(struct pt_calls *c, const struct pt_spans_call *call, struct text *t);
/* The file of the function; NULL: unknown. Not escaped for a terminal. */
const char *pt_calls_image(struct pt_calls *c, const struct pt_spans_call *call);
