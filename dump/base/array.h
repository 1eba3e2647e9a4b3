/* SPDX-License-Identifier: MIT */
/* Two things that are done to arrays again and again: room for one more, and binary search. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline void *array_grown(void *v, size_t nr, size_t bytes)
{
	return nr & (nr - 1) ? v : reallocarray(v, nr ? 2 * nr : 1, bytes);
}

/*
 * Makes room for one more behind the `nr` elements of `v`, which must only grow this way (NULL with
 * 0). True: `v` may have moved. False: out of memory, and `v` is as it was.
 */
#define array_room(v, nr)                                                                          \
	({                                                                                         \
		void *grown_ = array_grown((v), (nr), sizeof(*(v)));                               \
		if (grown_)                                                                        \
			(v) = grown_;                                                              \
		grown_ != NULL;                                                                    \
	})

/*
 * Of `nr` sorted elements, how many come first for which `before` holds: an expression of the index
 * `i` that is true of these and false of all behind them.
 */
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
