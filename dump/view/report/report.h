/* SPDX-License-Identifier: MIT */
/*
 * A summary of a dump for readers who were not there: the trigger and what it saw, what was lost,
 * then what ran, what waited and why, where time went, and other events. Reads the dump once or in
 * two parallel passes; sections without data are left out, and the last lines say how to record
 * these.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct meta;
struct reader;

struct report_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	unsigned width;		 /* columns, at least 80 */
	bool color;
	/* Only these threads; empty lists accept all. Names with * and ?. */
	const uint32_t *tids;
	const char *const *comms;
	size_t nr_tids, nr_comms;
	/* Called now and then; NULL: never. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

struct report_result {
	uint64_t nr_bad; /* blocks and items that could not be read */
};

/* Prints to `out`. Always sets *res. 0; -ENOENT when no thread matches; -ENOMEM; the errno of
 * writing (-EPIPE). Bad blocks are not an error. */
int report_print(struct reader *r, const struct meta *m, const struct report_options *opt,
		 FILE *out, struct report_result *res, struct err *err);

/* Prints what grew from `base` to the other dump, unless it may be chance; see report_diff.c.
 * Progress is the sum over both dumps. */
int report_diff(struct reader *base_r, const struct meta *base_m, struct reader *r,
		const struct meta *m, const struct report_options *opt, FILE *out,
		struct report_result *res, struct err *err);
