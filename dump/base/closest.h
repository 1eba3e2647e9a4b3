/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": keeps the few names nearest to what was typed. Used for events, symbols, options.
 * Allocates nothing.
 */
#pragma once

#include <stddef.h>

struct err;

#define CLOSEST_MAX   3
#define CLOSEST_BYTES 128 /* longer names are not kept */

struct closest {
	const char *wanted; /* borrowed */
	size_t nr;
	struct closest_name {
		unsigned distance;
		char name[CLOSEST_BYTES];
	} best[CLOSEST_MAX]; /* nearest first */
};

/*
 * The number of edits from `a` to `b`: an insertion, deletion or replacement of a character, or a
 * swap of two neighbours. Case is ignored. Returns limit + 1 when there are more than `limit`.
 */
unsigned closest_distance(const char *a, const char *b, unsigned limit);

void closest_init(struct closest *c, const char *wanted);
/* Keeps `name` if it is near enough, and prints it as `shown` (NULL: `name`). */
void closest_add(struct closest *c, const char *name, const char *shown);
/* Sets err's hint to "did you mean A, B or C?", or to `otherwise` when no name is near. */
void closest_hint(const struct closest *c, struct err *err, const char *otherwise);
