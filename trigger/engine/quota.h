/* SPDX-License-Identifier: MIT */
/* "At most N within any TIME": the times of the last N dumps, and when the next is allowed. No
 * clock. */
#pragma once

#include <stdint.h>

struct quota {
	uint64_t *times; /* owned; NULL until the first */
	uint64_t nr;	 /* noted so far; the newest is at (nr - 1) modulo max */
	uint32_t max;	 /* capacity of `times` */
};

/* Changes the capacity; keeps the newest times. 0; -ENOMEM: unchanged. */
int quota_resize(struct quota *q, uint32_t max);
void quota_fini(struct quota *q);

void quota_note(struct quota *q, uint64_t ns);
uint64_t quota_last(const struct quota *q); /* 0: none */
/* When one more is allowed, with `max` in any `period_ns`; 0 or a past time: now. */
uint64_t quota_until(const struct quota *q, int64_t period_ns);
/* The same if one more were noted at `ns`. */
uint64_t quota_until_after(const struct quota *q, int64_t period_ns, uint64_t ns);
