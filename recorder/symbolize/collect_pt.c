// SPDX-License-Identifier: MIT
/* Code of a dump's Intel PT; see collect_pt.h. Called by collect_live.c. */
#include "recorder/symbolize/collect_pt.h"

#include "dump/format/record.h"
#include "dump/file/meta.h"
#include "dump/view/pt/pt_trace.h"
#include "dump/view/symbols/symbols_writer.h"
#include "trigger/kernel/clock.h"

#include <errno.h>

/* Bytes of all areas in each round: the trace nearest to the trigger first. The child's memory is
 * limited. */
static const uint64_t rounds[] = {4ull << 20, 32ull << 20, 256ull << 20};

#define NR_ROUNDS (sizeof(rounds) / sizeof(rounds[0]))

struct pt_collector {
	const struct collect_pt_options *opt;
	struct code_cache *book;
	struct addresses *hits;
};

static bool late(const struct pt_collector *c)
{
	return c->opt->deadline_ns && clock_ns() >= c->opt->deadline_ns;
}

static void add_hit(struct pt_collector *c, const struct pt_flow_step *s, uint64_t address)
{
	if (record_kernel_address(address))
		addresses_add_kernel(c->hits, s->time_ns, address);
	else if (address && s->tid != UINT32_MAX)
		addresses_add_user(c->hits, s->tid, s->time_ns, address);
}

/* 1: the deadline has passed. */
static int take(void *ctx, size_t area, const struct pt_flow_steps *steps)
{
	struct pt_collector *c = ctx;

	for (size_t i = 0; i < steps->nr; i++) {
		add_hit(c, &steps->v[i], steps->v[i].from);
		add_hit(c, &steps->v[i], steps->v[i].to);
	}
	return late(c);
}

static int one_round(struct pt_collector *c, struct reader *r, const struct meta *m,
		     const struct process_history *p, uint64_t bytes, struct symbols_writer *put,
		     bool *all, struct err *err)
{
	struct pt_trace_options opt = {
		.to_ns = UINT64_MAX, .book = c->book, .max_bytes = bytes / m->nr_areas};
	struct pt_trace *t;
	int rc = pt_trace_open(r, m, p, &opt, &t, err);

	if (rc || !t)
		return rc;
	*all = true;
	for (size_t i = 0; i < pt_trace_nr_areas(t) && !rc; i++) {
		const struct pt_trace_area *a = pt_trace_area(t, i);

		*all &= a->used_bytes == a->bytes || a->no_clock || a->broken;
		rc = pt_trace_backwards(t, i, 1, take, c, err);
	}
	code_cache_put(c->book, put);
	symbols_writer_flush(put);
	pt_trace_close(t);
	return rc < 0 ? rc : 0;
}

int collect_pt(struct reader *r, const struct meta *m, const struct process_history *p,
	       const struct collect_pt_options *opt, struct addresses *hits,
	       struct symbols_writer *put, struct err *err)
{
	struct pt_collector c = {.opt = opt, .hits = hits};
	bool all = false;
	int rc;

	if (!pt_trace_is_in(m))
		return 0;
	rc = code_cache_new(r, p, &opt->code, &c.book, err);
	for (size_t i = 0; i < NR_ROUNDS && !rc && !all && !late(&c); i++)
		rc = one_round(&c, r, m, p, rounds[i], put, &all, err);
	code_cache_free(c.book);
	return rc;
}
