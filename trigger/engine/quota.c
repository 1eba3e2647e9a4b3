// SPDX-License-Identifier: MIT
/* See quota.h. Used for a rule's max= and for a signature's same=. */
#include "trigger/engine/quota.h"

#include <errno.h>
#include <stdlib.h>

int quota_resize(struct quota *q, uint32_t max)
{
	uint64_t *times, kept = q->nr < q->max ? q->nr : q->max, n = kept < max ? kept : max;

	if (max == q->max)
		return 0;
	times = calloc(max, sizeof(*times));
	if (!times)
		return -ENOMEM;
	/* Reorders the kept times, oldest first. */
	for (uint64_t i = 0; i < n; i++)
		times[i] = q->times[(q->nr - n + i) % q->max];
	free(q->times);
	*q = (struct quota){.times = times, .nr = n, .max = max};
	return 0;
}

void quota_fini(struct quota *q)
{
	free(q->times);
	*q = (struct quota){0};
}

void quota_note(struct quota *q, uint64_t ns)
{
	if (q->max)
		q->times[q->nr++ % q->max] = ns;
}

uint64_t quota_last(const struct quota *q)
{
	return q->nr ? q->times[(q->nr - 1) % q->max] : 0;
}

uint64_t quota_until(const struct quota *q, int64_t period_ns)
{
	return q->max && q->nr >= q->max ? q->times[q->nr % q->max] + (uint64_t)period_ns : 0;
}

uint64_t quota_until_after(const struct quota *q, int64_t period_ns, uint64_t ns)
{
	if (!q->max || q->nr + 1 < q->max)
		return 0;
	return (q->max == 1 ? ns : q->times[(q->nr + 1) % q->max]) + (uint64_t)period_ns;
}
