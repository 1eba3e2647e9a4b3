// SPDX-License-Identifier: MIT
/* Sorts the tables of a ledger once all blocks are read; see process_history_impl.h. All steps are
 * O(n log n), because ledgers are not trusted. */
#include "dump/view/model/process_history_impl.h"

#include <stdlib.h>

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct fmt_task *x = a, *y = b;
	int order = compare_u64(x->tid, y->tid);

	if (!order)
		order = compare_u64(x->start_ns, y->start_ns);
	return order ? order : compare_u64(x->key, y->key);
}

static int compare_comms(const void *a, const void *b)
{
	const struct person_comm *x = a, *y = b;
	int order = compare_u64(x->key, y->key);

	if (!order)
		order = compare_u64(x->ns, y->ns);
	return order ? order : compare_u64(x->order, y->order);
}

static int compare_stays(const void *a, const void *b)
{
	const struct person_stay *x = a, *y = b;
	int order = compare_u64(x->key, y->key);

	if (!order)
		order = compare_u64(x->ns, y->ns);
	return order ? order : compare_u64(x->order, y->order);
}

static int compare_maps(const void *a, const void *b)
{
	const struct fmt_map *x = &((const struct person_map *)a)->f;
	const struct fmt_map *y = &((const struct person_map *)b)->f;
	int order = compare_u64(x->key, y->key);

	if (!order)
		order = compare_u64(x->start, y->start);
	return order ? order : compare_u64(x->ns, y->ns);
}

static void sort(struct buf *b, size_t entry, int (*compare)(const void *, const void *),
		 size_t *nr)
{
	*nr = b->len / entry;
	if (*nr)
		qsort(b->p, *nr, entry, compare);
}

/* A task may be in two blocks, or be repeated by a malicious file. */
static size_t drop_repeated_tasks(struct fmt_task *t, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (!kept || compare_tasks(&t[kept - 1], &t[i]))
			t[kept++] = t[i];
	return kept;
}

static void span(struct person_map *m, size_t from, size_t to)
{
	size_t mid = from + (to - from) / 2;
	struct person_map *root = &m[mid];
	const struct person_map *kid;

	if (from == to)
		return;
	root->max_end = root->f.end;
	root->min_ns = root->f.ns;
	root->max_end_ns = root->f.end_ns;
	for (int right = 0; right < 2; right++) {
		size_t a = right ? mid + 1 : from, b = right ? to : mid;

		if (a == b)
			continue;
		span(m, a, b);
		kid = &m[a + (b - a) / 2];
		if (kid->max_end > root->max_end)
			root->max_end = kid->max_end;
		if (kid->min_ns < root->min_ns)
			root->min_ns = kid->min_ns;
		if (kid->max_end_ns > root->max_end_ns)
			root->max_end_ns = kid->max_end_ns;
	}
}

static int compare_ksyms(const void *a, const void *b)
{
	const struct history_ksym *x = a, *y = b;

	if (x->f.addr != y->f.addr)
		return x->f.addr < y->f.addr ? -1 : 1;
	return x->f.ns < y->f.ns ? -1 : x->f.ns > y->f.ns;
}

/* Builds one tree per process. */
static void span_all(struct person_map *m, size_t nr)
{
	for (size_t from = 0, to; from < nr; from = to) {
		for (to = from + 1; to < nr && m[to].f.key == m[from].f.key; to++)
			;
		span(m, from, to);
	}
}

void history_sort(struct process_history *p)
{
	sort(&p->tasks, sizeof(*p->task), compare_tasks, &p->nr.nr_tasks);
	sort(&p->comms, sizeof(*p->comm), compare_comms, &p->nr.nr_comms);
	sort(&p->maps, sizeof(*p->map), compare_maps, &p->nr.nr_maps);
	sort(&p->spaces, sizeof(*p->space), compare_stays, &p->nr_spaces);
	sort(&p->cgroups, sizeof(*p->cgroup), compare_stays, &p->nr_cgroups);
	sort(&p->ksyms, sizeof(*p->ksym), compare_ksyms, &p->nr_ksyms);
	p->nr.nr_tasks = drop_repeated_tasks((struct fmt_task *)p->tasks.p, p->nr.nr_tasks);
	p->task = (const struct fmt_task *)p->tasks.p;
	p->comm = (const struct person_comm *)p->comms.p;
	p->map = (struct person_map *)p->maps.p;
	p->path = (const struct person_path *)p->paths.p;
	p->set = (const struct person_set *)p->sets.p;
	p->namespace = (const struct fmt_namespace *)p->namespaces.p;
	p->space = (const struct person_stay *)p->spaces.p;
	p->cgroup = (const struct person_stay *)p->cgroups.p;
	p->ksym = (const struct history_ksym *)p->ksyms.p;
	span_all(p->map, p->nr.nr_maps);
	for (size_t i = 0; i < p->nr.nr_tasks; i++)
		p->nr.nr_processes += p->task[i].tid == p->task[i].pid;
}
