/* SPDX-License-Identifier: MIT */
/*
 * Joins a dump and the previous one of the same recorder. Each dump begins with an empty bank, so
 * what led to a hit may have begun in the previous dump. Consecutive dumps cover time without gaps;
 * for some microseconds both banks record, and these are cut in the middle:
 *
 *	older   ──────────────────────┤ paused
 *	newer                    armed├─────────────────▶ trigger
 *	joined  ───────────────────┼────────────────────▶ time 0, rule and losses of the newer
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct meta;
struct reader;

/* An open dump; borrowed. */
struct join_dump {
	struct reader *r;
	const struct meta *m;
	const char *name; /* of its file, for messages */
};

/*
 * Writes both as one dump to the empty file `fd`. Joins only rings without a gap between the two;
 * *nr_joined is their number. -ENODATA when there is none, or the two are not consecutive dumps of
 * one recorder (`err` has the reason); or another errno.
 */
int join_dumps(const struct join_dump *older, const struct join_dump *newer, int fd,
	       size_t *nr_joined, struct err *err);
