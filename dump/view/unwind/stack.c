// SPDX-License-Identifier: MIT
/* Call chains with names; see stack.h. */
#include "dump/view/unwind/stack.h"

#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* The default of kernel.perf_event_max_stack. */
#define KERNEL_MAX_FRAMES 127
#define NR_SLOTS	  8192 /* a power of two */
#define SLOT_PLACES	  4

/* Cache: the places of an address and the time for which they hold. */
struct known_address {
	uint64_t addr;
	uint32_t tid;
	bool kernel;
	uint8_t nr; /* 0: free */
	struct history_span span;
	struct symbol_place places[SLOT_PLACES];
};

struct stacks {
	const struct meta *m;
	const struct symbols *s;
	struct unwind *unwind;
	struct known_address *slots;
	size_t nr;
	struct history_span span; /* for which all frames hold */
	struct stack_frame frames[STACK_MAX_FRAMES];
};

static const struct unwind_rule *find_rule(void *ctx, const struct history_map *map, uint64_t place)
{
	return symbols_rule(ctx, map, place);
}

int stack_unwind_new(const struct process_history *p, const struct symbols *s, struct unwind **out,
		     struct err *err)
{
	const struct unwind_source source = {find_rule, NULL, (void *)s};

	return unwind_new(p, &source, out, err);
}

int stacks_new(const struct meta *m, const struct process_history *p, const struct symbols *s,
	       struct stacks **out, struct err *err)
{
	struct stacks *st = calloc(1, sizeof(*st));
	if (st)
		st->slots = calloc(NR_SLOTS, sizeof(*st->slots));
	if (!st || !st->slots || stack_unwind_new(p, s, &st->unwind, NULL)) {
		stacks_free(st);
		return err_set(err, -ENOMEM, "out of memory for call stacks");
	}
	st->m = m;
	st->s = s;
	*out = st;
	return 0;
}

void stacks_free(struct stacks *st)
{
	if (!st)
		return;
	unwind_free(st->unwind);
	free(st->slots);
	free(st);
}

static struct known_address *slot_of(const struct stacks *st, uint64_t addr, uint32_t tid)
{
	return &st->slots[hash_mix(addr, (uint64_t)tid << 32) & (NR_SLOTS - 1)];
}

static void add(struct stacks *st, uint64_t ip, bool kernel, const struct symbol_place *places,
		size_t nr)
{
	for (size_t i = 0; i < nr && st->nr < STACK_MAX_FRAMES; i++)
		st->frames[st->nr++] =
			(struct stack_frame){.ip = ip, .kernel = kernel, .at = places[i]};
}

static void narrow(struct stacks *st, const struct history_span *span)
{
	if (span->from_ns > st->span.from_ns)
		st->span.from_ns = span->from_ns;
	if (span->to_ns < st->span.to_ns)
		st->span.to_ns = span->to_ns;
}

/* `back` 1: ip is a return address, and the call is before it. */
static void add_frame(struct stacks *st, const struct timeline_record *rec, uint64_t ip,
		      bool kernel, unsigned back)
{
	struct symbol_place places[SYMBOLS_MAX_DEPTH];
	uint32_t tid = kernel ? 0 : rec->tid;
	uint64_t addr = ip - (ip ? back : 0);
	struct known_address *k = slot_of(st, addr, tid);
	struct history_span span;
	size_t nr;

	if (k->nr && k->addr == addr && k->tid == tid && k->kernel == kernel &&
	    k->span.from_ns <= rec->time_ns && rec->time_ns <= k->span.to_ns) {
		add(st, ip, kernel, k->places, k->nr);
		narrow(st, &k->span);
		return;
	}
	nr = kernel ? symbols_kernel(st->s, rec->time_ns, addr, places, SYMBOLS_MAX_DEPTH, &span)
		    : symbols_user(st->s, tid, rec->time_ns, addr, places, SYMBOLS_MAX_DEPTH,
				   &span);
	add(st, ip, kernel, places, nr);
	narrow(st, &span);
	if (nr > SLOT_PLACES)
		return;
	*k = (struct known_address){addr, tid, kernel, (uint8_t)nr, span, {{0}}};
	memcpy(k->places, places, nr * sizeof(*places));
}

/* Adds the frames of the recorded call chain. True: it has a user part. */
static bool walk(struct stacks *st, const struct timeline_record *rec)
{
	struct record_walk w = {0};
	bool user = false;

	while (record_next_ip(&rec->s, &w)) {
		user |= !w.kernel;
		add_frame(st, rec, w.ip, w.kernel, w.caller);
	}
	return user;
}

void stack_end_of(const struct unwind_chain *c, struct stack *out)
{
	static const enum stack_end ends[] = {
		[UNWIND_COMPLETE] = STACK_COMPLETE,   [UNWIND_CUT] = STACK_SHORT,
		[UNWIND_NO_RULE] = STACK_NO_RULE,     [UNWIND_BAD] = STACK_BAD,
		[UNWIND_ELSEWHERE] = STACK_ELSEWHERE, [UNWIND_DEEP] = STACK_DEEP,
		[UNWIND_NO_REGS] = STACK_NO_REGS,
	};

	out->end = ends[c->end];
	out->end_image = c->image;
	out->end_bytes = c->stack_bytes;
}

/* The user part of a sample with copied registers and stack. */
static void unwind(struct stacks *st, const struct timeline_record *rec, struct stack *out)
{
	struct unwind_chain c;

	unwind_sample(st->unwind, rec, &c);
	for (size_t i = 0; i < c.nr; i++) {
		size_t at = st->nr;

		add_frame(st, rec, c.frames[i].ip, false, !c.frames[i].exact);
		/* The handler's return code has an exact address too, and comes before the
		 * interrupted frame. */
		if (i && c.frames[i].exact && !(i + 1 < c.nr && c.frames[i + 1].exact) &&
		    at < st->nr)
			st->frames[at].interrupted = true;
	}
	stack_end_of(&c, out);
	/* A kernel thread has no user part. */
	if (c.end == UNWIND_NO_REGS && rec->s.regs_abi == PERF_SAMPLE_REGS_ABI_NONE)
		out->end = STACK_COMPLETE;
}

void stack_get(struct stacks *st, const struct timeline_record *rec, struct stack *out)
{
	const struct record_sample *s = &rec->s;
	bool user;

	st->nr = 0;
	st->span = (struct history_span){0, UINT64_MAX};
	user = walk(st, rec);
	*out = (struct stack){.end = s->nr_callchain >= KERNEL_MAX_FRAMES ? STACK_CUT
									  : STACK_COMPLETE};
	if (!user && unwind_has(rec))
		unwind(st, rec, out);
	if (!st->nr && s->have & PERF_SAMPLE_IP)
		add_frame(st, rec, s->ip, record_kernel_address(s->ip), 0);
	out->frames = st->frames;
	out->nr = st->nr;
	out->span = st->span;
	if (!st->nr)
		out->end = STACK_EMPTY;
}

/* The last part of a path. */
static void base_name(const char *path, struct text *t)
{
	const char *base = strrchr(path, '/');

	base = base && base[1] ? base + 1 : path;
	text_safe(t, base, strlen(base));
}

void stack_end_name(const struct stack *s, struct text *t)
{
	switch (s->end) {
	case STACK_EMPTY:
	case STACK_COMPLETE:
		return;
	case STACK_CUT:
		text_str(t, "as many frames as the kernel records");
		return;
	case STACK_SHORT:
		text_fmt(t, "more than the %llu bytes of stack that were copied",
			 (unsigned long long)s->end_bytes);
		return;
	case STACK_NO_RULE:
		text_str(t, "no unwind table for ");
		base_name(s->end_image, t);
		return;
	case STACK_BAD:
		text_str(t, "no caller that makes sense");
		return;
	case STACK_DEEP:
		text_str(t, "more frames than are followed");
		return;
	case STACK_ELSEWHERE:
		text_str(t, "the callers have another stack, which was not copied");
		return;
	case STACK_NO_REGS:
		text_str(t, "no registers of a 64-bit program");
		return;
	}
}

void stack_name(const struct stack_frame *f, struct text *t)
{
	const char *image = f->at.image;

	if (f->at.function) {
		text_safe(t, f->at.function, strlen(f->at.function));
		return;
	}
	if (image && !f->kernel) {
		base_name(image, t);
		text_str(t, "+");
	}
	text_str(t, "0x");
	text_hex(t, image && !f->kernel ? f->at.image_off : f->ip, 1);
}
