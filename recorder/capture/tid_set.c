// SPDX-License-Identifier: MIT
/*
 * A set of tids: a bitmap for the maximum of kernel.pid_max (512 KiB, of which only touched pages
 * are resident), so that a later change of pid_max does not matter. Filled by several threads while
 * frozen rings are read: adding and testing access one word each, and clearing only the words
 * between the smallest and the largest tid. A tid that is already set is not written again, to keep
 * the cache line shared.
 */
#include "recorder/ledger/ledger.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIDS (4u << 20) /* PID_MAX_LIMIT of 64-bit kernels */
#define NR_WORDS (MAX_TIDS / 64)

struct tidset {
	_Atomic uint32_t lo, hi; /* touched words: [lo, hi) */
	_Atomic uint64_t words[NR_WORDS];
};

int tidset_new(struct tidset **out, struct err *err)
{
	struct tidset *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "no memory for a set of thread ids");
	s->lo = NR_WORDS;
	*out = s;
	return 0;
}

void tidset_free(struct tidset *s)
{
	free(s);
}

void tidset_clear(struct tidset *s)
{
	if (s->hi > s->lo)
		memset((void *)(s->words + s->lo), 0, (s->hi - s->lo) * sizeof(s->words[0]));
	s->lo = NR_WORDS;
	s->hi = 0;
}

void tidset_add(struct tidset *s, uint32_t tid)
{
	uint32_t w = tid / 64, lo, hi;
	uint64_t bit = 1ull << (tid % 64);

	if (w >= NR_WORDS || s->words[w] & bit)
		return;
	atomic_fetch_or(&s->words[w], bit);
	lo = s->lo;
	while (w < lo && !atomic_compare_exchange_weak(&s->lo, &lo, w))
		;
	hi = s->hi;
	while (w + 1 > hi && !atomic_compare_exchange_weak(&s->hi, &hi, w + 1))
		;
}

bool tidset_has(const struct tidset *s, uint32_t tid)
{
	uint32_t w = tid / 64;

	return w < NR_WORDS && s->words[w] >> (tid % 64) & 1;
}
