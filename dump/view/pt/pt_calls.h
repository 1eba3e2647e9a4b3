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
struct people;
struct ptcalls;
struct reader;
struct symbols;
struct text;

struct ptcalls_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	size_t max;
};

/* All must outlive it. *out NULL, and 0, when the dump has no Intel PT, or nothing of it could be
 * decoded. 0, -ENOMEM, ... */
int ptcalls_load(struct reader *r, const struct meta *m, const struct people *p,
		 const struct symbols *s, const struct ptcalls_options *opt, struct ptcalls **out,
		 struct err *err);
void ptcalls_free(struct ptcalls *c);

size_t ptcalls_nr(const struct ptcalls *c);
/* Depths count from 0 here; within opt's time. */
const struct ptspan_call *ptcalls_nth(const struct ptcalls *c, size_t i);
/* Calls that are left out, older than all that are there. */
uint64_t ptcalls_nr_left_out(const struct ptcalls *c);
/* What a call's function is called, safe for a terminal. */
void ptcalls_name(struct ptcalls *c, const struct ptspan_call *call, struct text *t);
/* Its file; NULL: unknown. Foreign text. */
const char *ptcalls_image(struct ptcalls *c, const struct ptspan_call *call);
