// SPDX-License-Identifier: MIT
/*
 * Reads the records of a dump for the schedule and the sections' hooks. Called by report_load.c.
 *
 *	two passes in parallel:               one, if the two would unpack many records twice:
 *	  sched, cpu ──▶ schedule  (thread)     all ──▶ schedule, hooks
 *	  calls, mem ──▶ hooks                    └── blocks are loaded ahead
 *
 * Schedule and hooks share no data that either writes. Records of channels that both need are
 * unpacked in both passes, each with the fields that it needs.
 */
#include "dump/base/err.h"
#include "dump/base/thread_pool.h"
#include "dump/file/reader.h"
#include "dump/view/model/prefetch.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Progress is reported once per this many records. */
#define PROGRESS_RECORDS 65536
/* Two passes are used if at most 1/SHARED_PART of all records is in channels that both need. */
#define SHARED_PART 8
/* Size of timeline_options.channels. */
#define MAX_CHANNELS 64

struct pass {
	struct pool_job job;
	struct report *rp;
	struct reader *r;
	bool schedule, hooks;	     /* receivers of the records */
	uint64_t channels;	     /* 0: all */
	bool *events;		     /* by event; NULL: all */
	struct timeline_need *needs; /* by event */
	bool *bad;		     /* by block */
	_Atomic uint64_t *nr_done;   /* records of both passes */
	bool tells;		     /* reports progress */
	int rc;
	struct err err;
};

/* ---- one pass ---- */

static int give(const struct pass *p, const struct timeline_record *rec)
{
	struct report *rp = p->rp;
	int rc = p->schedule ? schedule_feed(rp->a.sched, rec) : 0;
	const struct report_hook *h;

	if (rc || !rec->event || !p->hooks)
		return rc;
	h = &rp->hooks[rec->event - rp->a.m->events];
	if ((!h->feed && !rp->all.feed) || !report_wanted(rp, rec))
		return 0;
	rc = h->feed ? h->feed(h->state, rp, rec) : 0;
	return rc || !rp->all.feed ? rc : rp->all.feed(rp->all.state, rp, rec);
}

static void progress(const struct pass *p)
{
	const struct report_options *opt = p->rp->opt;
	uint64_t total = meta_nr_records(p->rp->a.m);
	uint64_t n = atomic_fetch_add(p->nr_done, PROGRESS_RECORDS) + PROGRESS_RECORDS;

	if (p->tells && opt->progress)
		opt->progress(opt->ctx, n, total > n ? total : n);
}

static int go_through(struct pass *p, struct timeline *t)
{
	struct timeline_record rec;
	uint64_t n = 0;
	int rc;

	while ((rc = timeline_next(t, &rec, &p->err)) > 0) {
		rc = give(p, &rec);
		if (rc)
			return err_set(&p->err, rc, "out of memory");
		if (++n % PROGRESS_RECORDS == 0)
			progress(p);
	}
	return rc;
}

static void run(void *nothing, struct pool_job *job)
{
	struct pass *p = (struct pass *)job;
	struct timeline_options opt = {
		.to_ns = UINT64_MAX,
		.channels = p->channels,
		.cpu = -1,
		.events = p->events,
		.needs = p->needs,
		/* Two passes share the helpers. */
		.nr_helpers = p->events ? prefetch_helpers() / 2 : prefetch_helpers(),
		.bad = p->bad,
	};
	struct timeline *t = NULL;

	p->rc = timeline_open(p->r, p->rp->a.m, &opt, &t, &p->err);
	p->rc = p->rc ? p->rc : go_through(p, t);
	timeline_close(t);
	if (!p->rc && p->schedule && schedule_end(p->rp->a.sched))
		p->rc = err_set(&p->err, -ENOMEM, "out of memory");
}

/* ---- planning ---- */

static bool plan_event(struct pass *p, size_t event)
{
	const struct report *rp = p->rp;
	bool wanted = false;

	if (p->hooks) {
		p->needs[event] = rp->hooks[event].need;
		wanted = rp->hooks[event].feed;
	}
	if (p->schedule)
		wanted |= schedule_needs(rp->a.sched, event, &p->needs[event]);
	return wanted;
}

/* Determines the events and channels that a pass needs. */
static int plan(struct pass *p, struct report *rp, struct reader *r, _Atomic uint64_t *nr_done)
{
	p->rp = rp;
	p->r = r;
	p->nr_done = nr_done;
	p->needs = calloc(rp->a.m->nr_events + 1, sizeof(*p->needs));
	p->events = calloc(rp->a.m->nr_events + 1, sizeof(*p->events));
	p->bad = calloc(reader_nr_blocks(r) + 1, sizeof(*p->bad));
	if (!p->needs || !p->events || !p->bad)
		return -ENOMEM;
	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		uint16_t channel = rp->a.m->events[i].f.channel;

		p->events[i] = plan_event(p, i);
		if (p->events[i] && channel < MAX_CHANNELS)
			p->channels |= 1ull << channel;
	}
	return 0;
}

static void pass_free(struct pass *p)
{
	free(p->needs);
	free(p->events);
	free(p->bad);
}

static bool in(uint64_t channels, uint32_t channel)
{
	return channels >> channel & 1;
}

/* True when two passes are faster than one. */
static bool worth_it(const struct report *rp, const struct pass *a, const struct pass *b)
{
	uint64_t nr = 0, shared = 0;

	if (rp->all.feed || !prefetch_helpers() || rp->a.m->nr_channels > MAX_CHANNELS)
		return false;
	for (size_t i = 0; i < rp->a.m->nr_windows; i++) {
		const struct fmt_window *w = &rp->a.m->windows[i];

		if (!meta_is_ring(w) || w->channel >= rp->a.m->nr_channels)
			continue;
		nr += w->nr_records;
		if (in(a->channels, w->channel) && in(b->channels, w->channel))
			shared += w->nr_records;
	}
	return a->channels && b->channels && shared <= nr / SHARED_PART;
}

/* The hooks' pass also reads the channels that neither pass needs, to find their bad blocks. */
static void add_others(struct pass *hooks, const struct pass *schedule)
{
	for (uint32_t i = 0; i < hooks->rp->a.m->nr_channels; i++)
		if (!in(schedule->channels, i))
			hooks->channels |= 1ull << i;
}

/* True: done, with the results in the passes. False: could not start. */
static bool side_by_side(struct pass *schedule, struct pass *hooks)
{
	struct thread_pool_options opt = {.nr_threads = 1, .run = run};
	struct thread_pool *pool = NULL;
	struct reader *copy = NULL;

	if (reader_copy(hooks->r, &copy, NULL))
		return false;
	if (!thread_pool_new(&opt, &pool)) {
		add_others(hooks, schedule);
		schedule->r = copy;
		thread_pool_put(pool, &schedule->job);
		run(NULL, &hooks->job);
		thread_pool_wait(pool, &schedule->job);
		thread_pool_free(pool);
	}
	reader_close(copy);
	return pool;
}

/* Makes one pass for both receivers. */
static void alone(struct pass *p)
{
	p->hooks = p->schedule = true;
	p->channels = 0;
	for (size_t i = 0; i < p->rp->a.m->nr_events; i++)
		plan_event(p, i);
	free(p->events);
	p->events = NULL;
	run(NULL, &p->job);
}

int report_pass(struct report *rp, struct err *err)
{
	struct pass hooks = {.hooks = true, .tells = true}, schedule = {.schedule = true};
	uint64_t total = meta_nr_records(rp->a.m);
	_Atomic uint64_t nr_done = 0;
	struct pass *failed;
	int rc = plan(&hooks, rp, rp->a.r, &nr_done);

	rc = rc ? rc : plan(&schedule, rp, rp->a.r, &nr_done);
	if (rc) {
		err_set(err, rc, "out of memory");
		goto out;
	}
	if (!worth_it(rp, &hooks, &schedule) || !side_by_side(&schedule, &hooks))
		alone(&hooks);
	for (size_t i = 0; i < reader_nr_blocks(rp->a.r); i++)
		rp->nr_bad += hooks.bad[i] || schedule.bad[i];
	if (rp->opt->progress)
		rp->opt->progress(rp->opt->ctx, total, total);
	failed = hooks.rc ? &hooks : &schedule;
	rc = failed->rc;
	if (rc && err)
		*err = failed->err;
out:
	pass_free(&hooks);
	pass_free(&schedule);
	return rc;
}
