// SPDX-License-Identifier: MIT
/* Memory: page faults by thread, and threads that had to reclaim or compact memory for an
 * allocation. */
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 6

struct faulter {
	uint64_t key; /* interned name */
	uint64_t nr;
};

enum stall { RECLAIM, COMPACTION, NR_STALLS };

/* A thread that reclaims or compacts memory. */
struct staller {
	uint64_t key;		      /* tid */
	uint64_t since_ns[NR_STALLS]; /* 0: not in progress */
	uint64_t ns[NR_STALLS], worst_ns, worst_at_ns;
	uint64_t nr;
};

struct memory {
	struct map faulters, stallers;
	uint64_t nr_faults, nr_kswapd, reclaimed;
	bool has_faults, has_stalls;
};

static void fault(struct memory *me, struct report *rp, const struct timeline_record *rec,
		  uint64_t nr)
{
	struct faulter *f =
		map_row(&me->faulters, (uintptr_t)report_comm_of(rp, rec->tid, rec->time_ns));

	me->nr_faults += nr;
	if (f)
		f->nr += nr;
}

/* For a counter: one record per `period` faults. */
static int on_counter(void *state, struct report *rp, const struct timeline_record *rec)
{
	const struct perf_event_attr *a = &rec->event->attr;
	uint64_t nr = rec->s.have & PERF_SAMPLE_PERIOD ? rec->s.period
		      : a->freq			       ? 1
						       : a->sample_period;

	fault(state, rp, rec, nr ? nr : 1);
	return 0;
}

static int on_fault(void *state, struct report *rp, const struct timeline_record *rec)
{
	fault(state, rp, rec, 1);
	return 0;
}

static int begin(struct memory *me, const struct timeline_record *rec, enum stall kind)
{
	struct staller *s = map_row(&me->stallers, rec->tid);

	if (s)
		s->since_ns[kind] = rec->time_ns;
	return 0;
}

static int end(struct memory *me, const struct timeline_record *rec, enum stall kind)
{
	struct staller *s = map_find(&me->stallers, rec->tid);
	uint64_t ns;

	if (!s || !s->since_ns[kind])
		return 0;
	ns = rec->time_ns - s->since_ns[kind];
	s->ns[kind] += ns;
	s->nr++;
	if (ns > s->worst_ns) {
		s->worst_ns = ns;
		s->worst_at_ns = s->since_ns[kind];
	}
	s->since_ns[kind] = 0;
	return 0;
}

static int on_reclaim(void *state, struct report *rp, const struct timeline_record *rec)
{
	return begin(state, rec, RECLAIM);
}

static int on_reclaimed(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct memory *me = state;

	me->reclaimed += analysis_number(&rp->a, rec, "nr_reclaimed");
	return end(me, rec, RECLAIM);
}

static int on_compaction(void *state, struct report *rp, const struct timeline_record *rec)
{
	return begin(state, rec, COMPACTION);
}

static int on_compacted(void *state, struct report *rp, const struct timeline_record *rec)
{
	return end(state, rec, COMPACTION);
}

static int on_kswapd(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct memory *me = state;

	me->nr_kswapd++;
	return 0;
}

static bool hook_counters(struct report *rp, struct memory *me)
{
	bool found = false;

	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		const struct meta_event *e = &rp->a.m->events[i];

		if (!meta_in_rings(rp->a.m, e) || e->attr.type != PERF_TYPE_SOFTWARE || found ||
		    e->attr.config != PERF_COUNT_SW_PAGE_FAULTS)
			continue;
		rp->hooks[i] = (struct report_hook){.feed = on_counter, .state = me};
		found = true;
	}
	return found;
}

static int open_memory(struct report *rp, void **state)
{
	struct memory *me = calloc(1, sizeof(*me));

	if (!me)
		return -ENOMEM;
	me->faulters = MAP_INIT(struct faulter);
	me->stallers = MAP_INIT(struct staller);
	me->has_faults = hook_counters(rp, me);
	if (!me->has_faults) {
		me->has_faults = report_hook(rp, "exceptions:page_fault_user", on_fault, me);
		me->has_faults |= report_hook(rp, "exceptions:page_fault_kernel", on_fault, me);
		report_hook_only(rp, "exceptions:page_fault_user", NULL);
		report_hook_only(rp, "exceptions:page_fault_kernel", NULL);
	}
	me->has_stalls = report_hook(rp, "vmscan:mm_vmscan_direct_reclaim_begin", on_reclaim, me);
	report_hook(rp, "vmscan:mm_vmscan_direct_reclaim_end", on_reclaimed, me);
	me->has_stalls |= report_hook(rp, "vmscan:mm_vmscan_memcg_reclaim_begin", on_reclaim, me);
	report_hook(rp, "vmscan:mm_vmscan_memcg_reclaim_end", on_reclaimed, me);
	me->has_stalls |= report_hook(rp, "compaction:mm_compaction_begin", on_compaction, me);
	report_hook(rp, "compaction:mm_compaction_end", on_compacted, me);
	me->has_stalls |= report_hook(rp, "vmscan:mm_vmscan_kswapd_wake", on_kswapd, me);
	if (me->has_faults || me->has_stalls)
		*state = me;
	else
		free(me);
	return 0;
}

static void close_memory(void *state)
{
	struct memory *me = state;

	map_free(&me->faulters);
	map_free(&me->stallers);
	free(me);
}

static int most_faults_first(const void *a, const void *b)
{
	const struct faulter *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static int longest_first(const void *a, const void *b)
{
	const struct staller *x = a, *y = b;
	uint64_t sum_x = x->ns[RECLAIM] + x->ns[COMPACTION];
	uint64_t sum_y = y->ns[RECLAIM] + y->ns[COMPACTION];

	return sum_x > sum_y ? -1 : sum_x < sum_y;
}

static void put_faults(struct report *rp, struct memory *me, double seconds)
{
	struct text t = TEXT_INIT(NULL);
	char n[32], name[96];

	map_sort(&me->faulters, most_faults_first);
	text_fmt(&t, "page faults: %s", str_fmt_count(n, sizeof(n), me->nr_faults));
	if (seconds > 0)
		text_fmt(&t, ", %s/s",
			 str_fmt_count(n, sizeof(n), (uint64_t)((double)me->nr_faults / seconds)));
	for (size_t i = 0; i < map_nr(&me->faulters) && i < MAX_ROWS; i++) {
		const struct faulter *f = map_nth(&me->faulters, i);
		const char *s = (const char *)(uintptr_t)f->key;

		if (f->nr * 100 < me->nr_faults)
			break;
		text_fmt(&t, "%s%s %.0f%%", i ? ", " : ": ",
			 str_safe(name, sizeof(name), s, strlen(s)),
			 100.0 * (double)f->nr / (double)me->nr_faults);
	}
	text_char(&t, '\0');
	if (!t.rc)
		page_wrap(&rp->page, 2, (const char *)t.b.p);
	text_free(&t);
}

static void put_staller(struct report *rp, const struct staller *s)
{
	struct page *p = &rp->page;
	char at[32];

	text_str(p->t, "  ");
	report_tid(rp, report_comm_of(rp, (uint32_t)s->key, s->worst_at_ns), (uint32_t)s->key);
	page_time(p, s->ns[RECLAIM], 10);
	page_time(p, s->ns[COMPACTION], 12);
	page_count(p, s->nr, 8);
	page_time(p, s->worst_ns, 9);
	page_right(p, page_fmt_moment(at, sizeof(at), s->worst_at_ns, rp->a.m->trigger.hit_ns), 10);
	text_char(p->t, '\n');
}

static void put_stalls(struct report *rp, struct memory *me)
{
	map_sort(&me->stallers, longest_first);
	if (me->nr_kswapd)
		page_line(&rp->page, 2, "kswapd was woken %" PRIu64 " time%s", me->nr_kswapd,
			  str_plural(me->nr_kswapd));
	if (!map_nr(&me->stallers)) {
		page_line(&rp->page, 2, "no direct reclaim or compaction");
		return;
	}
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  thread               tid reclaiming  compacting   times    worst"
			    "        at\n");
	page_end_color(&rp->page);
	for (size_t i = 0; i < map_nr(&me->stallers) && i < MAX_ROWS; i++)
		put_staller(rp, map_nth(&me->stallers, i));
	if (map_nr(&me->stallers) > MAX_ROWS)
		page_line(&rp->page, 2, "and %zu more", map_nr(&me->stallers) - MAX_ROWS);
}

static void print_memory(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct memory *me = state;
	char window[64];

	page_title(&rp->page, "MEMORY", report_fmt_window(rp, window, sizeof(window), &w));
	if (me->has_faults)
		put_faults(rp, me, (double)(w.to_ns - w.from_ns) / 1e9);
	if (me->has_stalls)
		put_stalls(rp, me);
}

const struct report_section report_memory = {
	.what = "memory",
	.how = "--preset mem",
	.open = open_memory,
	.print = print_memory,
	.close = close_memory,
};
