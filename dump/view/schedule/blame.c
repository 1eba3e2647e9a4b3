// SPDX-License-Identifier: MIT
/*
 * Computes the blame matrix; see blame.h. First lists what each CPU did, by control group: a wait
 * lasts as long as many runs of others. Then goes through the waits of all threads.
 */
#include "dump/view/schedule/blame.h"

#include "dump/file/meta.h"
#include "dump/view/base/row_map.h"
#include "dump/view/model/process_history.h"
#include "dump/view/schedule/cpu_quota.h"
#include "dump/view/schedule/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A control group; its number is that of its row + NR_BLAME_PARTS. */
struct blame_group {
	uint64_t key; /* its path */
};

/* The group of a thread, and the time for which that holds; all 0: not asked yet. */
struct blame_member {
	struct history_span span;
	uint32_t group, pid; /* group: BLAME_UNKNOWN or a number */
};

/* What a CPU did from `from_ns` until the next one. */
struct blame_run {
	uint64_t from_ns;
	uint32_t cause; /* BLAME_IDLE, BLAME_UNKNOWN, or the number of a group */
	uint32_t pid;	/* the process of an unknown group; 0: unknown, too */
};

/* Time that one group waited because of one cause: enum blame_part or another group. */
struct blame_cell {
	uint64_t key; /* waiting group << 32 | cause */
	uint64_t ns;
	const char *path; /* of the other group; set at the end */
};

struct blame {
	struct blame_input in;
	struct map groups, cells;
	struct blame_member *members; /* by thread */
	struct buf runs;	      /* struct blame_run: those of CPU 0 first */
	size_t *first;		      /* by CPU, and the end: its first run */
	size_t *near;		      /* by CPU: the run that the last wait began in */
	uint64_t *tally;	      /* by cause: ns of waits that are not in cells yet */
	uint32_t *tallied;	      /* causes that have some */
	size_t nr_tallied;
	bool failed;
	struct blame_row *rows;
	size_t nr_rows;
	struct blame_other *others;
};

/* ---- groups ---- */

static uint32_t group_of(struct blame *b, const char *path)
{
	const struct blame_group *g = path ? map_row(&b->groups, (uintptr_t)path) : NULL;

	b->failed |= path && !g;
	return g ? (uint32_t)(g - (const struct blame_group *)b->groups.rows.p) + NR_BLAME_PARTS
		 : BLAME_UNKNOWN;
}

static const char *path_of(const struct blame *b, uint32_t group)
{
	const struct blame_group *g =
		group >= NR_BLAME_PARTS ? map_nth(&b->groups, group - NR_BLAME_PARTS) : NULL;

	return g ? (const char *)(uintptr_t)g->key : NULL;
}

static const struct blame_member *member_at(struct blame *b, uint32_t thread, uint64_t ns)
{
	struct blame_member *m = &b->members[thread];
	const struct schedule_thread *t;

	if (m->span.from_ns <= ns && ns <= m->span.to_ns)
		return m;
	t = schedule_thread(b->in.sched, thread);
	m->pid = t->pid;
	m->group = group_of(b, history_cgroup_of(b->in.history, t->tid, ns, &m->span));
	return m;
}

/* ---- what CPUs did ---- */

static void put_run(struct blame *b, size_t cpu, uint64_t from_ns, uint32_t cause, uint32_t pid)
{
	struct blame_run run = {from_ns, cause, cause == BLAME_UNKNOWN ? pid : 0};
	size_t nr = b->runs.len / sizeof(run);
	const struct blame_run *all = (const struct blame_run *)b->runs.p;

	if (nr > b->first[cpu] && all[nr - 1].cause == run.cause && all[nr - 1].pid == run.pid)
		return;
	b->failed |= buf_put(&b->runs, &run, sizeof(run)) != 0;
}

/* From the begin of the wanted time to its end, without gaps. */
static void list_cpu(struct blame *b, size_t cpu)
{
	const struct blame_input *in = &b->in;
	uint64_t at = in->from_ns;

	b->first[cpu] = b->runs.len / sizeof(struct blame_run);
	for (size_t i = schedule_run_after(in->sched, cpu, at);
	     i < schedule_nr_runs(in->sched, cpu) && at < in->to_ns; i++) {
		const struct span *s = schedule_run(in->sched, cpu, i);
		const struct blame_member *m;

		if (s->from_ns >= in->to_ns)
			break;
		if (s->from_ns > at) {
			put_run(b, cpu, at, BLAME_UNKNOWN, 0);
			at = s->from_ns;
		}
		if (s->to_ns <= at)
			continue;
		m = s->thread ? member_at(b, s->thread, at) : NULL;
		put_run(b, cpu, at, m ? m->group : BLAME_IDLE, m ? m->pid : 0);
		at = s->to_ns;
	}
	if (at < in->to_ns)
		put_run(b, cpu, at, BLAME_UNKNOWN, 0);
}

static int list_cpus(struct blame *b)
{
	size_t nr = schedule_nr_cpus(b->in.sched), nr_causes;

	for (size_t cpu = 0; cpu < nr; cpu++)
		list_cpu(b, cpu);
	b->first[nr] = b->runs.len / sizeof(struct blame_run);
	memcpy(b->near, b->first, nr * sizeof(*b->near));
	nr_causes = NR_BLAME_PARTS + map_nr(&b->groups);
	b->tally = calloc(nr_causes, sizeof(*b->tally));
	b->tallied = calloc(nr_causes, sizeof(*b->tallied));
	return b->failed || !b->tally || !b->tallied ? -ENOMEM : 0;
}

/* ---- dividing waits ---- */

/* A wait that is being divided. */
struct blame_wait {
	size_t cpu;
	uint64_t from_ns, to_ns;
};

static void count(struct blame *b, uint32_t cause, uint64_t ns)
{
	if (!b->tally[cause])
		b->tallied[b->nr_tallied++] = cause;
	b->tally[cause] += ns;
}

/* The run of the CPU at `ns`. The waits of a thread follow each other, so it is searched from the
 * last one on. */
static size_t run_at(struct blame *b, size_t cpu, uint64_t ns)
{
	const struct blame_run *runs = (const struct blame_run *)b->runs.p;
	size_t at = b->near[cpu], end = b->first[cpu + 1], step = 1;

	if (runs[at].from_ns > ns)
		at = b->first[cpu];
	while (at + step < end && runs[at + step].from_ns <= ns) {
		at += step;
		step *= 2;
	}
	for (; step; step /= 2)
		if (at + step < end && runs[at + step].from_ns <= ns)
			at += step;
	b->near[cpu] = at;
	return at;
}

static void divide(struct blame *b, const struct blame_wait *w, uint32_t pid)
{
	const struct blame_run *runs = (const struct blame_run *)b->runs.p;
	uint64_t at = w->from_ns;

	if (w->cpu >= schedule_nr_cpus(b->in.sched)) {
		count(b, BLAME_UNKNOWN, w->to_ns - at);
		return;
	}
	for (size_t i = run_at(b, w->cpu, at), end = b->first[w->cpu + 1]; at < w->to_ns; i++) {
		uint64_t until = i + 1 < end && runs[i + 1].from_ns < w->to_ns ? runs[i + 1].from_ns
									       : w->to_ns;

		count(b, runs[i].pid && runs[i].pid == pid ? BLAME_OWN : runs[i].cause, until - at);
		at = until;
	}
}

/* Moves what was counted for a waiting group to its cells. Idle time, and time in which others ran,
 * may be the quota's. */
static void settle(struct blame *b, uint32_t group, bool idle_is_quota, bool other_is_quota)
{
	for (size_t i = 0; i < b->nr_tallied; i++) {
		uint32_t cause = b->tallied[i], as = cause;
		struct blame_cell *cell;

		if (cause == group && group != BLAME_UNKNOWN)
			as = BLAME_OWN;
		else if (cause != BLAME_OWN &&
			 (cause == BLAME_IDLE ? idle_is_quota : other_is_quota))
			as = BLAME_QUOTA;
		cell = map_row(&b->cells, (uint64_t)group << 32 | as);
		if (cell)
			cell->ns += b->tally[cause];
		b->failed |= !cell;
		b->tally[cause] = 0;
	}
	b->nr_tallied = 0;
}

/*
 * How much of a thread's waits its group's CPU quota explains: the time of an idle CPU if the group
 * was throttled at all; also the time in which others ran if all long waits together are no longer
 * than the group was throttled.
 */
static void ask_quota(const struct blame *b, uint32_t thread, bool *idle, bool *other)
{
	const struct blame_input *in = &b->in;
	const struct meta_cgroup *g =
		in->m->nr_cgroups ? cpu_quota_of(in->m, in->history,
						 schedule_thread(in->sched, thread), in->to_ns)
				  : NULL;
	struct cpu_quota_waits q;

	*idle = *other = false;
	if (!g)
		return;
	cpu_quota_waits(in->sched, thread, in->from_ns, in->to_ns, &q);
	*idle = true;
	/* A thread gets a CPU some time after its group is allowed to run again. */
	*other = q.ns <= g->f.throttled_ns + g->f.throttled_ns / 8;
}

static void add_thread(struct blame *b, uint32_t thread)
{
	const struct blame_input *in = &b->in;
	const struct schedule_thread *t = schedule_thread(in->sched, thread);
	bool asked = false, idle = false, other = false;
	uint32_t group = BLAME_UNKNOWN;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(in->sched, t->first + i);
		struct blame_wait w = {
			.cpu = (size_t)s->cpu, /* -1 is no CPU's */
			.from_ns = s->from_ns > in->from_ns ? s->from_ns : in->from_ns,
			.to_ns = s->to_ns < in->to_ns ? s->to_ns : in->to_ns,
		};
		const struct blame_member *m;

		if (s->state != SPAN_READY || w.from_ns >= w.to_ns)
			continue;
		m = member_at(b, thread, w.from_ns);
		if (m->group != group)
			settle(b, group, false, false);
		group = m->group;
		if (w.to_ns - w.from_ns < CPU_QUOTA_MIN_NS) {
			divide(b, &w, m->pid);
			continue;
		}
		if (!asked)
			ask_quota(b, thread, &idle, &other);
		asked = true;
		if (idle)
			settle(b, group, false, false);
		divide(b, &w, m->pid);
		if (idle)
			settle(b, group, true, other && cpu_quota_is_wait(s, w.to_ns - w.from_ns));
	}
	settle(b, group, false, false);
}

/* ---- the result ---- */

static int by_path(const char *x, const char *y)
{
	return x && y ? strcmp(x, y) : (y != NULL) - (x != NULL);
}

static int by_victim(const void *a, const void *b)
{
	const struct blame_cell *x = a, *y = b;

	if (x->key >> 32 != y->key >> 32)
		return x->key >> 32 < y->key >> 32 ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_path(x->path, y->path);
}

static int longest_first(const void *a, const void *b)
{
	const struct blame_row *x = a, *y = b;

	if (x->waited_ns != y->waited_ns)
		return x->waited_ns > y->waited_ns ? -1 : 1;
	return by_path(x->path, y->path);
}

static int make_rows(struct blame *b)
{
	size_t nr = map_nr(&b->cells), nr_others = 0;
	uint64_t victim = UINT64_MAX;

	b->rows = calloc(nr + 1, sizeof(*b->rows));
	b->others = calloc(nr + 1, sizeof(*b->others));
	if (b->failed || !b->rows || !b->others)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct blame_cell *c = map_nth(&b->cells, i);
		uint32_t cause = (uint32_t)c->key;

		c->path = path_of(b, cause);
	}
	map_sort(&b->cells, by_victim);
	for (size_t i = 0; i < nr; i++) {
		const struct blame_cell *c = map_nth(&b->cells, i);
		uint32_t cause = (uint32_t)c->key;
		struct blame_row *row;

		if (c->key >> 32 != victim) {
			victim = c->key >> 32;
			b->rows[b->nr_rows++] =
				(struct blame_row){.path = path_of(b, (uint32_t)victim),
						   .others = b->others + nr_others};
		}
		row = &b->rows[b->nr_rows - 1];
		row->waited_ns += c->ns;
		if (cause < NR_BLAME_PARTS) {
			row->part_ns[cause] = c->ns;
			continue;
		}
		b->others[nr_others++] = (struct blame_other){c->path, c->ns};
		row->others_ns += c->ns;
		row->nr_others++;
	}
	qsort(b->rows, b->nr_rows, sizeof(*b->rows), longest_first);
	return 0;
}

int blame_new(const struct blame_input *in, struct blame **out)
{
	size_t nr_threads = schedule_nr_threads(in->sched), nr_cpus = schedule_nr_cpus(in->sched);
	struct blame *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->in = *in;
	b->groups = MAP_INIT(struct blame_group);
	b->cells = MAP_INIT(struct blame_cell);
	b->members = calloc(nr_threads + 1, sizeof(*b->members));
	b->first = calloc(nr_cpus + 1, sizeof(*b->first));
	b->near = calloc(nr_cpus + 1, sizeof(*b->near));
	rc = b->members && b->first && b->near ? list_cpus(b) : -ENOMEM;
	for (uint32_t i = 1; !rc && i < nr_threads; i++)
		if (!in->victims || in->victims[i])
			add_thread(b, i);
	rc = rc ? rc : make_rows(b);
	if (rc)
		blame_free(b);
	else
		*out = b;
	return rc;
}

void blame_free(struct blame *b)
{
	if (!b)
		return;
	map_free(&b->groups);
	map_free(&b->cells);
	free(b->members);
	buf_free(&b->runs);
	free(b->first);
	free(b->near);
	free(b->tally);
	free(b->tallied);
	free(b->rows);
	free(b->others);
	free(b);
}

size_t blame_nr(const struct blame *b)
{
	return b->nr_rows;
}

const struct blame_row *blame_row(const struct blame *b, size_t i)
{
	return &b->rows[i];
}
