/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": of many names offered one by one, keeps the few that are nearest to what was
 * typed. Used for events, symbols and whatever else people spell wrong. Allocates nothing.
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
 * Edits that turn `a` into `b`: a character put in, left out, replaced, or two neighbours swapped.
 * Case does not count as an edit. More than `limit` is reported as limit + 1.
 */
unsigned closest_distance(const char *a, const char *b, unsigned limit);

void closest_init(struct closest *c, const char *wanted);
/* Considers `name`; as `shown` (NULL: itself) it is kept when it is near enough. */
void closest_add(struct closest *c, const char *name, const char *shown);
/* Sets err's hint to "did you mean A, B or C?", or to `otherwise` when nothing was near. */
void closest_hint(const struct closest *c, struct err *err, const char *otherwise);
