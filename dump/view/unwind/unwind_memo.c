// SPDX-License-Identifier: MIT
/* Chains of recent samples, found by any of their frames; see unwind_memo.h. Called by unwind.c. */
#include "dump/view/unwind/unwind_memo.h"

#include "dump/base/hash.h"

#include <stdlib.h>
#include <string.h>

#define NR_CHAINS 256  /* the last ones */
#define NR_SLOTS  4096 /* a power of two */
/* Longer ones are not remembered. */
#define MAX_FRAMES 128
#define MAX_READS  1024

struct chain {
	uint32_t tid;
	uint64_t era;
	uint64_t seq;	   /* its number among all; 0: nothing is known */
	struct buf frames; /* struct unwind_memo_frame[] */
	struct buf reads;  /* struct unwind_memo_read[] */
	size_t nr, nr_reads;
};

/* A frame: the i-th of the chain that has this number, if it is still there. */
struct slot {
	uint64_t seq;
	uint32_t i;
};

struct unwind_memo {
	struct chain chains[NR_CHAINS];
	struct slot slots[NR_SLOTS];
	uint64_t seq;
};

static size_t slot_of(uint32_t tid, const struct unwind_memo_frame *f)
{
	return hash_mix(f->ip ^ f->sp << 20, (uint64_t)tid << 44) & (NR_SLOTS - 1);
}

struct unwind_memo *unwind_memo_new(void)
{
	return calloc(1, sizeof(struct unwind_memo));
}

void unwind_memo_free(struct unwind_memo *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < NR_CHAINS; i++) {
		buf_free(&m->chains[i].frames);
		buf_free(&m->chains[i].reads);
	}
	free(m);
}

static bool is_same(const struct unwind_memo_frame *x, const struct unwind_memo_frame *y)
{
	return x->sp == y->sp && x->ip == y->ip && x->exact == y->exact;
}

/*
 * What lies below the frame, or is a register, was read for the value that a register has in it:
 * of these only the frame pointer is known.
 */
static bool same_words(const struct chain *l, const struct unwind_memo_frame *f,
		       const struct unwind_memo_frame *now, uint64_t sp, struct bytes stack)
{
	const struct unwind_memo_read *v = (const struct unwind_memo_read *)l->reads.p;
	uint64_t value;

	for (size_t i = f->first_read; i < l->nr_reads; i++) {
		if (v[i].addr < f->sp) {
			if (!f->bp_at || v[i].addr != f->bp_at || f->bp != now->bp)
				return false;
			continue;
		}
		if (v[i].addr < sp || !span_fits(v[i].addr - sp, sizeof(value), stack.len))
			return false;
		memcpy(&value, stack.p + (v[i].addr - sp), sizeof(value));
		if (value != v[i].value)
			return false;
	}
	return true;
}

/* Frames behind the i-th, and their reads. */
static bool add_rest(const struct chain *l, size_t i, struct unwind_memo_chain *c, size_t max,
		     size_t max_reads)
{
	const struct unwind_memo_frame *v = (const struct unwind_memo_frame *)l->frames.p;
	size_t first = v[i].first_read, nr = l->nr - i - 1, nr_reads = l->nr_reads - first;

	if (nr > max - c->nr || c->nr_reads > max_reads || nr_reads > max_reads - c->nr_reads)
		return false;
	for (size_t k = 0; k < nr; k++) {
		c->frames[c->nr + k] = v[i + 1 + k];
		c->frames[c->nr + k].first_read += (uint32_t)(c->nr_reads - first);
	}
	if (nr_reads)
		memcpy(c->reads + c->nr_reads, (const struct unwind_memo_read *)l->reads.p + first,
		       nr_reads * sizeof(*c->reads));
	c->nr += nr;
	c->nr_reads += nr_reads;
	return true;
}

bool unwind_memo_recall(const struct unwind_memo *m, uint32_t tid, uint64_t era, uint64_t sp,
			struct bytes stack, struct unwind_memo_chain *c, size_t max,
			size_t max_reads)
{
	const struct unwind_memo_frame *f = &c->frames[c->nr - 1], *v;
	const struct slot *k = &m->slots[slot_of(tid, f)];
	const struct chain *l = &m->chains[k->seq % NR_CHAINS];

	if (!k->seq || l->seq != k->seq || l->tid != tid || l->era != era)
		return false;
	v = (const struct unwind_memo_frame *)l->frames.p + k->i;
	return is_same(v, f) && same_words(l, v, f, sp, stack) &&
	       add_rest(l, k->i, c, max, max_reads);
}

void unwind_memo_keep(struct unwind_memo *m, uint32_t tid, uint64_t era,
		      const struct unwind_memo_chain *c)
{
	uint64_t seq = m->seq + 1;
	struct chain *l = &m->chains[seq % NR_CHAINS];

	if (c->nr > MAX_FRAMES || c->nr_reads > MAX_READS)
		return;
	l->seq = 0;
	l->frames.len = l->reads.len = 0;
	if (buf_put(&l->frames, c->frames, c->nr * sizeof(*c->frames)) ||
	    buf_put(&l->reads, c->reads, c->nr_reads * sizeof(*c->reads)))
		return;
	*l = (struct chain){tid, era, seq, l->frames, l->reads, c->nr, c->nr_reads};
	m->seq = seq;
	for (size_t i = 0; i < c->nr; i++)
		m->slots[slot_of(tid, &c->frames[i])] = (struct slot){seq, (uint32_t)i};
}
