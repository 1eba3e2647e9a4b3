// SPDX-License-Identifier: MIT
/*
 * Where CPU time went: the functions with most samples, and a call tree for each program, from the
 * outermost function inwards. A function with one callee that has almost all its samples shares a
 * line with it; a recursive function is one node.
 */
#include "dump/base/str.h"

#include "dump/base/hash.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/unwind/runtimes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 8
#define MAX_LINES     24
#define MAX_DEPTH     64
#define MAX_RUNTIMES  3
/* Branches below this part of all samples are not shown. */
#define SMALL_PART 25
/* A callee with at least 9 of 10 of its caller's samples shares its line. */
#define SAME(callee, caller) ((callee)*10 >= (caller)*9)

struct node {
	uint64_t key; /* for the map: hash of parent and name */
	uint64_t nr, self;
	uint32_t parent, first, next; /* rows of the map + 1; 0: none */
	uint32_t nr_deep;	      /* 1 + most calls of itself in a stack */
	struct chain_frame frame;
	const char *comm; /* only in roots */
};

struct sampled_function {
	uint64_t key;
	uint64_t self, total, last; /* last: 1 + last sample counted */
	struct chain_frame frame;
};

struct stacks_state {
	struct map nodes, functions;
	struct runtimes *runtimes;
	uint64_t nr, serial;
	unsigned lines;
};

static int open_stacks(struct report *rp, void **state)
{
	if (rp->tick)
		*state = rp;
	return 0;
}

/* Distinct for distinct pairs, with near certainty. */
static uint64_t pair_key(uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(1, a), b);
}

static uint64_t name_key(const struct chain_frame *f)
{
	return f->function ? (uintptr_t)f->function : pair_key((uintptr_t)f->image, f->addr);
}

/* Finds or adds the child of `parent` (0: a root) with this key; its row + 1; 0: no room. */
static uint32_t child(struct stacks_state *st, uint32_t parent, uint64_t name)
{
	uint64_t key = pair_key(parent, name);
	struct node *n = map_row(&st->nodes, key), *up;
	uint32_t id;

	if (!n)
		return 0;
	id = (uint32_t)(n - (struct node *)map_nth(&st->nodes, 0)) + 1;
	if (!n->nr && parent) {
		up = map_nth(&st->nodes, parent - 1);
		n->parent = parent;
		n->next = up->first;
		up->first = id;
	}
	return id;
}

static struct node *node_of(const struct stacks_state *st, uint32_t id)
{
	return map_nth(&st->nodes, id - 1);
}

/* For plumbing, such as kernel entries, only its own time counts. */
static void add_function(struct stacks_state *st, const struct chain_frame *f, bool leaf,
			 uint64_t nr)
{
	struct sampled_function *fn = map_row(&st->functions, name_key(f));

	if (!fn || (!leaf && report_is_plumbing(f)))
		return;
	fn->frame = *f;
	fn->self += leaf ? nr : 0;
	if (fn->last == st->serial) /* recursion */
		return;
	fn->last = st->serial;
	fn->total += nr;
}

static void note_depth(struct node *n, uint32_t nr_deep)
{
	if (nr_deep > n->nr_deep)
		n->nr_deep = nr_deep;
}

/* `nr` samples of one stack. */
static void add_stack(struct report *rp, struct stacks_state *st, const char *comm, uint32_t chain,
		      uint64_t nr)
{
	struct chain c = call_chains_get(rp->a.chains, chain);
	uint32_t id = child(st, 0, (uintptr_t)comm), nr_deep = 0;
	unsigned depth = 0;
	uint64_t last = 0;

	st->serial++;
	st->nr += nr;
	if (id) {
		node_of(st, id)->comm = comm;
		node_of(st, id)->nr += nr;
	}
	for (size_t i = c.nr; i-- > 0;) {
		add_function(st, &c.frames[i], i == 0, nr);
		if (!id || report_is_plumbing(&c.frames[i]))
			continue;
		if (depth && name_key(&c.frames[i]) == last) {
			note_depth(node_of(st, id), ++nr_deep);
			continue;
		}
		if (depth >= MAX_DEPTH)
			continue;
		last = name_key(&c.frames[i]);
		id = child(st, id, last);
		if (!id)
			continue;
		depth++;
		nr_deep = 1;
		node_of(st, id)->frame = c.frames[i];
		node_of(st, id)->nr += nr;
	}
	if (id)
		node_of(st, id)->self += nr;
}

struct same {
	uint64_t key; /* hash of name and stack */
	const char *comm;
	uint32_t chain;
	uint64_t nr;
};

/* Counts samples of equal stacks first, then adds each stack once. */
static void collect(struct report *rp, struct stacks_state *st)
{
	struct map same = MAP_INIT(struct same);

	for (size_t i = 0; i < schedule_nr_samples(rp->a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(rp->a.sched, i);
		struct same *row;
		const char *comm;

		if (s->ns < rp->sampled.from_ns || s->ns >= rp->sampled.to_ns || !s->thread ||
		    !rp->asked[s->thread] || &rp->a.m->events[s->event] != rp->tick)
			continue;
		comm = report_comm(rp, s->thread);
		row = map_row(&same, pair_key((uintptr_t)comm, s->chain));
		if (!row)
			continue;
		row->comm = comm;
		row->chain = s->chain;
		row->nr++;
		if (st->runtimes)
			runtimes_add(st->runtimes, schedule_thread(rp->a.sched, s->thread)->pid,
				     call_chains_get(rp->a.chains, s->chain));
	}
	for (size_t i = 0; i < map_nr(&same); i++) {
		const struct same *row = map_nth(&same, i);

		add_stack(rp, st, row->comm, row->chain, row->nr);
	}
	map_free(&same);
}

/* ---- functions ---- */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Keys are addresses, so ties are ordered by name to make the output reproducible. */
static int by_self(const void *a, const void *b)
{
	const struct sampled_function *x = a, *y = b;
	int way;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	way = compare_texts(x->frame.function, y->frame.function);
	way = way ? way : compare_texts(x->frame.image, y->frame.image);
	return way ? way : x->frame.addr < y->frame.addr ? -1 : x->frame.addr > y->frame.addr;
}

static void put_functions(struct report *rp, struct stacks_state *st)
{
	struct page *p = &rp->page;
	char name[256];

	map_sort(&st->functions, by_self);
	page_color(p, PAGE_DIM);
	text_str(p->t, "   self  with callees  function\n");
	page_end_color(p);
	for (size_t i = 0; i < map_nr(&st->functions) && i < MAX_FUNCTIONS; i++) {
		const struct sampled_function *f = map_nth(&st->functions, i);
		const char *image = f->frame.image, *base;
		unsigned room = p->width - 24;

		if (f->self * 100 < st->nr)
			break;
		page_part(p, f->self, st->nr, 7);
		page_part(p, f->total, st->nr, 14);
		text_str(p->t, "  ");
		base = image ? strrchr(image, '/') : NULL;
		base = base && base[1] ? base + 1 : image;
		if (f->frame.function && base && !f->frame.kernel) {
			page_left(p, report_frame(&f->frame, name, sizeof(name)), room - room / 3);
			text_char(p->t, ' ');
			page_last(p, base, room / 3 - 1);
		} else if (f->frame.kernel) {
			page_left(p, report_frame(&f->frame, name, sizeof(name)), room - room / 3);
			text_str(p->t, " kernel");
		} else {
			page_last(p, report_frame(&f->frame, name, sizeof(name)), room);
		}
		text_char(p->t, '\n');
	}
}

/* ---- tree ---- */

struct branch {
	uint64_t nr;
	uint32_t id;
};

static int thickest_first(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

/* The child with almost all samples of a node; 0: none. */
static uint32_t only_child(const struct stacks_state *st, uint32_t id)
{
	const struct node *n = node_of(st, id);

	for (uint32_t c = n->first; c; c = node_of(st, c)->next)
		if (SAME(node_of(st, c)->nr, n->nr))
			return c;
	return 0;
}

static void name_node(const struct node *n, char out[REPORT_FRAME])
{
	if (n->comm)
		str_safe(out, REPORT_FRAME, n->comm, strlen(n->comm));
	else
		report_frame(&n->frame, out, REPORT_FRAME);
	if (n->nr_deep > 1)
		report_times(out, " (up to ×%" PRIu64 ")", n->nr_deep);
}

static void put_branch(struct report *rp, struct stacks_state *st, uint32_t id, unsigned depth);

static void put_children(struct report *rp, struct stacks_state *st, uint32_t id, unsigned depth)
{
	struct branch b[32];
	size_t nr = 0;

	for (uint32_t c = node_of(st, id)->first; c; c = node_of(st, c)->next) {
		struct branch one = {node_of(st, c)->nr, c};

		if (one.nr * SMALL_PART < st->nr)
			continue;
		if (nr < sizeof(b) / sizeof(b[0])) /* at most 25, by SMALL_PART */
			b[nr++] = one;
	}
	qsort(b, nr, sizeof(b[0]), thickest_first);
	for (size_t i = 0; i < nr; i++)
		put_branch(rp, st, b[i].id, depth);
}

static void put_branch(struct report *rp, struct stacks_state *st, uint32_t id, unsigned depth)
{
	char names[REPORT_MAX_PATH][REPORT_FRAME], line[2048];
	unsigned indent = 9 + 2 * (depth < 12 ? depth : 12);
	uint64_t nr = node_of(st, id)->nr;
	struct page *p = &rp->page;
	size_t nr_names = 0, len;
	uint32_t next;

	if (st->lines++ >= MAX_LINES)
		return;
	name_node(node_of(st, id), names[nr_names++]);
	while ((next = only_child(st, id)) && nr_names < REPORT_MAX_PATH) {
		id = next;
		name_node(node_of(st, id), names[nr_names++]);
	}
	report_join(names, nr_names, 2 * (p->width - indent) - 30, line, sizeof(line));
	len = strlen(line);
	if (node_of(st, id)->self * SMALL_PART >= st->nr && node_of(st, id)->first)
		snprintf(line + len, sizeof(line) - len, " (itself %.0f%%)",
			 100.0 * (double)node_of(st, id)->self / (double)st->nr);
	page_part(p, nr, st->nr, 7);
	text_fill(p->t, ' ', (int)indent - 7);
	if (!depth)
		page_color(p, PAGE_BOLD);
	page_hang(p, indent, indent + 2, line);
	if (!depth)
		page_end_color(p);
	put_children(rp, st, id, depth + 1);
}

static void put_tree(struct report *rp, struct stacks_state *st)
{
	struct branch roots[16];
	size_t nr = 0;

	for (size_t i = 0; i < map_nr(&st->nodes); i++) {
		const struct node *n = map_nth(&st->nodes, i);
		struct branch one = {n->nr, (uint32_t)i + 1};

		if (n->parent || n->nr * SMALL_PART < st->nr)
			continue;
		if (nr < sizeof(roots) / sizeof(roots[0]))
			roots[nr++] = one;
	}
	qsort(roots, nr, sizeof(roots[0]), thickest_first);
	text_char(rp->page.t, '\n');
	for (size_t i = 0; i < nr; i++)
		put_branch(rp, st, roots[i].id, 0);
	if (st->lines > MAX_LINES)
		page_line(&rp->page, 2, "and %u thinner branches", st->lines - MAX_LINES);
}

/* How to make runtimes export names of generated code; false: no such code. */
static bool put_runtimes(struct report *rp, const struct stacks_state *st)
{
	struct text t = TEXT_INIT(NULL);
	bool any = false;
	uint32_t pid;

	for (size_t i = 0; st->runtimes && i < MAX_RUNTIMES; i++, any = true) {
		t.b.len = 0;
		pid = runtimes_nth(st->runtimes, i);
		if (!pid || !runtimes_say(st->runtimes, pid, &t))
			break;
		text_char(&t, '\0');
		page_color(&rp->page, PAGE_DIM);
		page_wrap(&rp->page, 2, (const char *)t.b.p);
		page_end_color(&rp->page);
	}
	text_free(&t);
	return any;
}

static void put_nameless(struct report *rp, const struct stacks_state *st)
{
	uint64_t nameless = 0;

	if (put_runtimes(rp, st))
		return;
	for (size_t i = 0; i < map_nr(&st->functions); i++) {
		const struct sampled_function *f = map_nth(&st->functions, i);

		nameless += f->frame.function ? 0 : f->self;
	}
	if (nameless * 2 <= st->nr)
		return;
	page_color(&rp->page, PAGE_DIM);
	page_line(&rp->page, 2,
		  "most functions have no name in this dump: ringback info says why, ringback "
		  "symbols --add adds them");
	page_end_color(&rp->page);
}

static void print_stacks(struct report *rp, void *state)
{
	struct stacks_state st = {.nodes = MAP_INIT(struct node),
				  .functions = MAP_INIT(struct sampled_function)};
	char window[64], right[128], name[48];

	runtimes_new(rp->a.history, &st.runtimes, NULL);
	collect(rp, &st);
	snprintf(right, sizeof(right), "%" PRIu64 " sample%s of %s, %s", st.nr, str_plural(st.nr),
		 str_safe(name, sizeof(name), rp->tick->name, strlen(rp->tick->name)),
		 report_fmt_window(rp, window, sizeof(window), &rp->sampled));
	page_title(&rp->page, "WHERE CPU TIME WENT", right);
	if (st.nr) {
		put_nameless(rp, &st);
		put_functions(rp, &st);
		if (rp->tick->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			put_tree(rp, &st);
	}
	map_free(&st.nodes);
	map_free(&st.functions);
	runtimes_free(st.runtimes);
}

const struct report_section report_stacks = {
	.what = "hottest stacks",
	.how = "--preset cpu",
	.open = open_stacks,
	.print = print_stacks,
};
