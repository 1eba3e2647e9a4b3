/* SPDX-License-Identifier: MIT */
/*
 * Follows a dump's Intel PT when the dump is made, where the code still is: the functions that it
 * leads through join the addresses that get names, and the code that it took becomes part of the
 * dump, which then tells on any machine what ran. Called before names are looked for; the newest
 * comes first, for there may not be time for all.
 */
#pragma once

#include "dump/view/pt/code_cache.h"

struct collect_pt;
struct meta;
struct reader;
struct symbols_writer;

struct collect_pt_options {
	struct code_cache_options code;
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC: what is not begun then is left; 0: never */
};

/* The code goes to `put`, whose errors are in put->rc. 0, -ENOMEM, ...: a dump without Intel PT is
 * no error. */
int collect_pt(struct reader *r, const struct meta *m, const struct process_history *p,
	       const struct collect_pt_options *opt, struct addresses *hits,
	       struct symbols_writer *put, struct err *err);
