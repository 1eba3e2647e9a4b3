/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a dump, in at most 15 lines: what cost most time to the thread that requested the
 * dump, or to the thread that waited most; why; how certain that is; and what was not recorded. It
 * has no rules for particular programs: it measures where time went, follows wake-ups to their
 * origin, and says "nothing unusual" if it finds nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct meta;
struct reader;

struct why_options {
	uint64_t from_ns,
		to_ns; /* time to explain, in the dump's clock; both 0: chosen automatically */
	const char *without; /* a process or thread by number, a cgroup by its path, or threads by
			      * name, with * and ?: what remains of the wait without them; NULL: no */
	uint32_t pid;	     /* the process to explain; 0: any */
	uint32_t tid;	  /* 0: the thread that requested the dump, or the one that waited most */
	const char *comm; /* likewise by name, with * and ?; NULL: any */
	struct reader *baseline; /* what is usual is also taken from this dump; NULL: no */
	const struct meta *baseline_meta;
	bool json, color;
};

struct why_result {
	uint64_t nr_bad_blocks; /* unreadable and not considered */
};

/* Prints to `out`. 0; -ENOENT when there is no such thread, or no wait
 * that --without could apply to; -EPIPE and other errnos of writing;
 * -ENOMEM. Bad blocks are not an error. */
int why_print(struct reader *r, const struct meta *m, const struct why_options *opt, FILE *out,
	      struct why_result *res, struct err *err);
