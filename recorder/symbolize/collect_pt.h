/* SPDX-License-Identifier: MIT */
/*
 * Decodes a dump's Intel PT when the dump is made, while the code is still available. Executed
 * functions are added to the addresses to name, and their code is stored in the dump, so that it
 * can be decoded on any machine. Called before the search for names; decodes the newest trace
 * first, since the time is limited.
 */
#pragma once

#include "dump/view/pt/code_cache.h"

struct collect_pt;
struct meta;
struct reader;
struct symbols_writer;

struct collect_pt_options {
	struct code_cache_options code;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; no new work starts after it; 0: none */
};

/* Passes the code to `put`; its errors are in put->rc. 0, -ENOMEM, ...; a dump without Intel PT is
 * no error. */
int collect_pt(struct reader *r, const struct meta *m, const struct process_history *p,
	       const struct collect_pt_options *opt, struct addresses *hits,
	       struct symbols_writer *put, struct err *err);
