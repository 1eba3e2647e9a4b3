// SPDX-License-Identifier: MIT
/*
 * Calls from the steps of a hardware trace; see pt_spans.h. Called by whatever shows these calls.
 */
#include "dump/view/pt/pt_spans.h"

#include "dump/base/hash.h"

#include "dump/view/base/row_map.h"
#include "dump/view/pt/pt_flow.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum length of an instruction: a call's return address is at most this far after its first
 * byte. */
#define MAX_INSN  15u
#define MAX_DEPTH 4096u
/* Limit for all threads together, 80 bytes each; more than in real programs. */
#define MAX_FRAMES (4u << 20)
#define NOBODY	   UINT32_MAX

struct stacked_call {
	uint64_t from_ns, self_ns, outside_ns;
	uint64_t address; /* in the function, if known */
	uint64_t id;	  /* of the function; 0: unknown */
	uint64_t caller;  /* address of the call; 0: unknown */
	uint64_t resume;  /* call by the kernel: the address where the thread continues */
	uint32_t flags;
	bool leaves; /* may return to a frame further out (longjmp, exceptions) */
};

struct thread {
	uint64_t key;		/* key_of() */
	struct stacked_call *v; /* outermost first */
	size_t nr, cap;
	int32_t base;	   /* depth of v[0] */
	uint64_t began_ns; /* start of the known time */
	uint64_t last_ns;
	uint64_t out_from; /* address where it entered the kernel; 0: unknown */
	bool out;
};

/* The number of a thread's open calls of one function. */
struct nested {
	uint64_t key;
	uint64_t nr;
};

struct pt_spans {
	struct pt_names *names;
	int (*each)(void *ctx, const struct pt_spans_call *c);
	void *ctx;
	struct map threads; /* struct thread */
	struct map nested;  /* struct nested */
	size_t nr_frames;   /* allocated frames */
	struct buf areas;   /* uint32_t[]: the last thread of each area */
	int rc;
};

int pt_spans_new(struct pt_names *names, int (*each)(void *ctx, const struct pt_spans_call *c),
		 void *ctx, struct pt_spans **out)
{
	struct pt_spans *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = names;
	p->each = each;
	p->ctx = ctx;
	p->threads = MAP_INIT(struct thread);
	p->nested = MAP_INIT(struct nested);
	*out = p;
	return 0;
}

void pt_spans_free(struct pt_spans *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < map_nr(&p->threads); i++)
		free(((struct thread *)map_nth(&p->threads, i))->v);
	map_free(&p->threads);
	map_free(&p->nested);
	buf_free(&p->areas);
	free(p);
}

static int32_t depth_of(const struct thread *t, size_t i)
{
	return t->base + (int32_t)i;
}

/* ---- calls ---- */

/* NULL: function unknown, or too many. */
static struct nested *nested_of(struct pt_spans *p, const struct thread *t, uint64_t id)
{
	return id ? map_row(&p->nested, hash_mix(0, t->key) ^ id) : NULL;
}

/* Counts a new call of `id`. */
static void nest(struct pt_spans *p, const struct thread *t, uint64_t id)
{
	struct nested *n = nested_of(p, t, id);

	if (n)
		n->nr++;
}

/* Counts the end of a call; returns the number of outer calls of the same function. */
static uint64_t unnest(struct pt_spans *p, const struct thread *t, uint64_t id)
{
	struct nested *n = nested_of(p, t, id);

	return n && n->nr ? --n->nr : 0;
}

/* The innermost call ends. */
static void pop(struct pt_spans *p, struct thread *t, uint64_t ns, int32_t cpu, uint32_t flags)
{
	struct stacked_call *f = &t->v[t->nr - 1];
	struct pt_spans_call c = {
		.from_ns = f->from_ns,
		.to_ns = ns > f->from_ns ? ns : f->from_ns,
		.self_ns = f->self_ns,
		.outside_ns = f->outside_ns,
		.address = f->address,
		.caller = f->caller,
		.id = f->id,
		.tid = (uint32_t)t->key,
		.cpu = cpu,
		.depth = depth_of(t, t->nr - 1),
		.flags = f->flags | flags,
	};

	if (unnest(p, t, f->id))
		c.flags |= PT_SPANS_AGAIN;
	if (p->each && !p->rc)
		p->rc = p->each(p->ctx, &c);
	t->nr--;
	if (t->nr)
		t->v[t->nr - 1].outside_ns += c.outside_ns;
}

/* Ends all calls of the thread, at an unknown place. */
static void drop(struct pt_spans *p, struct thread *t, uint64_t ns, int32_t cpu, uint32_t flags)
{
	while (t->nr)
		pop(p, t, ns, cpu, flags);
	t->base = 0;
	t->began_ns = ns;
	t->out_from = 0;
}

/* Over the limit: ends the calls of all threads, because such stacks are not real. */
static void forget_all(struct pt_spans *p, uint64_t ns)
{
	for (size_t i = 0; i < map_nr(&p->threads); i++) {
		struct thread *t = map_nth(&p->threads, i);

		drop(p, t, ns, -1, PT_SPANS_OPEN);
		free(t->v);
		t->v = NULL;
		t->cap = 0;
	}
	p->nr_frames = 0;
}

static void push(struct pt_spans *p, struct thread *t, const struct stacked_call *f)
{
	if (t->nr == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 32;
		struct stacked_call *v = NULL;

		if (p->nr_frames + cap - t->cap > MAX_FRAMES)
			forget_all(p, f->from_ns);
		cap = t->cap ? cap : 32;
		v = reallocarray(t->v, cap, sizeof(*v));
		if (!v) {
			p->rc = p->rc ? p->rc : -ENOMEM;
			return;
		}
		p->nr_frames += cap - t->cap;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->nr++] = *f;
	nest(p, t, f->id);
}

/* Sets the function of the call. */
static void place(struct pt_spans *p, const struct thread *t, struct stacked_call *f, uint64_t ns,
		  uint64_t address)
{
	const struct pt_names_place *n = pt_names_get(p->names, (uint32_t)t->key, ns, address);

	f->address = address;
	f->id = n->id;
	f->leaves = n->leaves_frames;
}

/* Begins the outermost known call on an empty stack. */
static void begin(struct pt_spans *p, struct thread *t, uint64_t ns, uint64_t address)
{
	struct stacked_call f = {.from_ns = t->began_ns, .flags = PT_SPANS_BEGAN};

	if (t->nr || !address)
		return;
	place(p, t, &f, ns, address);
	push(p, t, &f);
}

/* The number of frames up to the innermost one below the top that is of function `id`; 0: none. */
static size_t find_function(const struct thread *t, uint64_t id)
{
	for (size_t i = t->nr - 1; i-- > 0;)
		if (t->v[i].id == id)
			return i + 1;
	return 0;
}

/* The thread is at `address`: checks it against the innermost call; in another function, it jumped
 * there. */
static void see(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		uint64_t address)
{
	const struct pt_names_place *n = pt_names_get(p->names, s->tid, s->ns, address);
	struct stacked_call *top = &t->v[t->nr - 1], next;
	uint64_t id = n->id;
	bool leaves = n->leaves_frames;
	size_t nr = 0;

	if (!id || id == top->id)
		return;
	if (!top->id) {
		/* The top is a stub, which leads to this function. */
		top->address = address;
		top->id = id;
		top->leaves = leaves;
		nest(p, t, id);
		return;
	}
	if (top->leaves && nested_of(p, t, id) && nested_of(p, t, id)->nr)
		nr = find_function(t, id);
	if (nr) {
		while (t->nr > nr)
			pop(p, t, s->ns, s->cpu, PT_SPANS_LEFT);
		return;
	}
	/* The time of the jump is unknown: the time since the last step is counted for the new
	 * function. */
	next = *top;
	next.from_ns = t->last_ns > top->from_ns ? t->last_ns : top->from_ns;
	next.self_ns = 0;
	next.outside_ns = 0;
	next.flags = (top->flags & ~PT_SPANS_BEGAN) | PT_SPANS_ENTERED;
	next.address = address;
	next.id = id;
	next.leaves = leaves;
	pop(p, t, next.from_ns, s->cpu, PT_SPANS_JUMPED);
	push(p, t, &next);
}

/* ---- steps ---- */

static void on_call(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		    struct pt_spans_event *e)
{
	struct stacked_call f = {.from_ns = s->ns, .caller = s->from};
	const struct pt_names_place *n;
	uint64_t to = s->to;

	/* For a stub, use the function at the next address. */
	n = pt_names_get(p->names, s->tid, s->ns, to);
	if (!n->id && s->at) {
		n = pt_names_get(p->names, s->tid, s->ns, s->at);
		to = n->id ? s->at : to;
	}
	place(p, t, &f, s->ns, to);
	if (t->nr >= MAX_DEPTH)
		drop(p, t, s->ns, s->cpu, PT_SPANS_OPEN);
	push(p, t, &f);
	*e = (struct pt_spans_event){
		.what = PT_SPANS_CALL, .address = f.address, .depth = depth_of(t, t->nr - 1)};
}

/* The number of calls left after a return to `to`; t->nr: no caller matches. */
static size_t find_caller(const struct thread *t, uint64_t to)
{
	for (size_t i = t->nr; i-- > 1;)
		if (t->v[i].caller && to > t->v[i].caller && to - t->v[i].caller <= MAX_INSN)
			return i;
	return t->nr;
}

/* A return to a caller outside the known stack: all known calls are inside it. */
static void outward(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s)
{
	struct stacked_call f = {.from_ns = t->began_ns, .flags = PT_SPANS_BEGAN};
	uint64_t outside = t->v[0].outside_ns;
	int32_t base = t->base - 1;

	pop(p, t, s->ns, s->cpu, 0);
	t->base = base;
	f.outside_ns = outside;
	place(p, t, &f, s->ns, s->to);
	push(p, t, &f);
}

/* A "return" to a place without a call: a jump through the stack, or another stack. */
static void elsewhere(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s)
{
	const struct pt_names_place *n = pt_names_get(p->names, s->tid, s->ns, s->to);

	if (n->id && n->off) {
		drop(p, t, s->ns, s->cpu, PT_SPANS_OPEN);
		begin(p, t, s->ns, s->to);
		return;
	}
	t->last_ns = s->ns;
	see(p, t, s, s->to);
}

static void on_return(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		      struct pt_spans_event *e)
{
	const struct stacked_call *top = &t->v[t->nr - 1];
	size_t nr = find_caller(t, s->to);

	*e = (struct pt_spans_event){
		.what = PT_SPANS_RETURN, .address = top->address, .depth = depth_of(t, t->nr - 1)};
	if (nr == t->nr) {
		if (t->nr == 1)
			outward(p, t, s);
		else
			elsewhere(p, t, s);
		return;
	}
	e->nr_left = (uint32_t)(t->nr - 1 - nr);
	e->address = t->v[nr].address;
	e->depth = depth_of(t, nr);
	e->ns = s->ns - t->v[nr].from_ns;
	while (t->nr > nr + 1)
		pop(p, t, s->ns, s->cpu, PT_SPANS_LEFT);
	pop(p, t, s->ns, s->cpu, 0);
}

static void on_off(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		   struct pt_spans_event *e)
{
	t->out = true;
	t->out_from = s->from;
	*e = (struct pt_spans_event){.what = PT_SPANS_OUT,
				     .address = s->from,
				     .depth = t->nr ? depth_of(t, t->nr - 1) : 0};
}

/* A signal's handler ends with a system call. The number of calls left then; t->nr: no handler
 * ended. */
static size_t find_resumed(const struct thread *t, uint64_t to)
{
	for (size_t i = t->nr; i-- > 0;)
		if (t->v[i].flags & PT_SPANS_KERNEL && to - t->v[i].resume <= MAX_INSN)
			return i;
	return t->nr;
}

static void on_on(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		  struct pt_spans_event *e)
{
	uint64_t away = t->out && s->ns > t->last_ns ? s->ns - t->last_ns : 0;
	struct stacked_call f = {.from_ns = s->ns, .flags = PT_SPANS_KERNEL, .resume = t->out_from};
	size_t nr = t->nr ? find_resumed(t, s->to) : 0;
	const struct pt_names_place *n;
	uint64_t here = 0;

	*e = (struct pt_spans_event){.what = PT_SPANS_BACK, .address = s->to, .ns = away};
	if (s->anew)
		drop(p, t, s->ns, s->cpu, PT_SPANS_OPEN);
	begin(p, t, s->ns, s->to);
	if (t->nr)
		t->v[t->nr - 1].outside_ns += away;
	while (t->nr > nr && t->nr > 1)
		pop(p, t, s->ns, s->cpu, 0);
	if (t->out_from)
		here = pt_names_get(p->names, s->tid, s->ns, t->out_from)->id;
	n = pt_names_get(p->names, s->tid, s->ns, s->to);
	if (here && n->id && n->id != here && !n->off && t->nr && t->nr < MAX_DEPTH) {
		place(p, t, &f, s->ns, s->to);
		push(p, t, &f);
		e->what = PT_SPANS_CALL;
		e->by_kernel = true;
	}
	t->out = false;
	t->out_from = 0;
	e->depth = t->nr ? depth_of(t, t->nr - 1) : 0;
}

/* ---- threads ---- */

/* Unknown threads have one key per area. */
static uint64_t key_of(uint32_t tid, uint32_t area)
{
	return tid == NOBODY ? (uint64_t)(area + 1) << 32 | tid : tid;
}

static struct thread *thread_of(struct pt_spans *p, const struct pt_trace_step *s)
{
	size_t nr = map_nr(&p->threads);
	struct thread *t = map_row(&p->threads, key_of(s->tid, s->area));

	if (t && map_nr(&p->threads) > nr)
		t->began_ns = t->last_ns = s->ns;
	return t;
}

/* The area's previous thread is off the CPU now, even if its switch was lost. */
static int note_area(struct pt_spans *p, const struct pt_trace_step *s)
{
	const uint32_t nobody = NOBODY;
	struct thread *before;
	uint32_t *last;

	while (p->areas.len / sizeof(*last) <= s->area)
		if (buf_put(&p->areas, &nobody, sizeof(nobody)))
			return -ENOMEM;
	last = (uint32_t *)p->areas.p + s->area;
	if (*last == s->tid)
		return 0;
	before = map_find(&p->threads, key_of(*last, s->area));
	if (before && !before->out && before->last_ns <= s->ns)
		before->out = true;
	*last = s->tid;
	return 0;
}

static void on_step(struct pt_spans *p, struct thread *t, const struct pt_trace_step *s,
		    struct pt_spans_event *e)
{
	switch (s->kind) {
	case PT_FLOW_CALL:
		on_call(p, t, s, e);
		break;
	case PT_FLOW_RETURN:
		on_return(p, t, s, e);
		break;
	case PT_FLOW_OFF:
		on_off(p, t, s, e);
		break;
	default:
		break;
	}
}

int pt_spans_step(struct pt_spans *p, const struct pt_trace_step *s, struct pt_spans_event *event)
{
	struct pt_spans_event own, *e = event ? event : &own;
	struct thread *t;

	*e = (struct pt_spans_event){0};
	if (note_area(p, s))
		return -ENOMEM;
	t = thread_of(p, s);
	if (!t)
		return -ENOMEM;
	if (s->kind == PT_FLOW_LOST) {
		e->what = PT_SPANS_LOST;
		drop(p, t, s->ns, s->cpu, PT_SPANS_OPEN);
		t->out = false;
	} else if (s->kind == PT_FLOW_ON) {
		on_on(p, t, s, e);
	} else {
		begin(p, t, s->ns, s->from);
		if (t->nr && s->from)
			see(p, t, s, s->from);
		if (t->nr && !t->out && s->ns > t->last_ns)
			t->v[t->nr - 1].self_ns += s->ns - t->last_ns;
		t->out = false;
		if (t->nr)
			on_step(p, t, s, e);
	}
	if (s->ns > t->last_ns)
		t->last_ns = s->ns;
	return p->rc;
}

int pt_spans_end(struct pt_spans *p, uint64_t ns)
{
	for (size_t i = 0; i < map_nr(&p->threads); i++) {
		struct thread *t = map_nth(&p->threads, i);

		/* The calls end at the last known time if the thread went to the kernel. */
		drop(p, t, t->out || ns < t->last_ns ? t->last_ns : ns, -1, PT_SPANS_OPEN);
	}
	return p->rc;
}
