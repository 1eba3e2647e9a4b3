/* SPDX-License-Identifier: MIT */
/*
 * A dump and the one before it, of the same recorder, as one. Each dump begins with an empty bank,
 * so what a rule took long to see may have begun in the dump before. Consecutive dumps tile time
 * but for some microseconds in which both banks record; these are cut in the middle:
 *
 *	older   ──────────────────────┤ paused
 *	newer                    armed├─────────────────▶ trigger
 *	joined  ───────────────────┼────────────────────▶ trigger: time 0, rule and losses are
 *newer's
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct meta;
struct reader;

/* A dump that was opened; borrowed. */
struct join_dump {
	struct reader *r;
	const struct meta *m;
	const char *name; /* of its file, for people */
};

/*
 * Writes both as one dump into the empty file `fd`. Only rings that have no hole between the two
 * get longer; *nr_joined is their number. -ENODATA when there is none, or they are no consecutive
 * dumps of one recorder, with what was found in `err`; or another errno.
 */
int join_join(const struct join_dump *older, const struct join_dump *newer, int fd,
	      size_t *nr_joined, struct err *err);
