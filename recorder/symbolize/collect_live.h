/* SPDX-License-Identifier: MIT */
/*
 * Names for a dump in the making, from the machine that it is made on. Run in a process of its own
 * (symbols_child.h): it reads files that anybody may have made.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct pt_store;

struct collect_live_options {
	const char *path; /* of the dump, committed or not */
	int table_fd;	  /* of the files that the recorder holds, see pinned_list.h; -1: none */
	uint64_t deadline_ns;
	struct pt_store *store; /* for code; NULL: no trace is followed */
	/* Called with each payload of a SYMBOLS block; 0 or -errno, which ends it. */
	int (*out)(void *ctx, struct bytes payload);
	void *ctx;
};

/* 0 or -errno; what was found until then has been given out. */
int collect_live(const struct collect_live_options *opt, struct err *err);
