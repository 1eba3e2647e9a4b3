/* SPDX-License-Identifier: MIT */
/* Describes a dump, for people (at most 100 columns) and as JSON (SCHEMA.md): first what was lost,
 * then the trigger, the host, timing, and the window of each channel and ring. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct meta;
struct reader;

struct info_options {
	const char *path; /* as given; printed only */
	bool json, color;
	bool all; /* one line per ring, however many rings there are */
};

struct info_result {
	uint64_t nr_bad; /* blocks and items of the dump that could not be read */
};

/* Prints to `out`. *res is set in any case. 0, -ENOMEM, or the errno of writing (-EPIPE). */
int info_print(struct reader *r, const struct meta *m, const struct info_options *opt, FILE *out,
	       struct info_result *res, struct err *err);

/* Appends ", with the dump before it (NAME)" for a dump that was read together with others. */
struct text;
void info_joined(const struct meta *m, struct text *t);
