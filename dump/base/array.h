/* SPDX-License-Identifier: MIT */
/* Two macros for arrays: room for one more element, and binary search. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline void *array_grown(void *v, size_t nr, size_t bytes)
{
	return nr & (nr - 1) ? v : reallocarray(v, nr ? 2 * nr : 1, bytes);
}

/*
 * Makes room for one more element after the `nr` elements of `v`, which must only grow through this
 * macro (NULL while nr is 0). True: `v` may have moved. False: out of memory, and `v` is unchanged.
 */
#define array_room(v, nr)                                                                          \
	({                                                                                         \
		void *grown_ = array_grown((v), (nr), sizeof(*(v)));                               \
		if (grown_)                                                                        \
			(v) = grown_;                                                              \
		grown_ != NULL;                                                                    \
	})

/* The number of leading elements, of `nr` sorted ones, for which `before` is true: an expression in
 * the index `i` that is true for these and false for all later ones. */
#define array_bisect(i, nr, before)                                                                \
	({                                                                                         \
		size_t from_ = 0, to_ = (nr);                                                      \
		while (from_ < to_) {                                                              \
			size_t i = from_ + (to_ - from_) / 2;                                      \
			if (before)                                                                \
				from_ = i + 1;                                                     \
			else                                                                       \
				to_ = i;                                                           \
		}                                                                                  \
		from_;                                                                             \
	})
