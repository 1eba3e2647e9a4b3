/* SPDX-License-Identifier: MIT */
/*
 * Finds names for a dump in progress, on the recorded machine. Runs in a process of its own
 * (symbols_child.h), since it reads files that other users may have made.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct pt_store;

struct collect_live_options {
	const char *path; /* of the dump, committed or not */
	int table_fd;	  /* of the files held by the recorder, see pinned_list.h; -1: none */
	uint64_t deadline_ns;
	struct pt_store *store; /* for code; NULL: no trace is decoded */
	/* Called with each payload of a SYMBOLS block; with one of a CGROUPS block. Returns 0, or
	 * -errno to end the search. */
	int (*out)(void *ctx, struct bytes payload);
	int (*out_cgroups)(void *ctx, struct bytes payload);
	void *ctx;
};

/* 0 or -errno; results found before an error were passed to out(). */
int collect_live(const struct collect_live_options *opt, struct err *err);
