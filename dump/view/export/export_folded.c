// SPDX-License-Identifier: MIT
/*
 * `ringback export -f folded`: one line for each distinct stack, as flame graph tools take them:
 *
 *	COMM;OUTERMOST;...;INNERMOST COUNT
 *
 * A kernel frame ends in _[k], an inlined one in _[i]; a ';' in a name becomes ':'. Stacks are paths
 * in one tree: a node is a pair of its parent and its name.
 */
#include "dump/view/export/export_sample.h"

#include "dump/base/err.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/base/intern.h"
#include "dump/view/model/process_history.h"
#include "dump/view/unwind/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct folded {
	struct intern names;
	struct pair_ids nodes;	/* parent or 0, address of the name */
	struct pair_ids known;	/* parent, place of a frame with a function; its node is in: */
	struct buf known_nodes; /* u32 */
	struct buf counts;	/* u64 of node 1 on: samples that end there */
	struct text name;
};

/* The node below `parent`; 0: out of memory. */
static uint32_t node_of(struct folded *f, uint32_t parent)
{
	static const uint64_t zero;
	const char *name;
	uint32_t node;
	bool is_new;

	for (size_t i = 0; i < f->name.b.len; i++)
		if (f->name.b.p[i] == ';')
			f->name.b.p[i] = ':';
	name = f->name.rc ? NULL : intern(&f->names, (struct bytes){f->name.b.p, f->name.b.len});
	f->name.b.len = 0;
	node = name ? pair_ids_add(&f->nodes, parent, (uintptr_t)name, &is_new) : 0;
	if (node && is_new && buf_put(&f->counts, &zero, sizeof(zero)))
		return 0;
	return node;
}

static uint32_t thread_node(struct export *x, const struct timeline_record *rec)
{
	struct folded *f = x->state;
	const char *comm = history_comm(x->a.history, rec->tid, rec->time_ns);

	if (comm && comm[0])
		text_safe(&f->name, comm, strlen(comm));
	else
		text_str(&f->name, "?");
	return node_of(f, 0);
}

static uint32_t name_frame(struct folded *f, uint32_t parent, const struct stack_frame *frame)
{
	stack_name(frame, &f->name);
	if (frame->kernel)
		text_str(&f->name, "_[k]");
	else if (frame->at.inlined)
		text_str(&f->name, "_[i]");
	return node_of(f, parent);
}

/* A function has one pointer in a dump: its text is made once. */
static uint32_t frame_node(struct folded *f, uint32_t parent, const struct stack_frame *frame)
{
	uint64_t mark = frame->kernel ? 1 : frame->at.inlined ? 2 : 0;
	uint32_t at, node;
	bool is_new;

	if (!frame->at.function)
		return name_frame(f, parent, frame);
	at = pair_ids_add(&f->known, (uint64_t)parent << 2 | mark, (uintptr_t)frame->at.function,
			  &is_new);
	if (!at)
		return 0;
	if (!is_new)
		return ((const uint32_t *)f->known_nodes.p)[at - 1];
	node = name_frame(f, parent, frame);
	return buf_put(&f->known_nodes, &node, sizeof(node)) ? 0 : node;
}

static int begin(struct export *x, struct err *err)
{
	x->state = calloc(1, sizeof(struct folded));
	return x->state ? 0 : err_set(err, -ENOMEM, "out of memory for stacks");
}

static int record(struct export *x, const struct timeline_record *rec, struct err *err)
{
	struct folded *f = x->state;
	struct stack s;
	uint32_t node;

	if (!export_is_sample(x, rec))
		return 0;
	stack_get(x->a.stacks, rec, &s);
	if (!s.nr)
		return 0;
	node = thread_node(x, rec);
	for (size_t i = s.nr; i-- && node;)
		node = frame_node(f, node, &s.frames[i]);
	if (!node)
		return err_set(err, -ENOMEM, "out of memory for stacks");
	((uint64_t *)f->counts.p)[node - 1]++;
	return 0;
}

static void put_path(struct export *x, uint32_t node)
{
	struct folded *f = x->state;
	const char *path[STACK_MAX_FRAMES + 1];
	uint64_t parent = node, name;
	size_t nr = 0;

	while (parent && nr <= STACK_MAX_FRAMES) {
		pair_ids_get(&f->nodes, (uint32_t)parent, &parent, &name);
		path[nr++] = (const char *)(uintptr_t)name;
	}
	while (nr--) {
		text_str(&x->out, path[nr]);
		text_char(&x->out, nr ? ';' : ' ');
	}
}

static int end(struct export *x, struct err *err)
{
	struct folded *f = x->state;
	const uint64_t *count = (const uint64_t *)f->counts.p;
	bool any = false;

	for (uint32_t node = 1; node <= pair_ids_nr(&f->nodes) && !x->out.rc; node++) {
		if (!count[node - 1])
			continue;
		any = true;
		put_path(x, node);
		text_u64(&x->out, count[node - 1]);
		text_char(&x->out, '\n');
		text_flush_large(&x->out);
	}
	return any ? 0 : export_no_samples(x, err);
}

static void drop(struct export *x)
{
	struct folded *f = x->state;

	if (!f)
		return;
	intern_free(&f->names);
	pair_ids_free(&f->nodes);
	pair_ids_free(&f->known);
	buf_free(&f->known_nodes);
	buf_free(&f->counts);
	text_free(&f->name);
	free(f);
}

const struct exporter export_folded = {
	.name = "folded",
	.help = "stacks and how often, a line each, for flame graphs",
	.suffix = ".folded",
	.needs = ANALYSIS_STACKS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
