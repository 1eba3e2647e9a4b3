/* SPDX-License-Identifier: MIT */
/*
 * The calls of a dump's Intel PT in memory, for whoever draws them: by thread, and in each by their
 * beginning, outer ones first. There are at most so many, the newest.
 */
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

/* All must outlive it. *out NULL, and 0, when the dump has no Intel PT, or nothing of it could be
 * decoded. 0, -ENOMEM, ... */
int pt_calls_load(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct symbols *s, const struct pt_calls_options *opt,
		  struct pt_calls **out, struct err *err);
void pt_calls_free(struct pt_calls *c);

size_t pt_calls_nr(const struct pt_calls *c);
/* Depths count from 0 here; within opt's time. */
const struct pt_spans_call *pt_calls_nth(const struct pt_calls *c, size_t i);
/* Calls that are left out, older than all that are there. */
uint64_t pt_calls_nr_left_out(const struct pt_calls *c);
/* What a call's function is called, safe for a terminal. */
void pt_calls_name(struct pt_calls *c, const struct pt_spans_call *call, struct text *t);
/* Its file; NULL: unknown. Foreign text. */
const char *pt_calls_image(struct pt_calls *c, const struct pt_spans_call *call);
