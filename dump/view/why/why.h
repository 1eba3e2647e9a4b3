/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a dump: what the thread that asked for it, or the one that was worst off, lost its
 * time to, and what is behind that, in at most 15 lines; how sure that is, and what was not
 * recorded. It knows no program: it measures where time went, follows wake-ups to their root, and
 * says "nothing unusual" when nothing is.
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
		to_ns;	  /* what is to be explained, in the dump's clock; both 0: by itself */
	uint32_t tid;	  /* 0: the thread that asked, or the worst off */
	const char *comm; /* the same by name, with * and ?; NULL: any */
	bool json, color;
};

struct why_result {
	uint64_t nr_bad_blocks; /* could not be read and are not considered */
};

/*
 * Prints to `out`. 0; -ENOENT when there is no such thread; -EPIPE and other errnos of writing;
 * -ENOMEM. Bad blocks are no error.
 */
int why_print(struct reader *r, const struct meta *m, const struct why_options *opt, FILE *out,
	      struct why_result *res, struct err *err);
