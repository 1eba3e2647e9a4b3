/* SPDX-License-Identifier: MIT */
/*
 * Writes a dump as one page for a browser: the verdict, a timeline of CPUs and threads, flame
 * graphs and a table of threads. The file is self-contained and makes no network requests, so it
 * can be sent by mail.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct err;
struct meta;
struct reader;

struct html_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	size_t max_spans; /* if there are more, spans far from the trigger are merged; 0: default */
	/* Called now and then; NULL: never. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

struct html_result {
	uint64_t nr_bad;    /* blocks and items that could not be read */
	uint64_t nr_merged; /* spans that are in the page only as part of a merged one */
};

/* Writes the page to `out`. Always sets *res. 0; -ENOMEM; the errno of writing. Bad blocks are not
 * an error. */
int html_write(struct reader *r, const struct meta *m, const struct html_options *opt, FILE *out,
	       struct html_result *res, struct err *err);
