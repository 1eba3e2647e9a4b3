// SPDX-License-Identifier: MIT
/* The reading side of schedule.h: schedule_end() and the lookups. */
#include "dump/base/array.h"
#include "dump/file/meta.h"
#include "dump/view/model/process_history.h"
#include "dump/view/schedule/schedule_impl.h"

#include <errno.h>
#include <stdlib.h>

static size_t nr_spans(const struct schedule *s)
{
	return s->spans.len / sizeof(struct span);
}

const struct span *schedule_span(const struct schedule *s, size_t i)
{
	return (const struct span *)s->spans.p + i;
}

/* For a thread that was woken on a CPU which stayed idle by the records: the end of its wait is
 * missing. */
static void close_woken(struct schedule *s, uint32_t thread)
{
	struct span *now = &live_of(s, thread)->now;

	if (now->state != SPAN_READY || now->cpu < 0 || (size_t)now->cpu >= s->nr_cpus)
		return;
	if (!s->cpus[now->cpu].current && s->cpus[now->cpu].since_ns)
		now->state = SPAN_UNKNOWN;
}

/* Ends open spans with the window. */
static int close_all(struct schedule *s)
{
	for (size_t i = 1; i < nr_threads(s); i++) {
		struct live_thread *t = live_of(s, (uint32_t)i);
		struct span *to;

		if (!t->known || t->now.state == SPAN_ENDED)
			continue;
		close_woken(s, (uint32_t)i);
		t->now.flags |= SPAN_OPEN;
		t->now.to_ns = t->now.from_ns > s->to_ns ? t->now.from_ns : s->to_ns;
		if (buf_put(&s->spans, &t->now, sizeof(t->now)))
			return -ENOMEM;
		to = (struct span *)s->spans.p + nr_spans(s) - 1;
		to->thread = (uint32_t)i;
	}
	for (size_t i = 0; i < s->nr_cpus; i++) {
		struct span idle = {.from_ns = s->cpus[i].since_ns,
				    .to_ns = s->to_ns,
				    .by = NO_THREAD,
				    .cpu = (int32_t)i,
				    .prio = -1,
				    .flags = SPAN_OPEN};

		if (!s->cpus[i].current && idle.from_ns <= idle.to_ns &&
		    buf_put(&s->spans, &idle, sizeof(idle)))
			return -ENOMEM;
	}
	return 0;
}

/* A counting sort: spans are in time order already. */
static int sort_by_thread(struct schedule *s)
{
	size_t nr = nr_spans(s), at = 0;
	struct span *sorted = malloc((nr + 1) * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		live_of(s, schedule_span(s, i)->thread)->pub.nr++;
	for (size_t i = 0; i < nr_threads(s); i++) {
		struct schedule_thread *t = &live_of(s, (uint32_t)i)->pub;

		t->first = at;
		at += t->nr;
		t->nr = 0;
	}
	for (size_t i = 0; i < nr; i++) {
		struct schedule_thread *t = &live_of(s, schedule_span(s, i)->thread)->pub;

		struct span *to = &sorted[t->first + t->nr++];

		*to = *schedule_span(s, i);
		if (s->some_cpus && to->state != SPAN_RUN && to->state != SPAN_ENDED)
			to->state = SPAN_UNKNOWN; /* it may have run on another CPU */
	}
	buf_free(&s->spans);
	s->spans = (struct buf){.p = (uint8_t *)sorted,
				.len = nr * sizeof(*sorted),
				.cap = (nr + 1) * sizeof(*sorted)};
	return 0;
}

static int by_begin(const void *a, const void *b, void *ctx)
{
	const struct span *x = schedule_span(ctx, *(const uint32_t *)a);
	const struct span *y = schedule_span(ctx, *(const uint32_t *)b);

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->to_ns < y->to_ns ? -1 : x->to_ns > y->to_ns;
}

static bool is_run(const struct schedule *s, const struct span *span)
{
	return span->state == SPAN_RUN && span->cpu >= 0 && (size_t)span->cpu < s->nr_cpus;
}

static int sort_runs(struct schedule *s)
{
	size_t nr = nr_spans(s), *fill;

	if (nr >= UINT32_MAX)
		return -ENOMEM;
	s->runs = calloc(nr + 1, sizeof(*s->runs));
	s->first_run = calloc(s->nr_cpus + 2, sizeof(*s->first_run));
	if (!s->runs || !s->first_run)
		return -ENOMEM;
	/* Counts are stored one entry further, so that filling moves each to its start. */
	fill = s->first_run + 1;
	for (size_t i = 0; i < nr; i++)
		if (is_run(s, schedule_span(s, i)))
			fill[schedule_span(s, i)->cpu]++;
	for (size_t cpu = 0, at = 0; cpu <= s->nr_cpus; cpu++) {
		size_t n = fill[cpu];

		fill[cpu] = at;
		at += n;
	}
	for (size_t i = 0; i < nr; i++)
		if (is_run(s, schedule_span(s, i)))
			s->runs[fill[schedule_span(s, i)->cpu]++] = (uint32_t)i;
	s->first_run[0] = 0;
	for (size_t cpu = 0; cpu < s->nr_cpus; cpu++)
		qsort_r(s->runs + s->first_run[cpu], schedule_nr_runs(s, cpu), sizeof(*s->runs),
			by_begin, s);
	return 0;
}

int schedule_end(struct schedule *s)
{
	int rc = close_all(s);

	rc = rc ? rc : sort_by_thread(s);
	rc = rc ? rc : sort_runs(s);
	for (size_t i = 0; !rc && i < nr_threads(s); i++) {
		struct live_thread *t = live_of(s, (uint32_t)i);
		uint64_t ns = t->last_ns ? t->last_ns : s->to_ns;
		const struct fmt_task *task = history_task(s->p, t->pub.tid, ns);

		t->pub.comm = history_comm(s->p, t->pub.tid, ns);
		if (!t->pub.comm)
			t->pub.comm = t->met;
		t->pub.pid = task ? task->pid : 0;
	}
	return rc;
}

void schedule_window(const struct schedule *s, uint64_t *from_ns, uint64_t *to_ns)
{
	*from_ns = s->has_switches ? s->from_ns : 0;
	*to_ns = s->has_switches ? s->to_ns : 0;
}

bool schedule_was_cut(const struct schedule *s)
{
	return s->was_cut;
}

bool schedule_has_switches(const struct schedule *s)
{
	return s->has_switches;
}

bool schedule_is_partial(const struct schedule *s)
{
	return s->partial || s->some_cpus;
}

bool schedule_lacks_cpus(const struct schedule *s)
{
	return s->some_cpus;
}

bool schedule_has_wakings(const struct schedule *s)
{
	return s->has_wakings;
}

bool schedule_has_stacks(const struct schedule *s)
{
	return s->has_stacks;
}

size_t schedule_nr_threads(const struct schedule *s)
{
	return nr_threads(s);
}

const struct schedule_thread *schedule_thread(const struct schedule *s, uint32_t thread)
{
	return &live_of(s, thread)->pub;
}

uint32_t schedule_find(const struct schedule *s, uint32_t tid)
{
	const struct tid_thread *row = map_find(&s->by_tid, tid);

	return row ? row->thread : NO_THREAD;
}

const struct span *schedule_at(const struct schedule *s, uint32_t thread, uint64_t ns)
{
	const struct schedule_thread *t = schedule_thread(s, thread);
	const struct span *spans = schedule_span(s, t->first);
	size_t at = array_bisect(i, t->nr, spans[i].to_ns <= ns);

	return thread && at < t->nr && spans[at].from_ns <= ns ? &spans[at] : NULL;
}

size_t schedule_nr_cpus(const struct schedule *s)
{
	return s->nr_cpus;
}

size_t schedule_nr_runs(const struct schedule *s, size_t cpu)
{
	return s->first_run[cpu + 1] - s->first_run[cpu];
}

const struct span *schedule_run(const struct schedule *s, size_t cpu, size_t i)
{
	return schedule_span(s, s->runs[s->first_run[cpu] + i]);
}

size_t schedule_run_after(const struct schedule *s, size_t cpu, uint64_t ns)
{
	return array_bisect(i, schedule_nr_runs(s, cpu), schedule_run(s, cpu, i)->to_ns <= ns);
}

size_t schedule_nr_samples(const struct schedule *s)
{
	return s->samples.len / sizeof(struct schedule_sample);
}

const struct schedule_sample *schedule_sample(const struct schedule *s, size_t i)
{
	return (const struct schedule_sample *)s->samples.p + i;
}
