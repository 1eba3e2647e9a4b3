// SPDX-License-Identifier: MIT
/* Stacks kept once; see call_chains.h. A hash table of numbers over one array of frames. */
#include "dump/view/unwind/call_chains.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Deeper frames of a stack are left out: what is called from where is clear by then. */
#define MAX_FRAMES 128

struct entry {
	uint64_t hash;
	uint32_t first, nr; /* in frames */
};

#define NR_KNOWN 16384 /* a power of two */

/* A call chain as it was recorded, by its addresses' hash: as good as never that of another. */
struct known {
	uint64_t hash; /* 0: free */
	struct history_span span;
	uint32_t tid; /* 0: nothing of the user's is in it */
	uint32_t id;
};

struct call_chains {
	struct stacks *st;
	struct buf frames;   /* struct chain_frame */
	struct buf entries;  /* struct entry; number 1 is the first */
	uint32_t *slots;     /* numbers, 0: free */
	size_t nr_slots;     /* a power of two */
	struct known *known; /* NR_KNOWN that were met lately */
};

int call_chains_new(struct stacks *st, struct call_chains **out, struct err *err)
{
	struct call_chains *c = calloc(1, sizeof(*c));

	if (c) {
		c->st = st;
		c->nr_slots = 1024;
		c->slots = calloc(c->nr_slots, sizeof(*c->slots));
		c->known = calloc(NR_KNOWN, sizeof(*c->known));
	}
	if (!c || !c->slots || !c->known) {
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
	free(c->slots);
	free(c->known);
	free(c);
}

uint32_t call_chains_nr(const struct call_chains *c)
{
	return (uint32_t)(c->entries.len / sizeof(struct entry));
}

struct chain call_chains_get(const struct call_chains *c, uint32_t id)
{
	const struct entry *e = (const struct entry *)c->entries.p;
	const struct chain_frame *frames = (const struct chain_frame *)c->frames.p;

	if (!id || id > call_chains_nr(c))
		return (struct chain){0};
	e += id - 1;
	return (struct chain){.frames = frames + e->first, .nr = e->nr};
}

/* Names where there are names: addresses within a function do not count. */
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
		h = (h ^ (uintptr_t)frames[i].function) * 0x9e3779b97f4a7c15ull;
		h = (h ^ (uintptr_t)frames[i].image ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
		h ^= frames[i].addr ^ h >> 32;
	}
	return h * 0x94d049bb133111ebull;
}

static int grow(struct call_chains *c)
{
	const struct entry *e = (const struct entry *)c->entries.p;
	size_t nr_slots = c->nr_slots * 2;
	uint32_t *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 1; id <= call_chains_nr(c); id++) {
		size_t at = e[id - 1].hash >> 20 & (nr_slots - 1);

		while (slots[at])
			at = (at + 1) & (nr_slots - 1);
		slots[at] = id;
	}
	free(c->slots);
	c->slots = slots;
	c->nr_slots = nr_slots;
	return 0;
}

static uint32_t insert(struct call_chains *c, size_t at, uint64_t hash,
		       const struct chain_frame *frames, size_t nr)
{
	struct entry e = {hash, (uint32_t)(c->frames.len / sizeof(*frames)), (uint32_t)nr};

	if (c->frames.len / sizeof(*frames) + nr > UINT32_MAX ||
	    buf_put(&c->frames, frames, nr * sizeof(*frames)))
		return CHAIN_NONE;
	if (buf_put(&c->entries, &e, sizeof(e)))
		return CHAIN_NONE;
	c->slots[at] = call_chains_nr(c);
	return c->slots[at];
}

static uint32_t add(struct call_chains *c, const struct stack *st)
{
	struct chain_frame frames[MAX_FRAMES];
	size_t nr = take(st, frames), at;
	uint64_t hash;

	if (!nr || (2 * ((size_t)call_chains_nr(c) + 1) > c->nr_slots && grow(c)))
		return CHAIN_NONE;
	hash = hash_of(frames, nr);
	for (at = hash >> 20 & (c->nr_slots - 1); c->slots[at]; at = (at + 1) & (c->nr_slots - 1)) {
		const struct entry *e = (const struct entry *)c->entries.p + c->slots[at] - 1;

		if (e->hash == hash && e->nr == nr &&
		    !memcmp((const struct chain_frame *)c->frames.p + e->first, frames,
			    nr * sizeof(*frames)))
			return c->slots[at];
	}
	return insert(c, at, hash, frames, nr);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* The addresses that the kernel recorded, mixed; 0: there are none. *tid is the thread's if they
 * mean nothing without it. */
static uint64_t hash_recorded(const struct timeline_record *rec, uint32_t *tid)
{
	uint64_t h = rec->s.nr_callchain, ip, other = 0;
	bool user = false, any = false;

	for (uint64_t i = 0; i < rec->s.nr_callchain; i++) {
		memcpy(&ip, rec->s.callchain + 8 * i, sizeof(ip));
		any |= ip < (uint64_t)PERF_CONTEXT_MAX;
		user |= !(ip >> 63) ||
			(ip >= (uint64_t)PERF_CONTEXT_MAX && ip != (uint64_t)PERF_CONTEXT_KERNEL);
		/* Two, for each step has to wait for the one before. */
		if (i & 1)
			other = mix(other, ip);
		else
			h = mix(h, ip);
	}
	h = mix(h, other);
	*tid = user ? rec->tid : 0;
	h = (h ^ *tid) * 0xbf58476d1ce4e5b9ull;
	return any ? (h ^ h >> 29) | 1 : 0;
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
