// SPDX-License-Identifier: MIT
/* The cgroup and the namespaces of a task of a dump; see process_history.h. */
#include "dump/view/model/process_history_impl.h"

#include "dump/base/array.h"

/* The last entry of `key` that began by `ns`; NULL: none. */
static const struct person_stay *stay_at(const struct person_stay *v, size_t nr, uint32_t key,
					 uint64_t ns)
{
	size_t until = array_bisect(i, nr, v[i].key < key || (v[i].key == key && v[i].ns <= ns));

	return until && v[until - 1].key == key ? &v[until - 1] : NULL;
}

/* An event can name a thread before the time of its FORK record. */
static uint64_t not_before(const struct fmt_task *t, uint64_t ns)
{
	return ns < t->start_ns ? t->start_ns : ns;
}

const char *history_cgroup(const struct process_history *p, const struct fmt_task *t, uint64_t ns)
{
	const struct fmt_task *leader = history_leader(p, t, ns, NULL);
	const struct person_stay *s;

	if (!leader)
		return NULL;
	s = stay_at(p->cgroup, p->nr_cgroups, leader->key, not_before(leader, ns));
	return s ? p->path[s->what].text : NULL;
}

uint64_t history_namespace(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			   uint32_t kind)
{
	const struct person_stay *s = stay_at(p->space, p->nr_spaces, t->key, not_before(t, ns));
	const struct fmt_task *leader = s ? NULL : history_leader(p, t, ns, NULL);
	const struct person_set *set;

	if (leader)
		s = stay_at(p->space, p->nr_spaces, leader->key, not_before(leader, ns));
	if (!s)
		return 0;
	set = &p->set[s->what];
	/* If all sets are empty, there is no table. */
	for (uint32_t i = 0; i < set->nr; i++) {
		const struct fmt_namespace *v = &p->namespace[set->from + i];

		if (v->kind == kind)
			return v->ino;
	}
	return 0;
}
