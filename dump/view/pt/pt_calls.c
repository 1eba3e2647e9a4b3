// SPDX-License-Identifier: MIT
/*
 * The calls of a dump's Intel PT; see pt_calls.h. Called by pages and by the export for Perfetto.
 */
#include "dump/view/pt/pt_calls.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_trace.h"

#include <errno.h>
#include <stdlib.h>

struct pt_calls {
	struct pt_calls_options opt;
	struct pt_names *names;
	struct pt_spans_call *v; /* a ring of opt.max calls while loading */
	size_t nr, cap;
	uint64_t nr_seen;
};

static int take(void *ctx, const struct pt_spans_call *call)
{
	struct pt_calls *c = ctx;
	struct pt_spans_call *to;

	if (call->to_ns < c->opt.from_ns)
		return 0;
	if (c->nr == c->cap && c->cap < c->opt.max) {
		size_t cap = c->cap ? c->cap * 2 : 4096;

		cap = cap < c->opt.max ? cap : c->opt.max;
		to = reallocarray(c->v, cap, sizeof(*c->v));
		if (!to)
			return -ENOMEM;
		c->v = to;
		c->cap = cap;
	}
	to = &c->v[c->nr_seen++ % c->cap];
	c->nr += c->nr < c->cap;
	*to = *call;
	if (to->from_ns < c->opt.from_ns) {
		to->from_ns = c->opt.from_ns;
		to->flags |= PT_SPANS_BEGAN;
	}
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct pt_spans_call *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->to_ns > y->to_ns ? -1 : x->to_ns < y->to_ns;
}

/* Makes each thread's depths start at 0. */
static void count_depths(struct pt_calls *c)
{
	for (size_t i = 0, end; i < c->nr; i = end) {
		int32_t least = c->v[i].depth;

		for (end = i; end < c->nr && c->v[end].tid == c->v[i].tid; end++)
			least = c->v[end].depth < least ? c->v[end].depth : least;
		for (size_t k = i; k < end; k++)
			c->v[k].depth -= least;
	}
}

static int go_through(struct pt_calls *c, struct pt_trace *t, struct err *err)
{
	struct pt_trace_step s;
	struct pt_spans *spans;
	uint64_t end = 0;
	int rc = pt_spans_new(c->names, take, c, &spans);

	if (rc)
		return err_sys(err, rc, "calls that Intel PT saw");
	while ((rc = pt_trace_next(t, &s, err)) > 0) {
		end = s.ns;
		rc = pt_spans_step(spans, &s, NULL);
		if (rc)
			break;
	}
	rc = rc ? rc : pt_spans_end(spans, end);
	pt_spans_free(spans);
	return rc;
}

int pt_calls_load(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct symbols *s, const struct pt_calls_options *opt,
		  struct pt_calls **out, struct err *err)
{
	const struct pt_trace_options to = {.from_ns = opt->from_ns, .to_ns = opt->to_ns};
	struct pt_calls *c;
	struct pt_trace *t;
	int rc = pt_trace_open(r, m, p, &to, &t, err);

	*out = NULL;
	if (rc || !t)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c || pt_names_new(p, s, &c->names)) {
		rc = err_sys(err, -ENOMEM, "calls that Intel PT saw");
	} else {
		c->opt = *opt;
		rc = go_through(c, t, err);
	}
	pt_trace_close(t);
	if (rc || !c->nr) {
		pt_calls_free(c);
		return rc;
	}
	qsort(c->v, c->nr, sizeof(*c->v), by_thread);
	count_depths(c);
	*out = c;
	return 0;
}

void pt_calls_free(struct pt_calls *c)
{
	if (!c)
		return;
	pt_names_free(c->names);
	free(c->v);
	free(c);
}

size_t pt_calls_nr(const struct pt_calls *c)
{
	return c->nr;
}

const struct pt_spans_call *pt_calls_nth(const struct pt_calls *c, size_t i)
{
	return &c->v[i];
}

uint64_t pt_calls_nr_left_out(const struct pt_calls *c)
{
	return c->nr_seen - c->nr;
}

void pt_calls_name(struct pt_calls *c, const struct pt_spans_call *call, struct text *t)
{
	pt_names_put(pt_names_get(c->names, call->tid, call->to_ns, call->address), call->address,
		     t);
}

const char *pt_calls_image(struct pt_calls *c, const struct pt_spans_call *call)
{
	return pt_names_get(c->names, call->tid, call->to_ns, call->address)->image;
}
