// SPDX-License-Identifier: MIT
/* Stacks stored once; see call_chains.h. A hash table of numbers over one array of frames. */
#include "dump/view/unwind/call_chains.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The outer frames beyond this are dropped: the innermost ones are enough to tell stacks apart. */
#define MAX_FRAMES 128

struct chain_entry {
	uint32_t first, nr; /* index and number of frames */
};

#define NR_KNOWN 16384 /* a power of two */

/* Cache: a recorded call chain by the hash of its addresses. Collisions of 64 bits are ignored. */
struct known {
	uint64_t hash; /* 0: free */
	struct history_span span;
	uint32_t tid; /* 0: no user frames */
	uint32_t id;
};

struct call_chains {
	struct stacks *st;
	struct buf frames;   /* struct chain_frame */
	struct buf entries;  /* struct chain_entry; number 1 is the first */
	struct hash index;   /* of entries */
	struct known *known; /* the last NR_KNOWN chains */
};

int call_chains_new(struct stacks *st, struct call_chains **out, struct err *err)
{
	struct call_chains *c = calloc(1, sizeof(*c));

	if (c) {
		c->st = st;
		c->known = calloc(NR_KNOWN, sizeof(*c->known));
	}
	if (!c || !c->known) {
		call_chains_free(c);
		return err_set(err, -ENOMEM, "out of memory for call stacks");
	}
	*out = c;
	return 0;
}

void call_chains_free(struct call_chains *c)
{
	if (!c)
		return;
	buf_free(&c->frames);
	buf_free(&c->entries);
	hash_free(&c->index);
	free(c->known);
	free(c);
}

uint32_t call_chains_nr(const struct call_chains *c)
{
	return c->index.nr;
}

struct chain call_chains_get(const struct call_chains *c, uint32_t id)
{
	const struct chain_entry *e = (const struct chain_entry *)c->entries.p;
	const struct chain_frame *frames = (const struct chain_frame *)c->frames.p;

	if (!id || id > call_chains_nr(c))
		return (struct chain){0};
	e += id - 1;
	return (struct chain){.frames = frames + e->first, .nr = e->nr};
}

/* Uses names where known, without the address in the function. */
static size_t take(const struct stack *st, struct chain_frame *out)
{
	size_t nr = st->nr < MAX_FRAMES ? st->nr : MAX_FRAMES;

	for (size_t i = 0; i < nr; i++) {
		const struct stack_frame *f = &st->frames[i];
		struct chain_frame *to = &out[i];

		memset(to, 0, sizeof(*to)); /* compared as bytes */
		to->function = f->at.function;
		to->image = f->at.image;
		to->kernel = f->kernel;
		to->inlined = f->at.inlined;
		to->interrupted = f->interrupted;
		if (!to->function)
			to->addr = to->image ? f->at.image_off : f->ip;
	}
	return nr;
}

static uint64_t hash_of(const struct chain_frame *frames, size_t nr)
{
	uint64_t h = nr;

	for (size_t i = 0; i < nr; i++) {
		h = hash_mix(h, (uintptr_t)frames[i].function);
		h = hash_mix(h, (uintptr_t)frames[i].image) ^ frames[i].addr;
	}
	return hash_mix(h, 0);
}

static uint32_t insert(struct call_chains *c, uint64_t hash, const struct chain_frame *frames,
		       size_t nr)
{
	struct chain_entry e = {(uint32_t)(c->frames.len / sizeof(*frames)), (uint32_t)nr};

	if (c->frames.len / sizeof(*frames) + nr > UINT32_MAX ||
	    buf_put(&c->frames, frames, nr * sizeof(*frames)) ||
	    buf_reserve(&c->entries, sizeof(e)) || hash_add(&c->index, hash))
		return CHAIN_NONE;
	buf_put(&c->entries, &e, sizeof(e));
	return call_chains_nr(c);
}

static uint32_t add(struct call_chains *c, const struct stack *st)
{
	struct chain_frame frames[MAX_FRAMES];
	size_t nr = take(st, frames);
	uint64_t hash = hash_of(frames, nr);
	uint32_t at = 0, i;

	if (!nr)
		return CHAIN_NONE;
	while (hash_next(&c->index, hash, &at, &i)) {
		const struct chain_entry *e = (const struct chain_entry *)c->entries.p + i;

		if (e->nr == nr && !memcmp((const struct chain_frame *)c->frames.p + e->first,
					   frames, nr * sizeof(*frames)))
			return i + 1;
	}
	return insert(c, hash, frames, nr);
}

/* A hash of the recorded addresses; 0: none. *tid is the thread's if the addresses depend on it. */
static uint64_t hash_recorded(const struct timeline_record *rec, uint32_t *tid)
{
	uint64_t h = rec->s.nr_callchain, ip, other = 0;
	bool user = false, any = false;

	for (uint64_t i = 0; i < rec->s.nr_callchain; i++) {
		memcpy(&ip, rec->s.callchain + 8 * i, sizeof(ip));
		any |= ip < (uint64_t)PERF_CONTEXT_MAX;
		user |= !(ip >> 63) ||
			(ip >= (uint64_t)PERF_CONTEXT_MAX && ip != (uint64_t)PERF_CONTEXT_KERNEL);
		/* Two lanes, because each step waits for the previous one. */
		if (i & 1)
			other = hash_mix(other, ip);
		else
			h = hash_mix(h, ip);
	}
	*tid = user ? rec->tid : 0;
	h = hash_mix(hash_mix(h, other), *tid);
	return any ? h | 1 : 0;
}

uint32_t call_chains_add(struct call_chains *c, const struct timeline_record *rec)
{
	uint32_t tid;
	uint64_t hash = hash_recorded(rec, &tid);
	struct known *k = &c->known[hash >> 32 & (NR_KNOWN - 1)];
	struct stack st;

	if (!hash || unwind_has(rec)) {
		stack_get(c->st, rec, &st);
		return add(c, &st);
	}
	if (k->hash != hash || k->tid != tid || rec->time_ns < k->span.from_ns ||
	    rec->time_ns > k->span.to_ns) {
		stack_get(c->st, rec, &st);
		*k = (struct known){hash, st.span, tid, add(c, &st)};
	}
	return k->id;
}
