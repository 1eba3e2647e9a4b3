// SPDX-License-Identifier: MIT
/* The cgroup and the namespaces of a task of a dump; see process_history.h. */
#include "dump/view/model/process_history_impl.h"

#include "dump/base/array.h"

/* The last entry of the task that began by `ns`; NULL: none. `span`: see history_narrow(). */
static const struct person_stay *stay_at(const struct person_stay *v, size_t nr,
					 const struct fmt_task *t, uint64_t ns,
					 struct history_span *span)
{
	size_t until;

	/* An event can name a thread before the time of its FORK record. */
	if (!history_since(span, ns, t->start_ns)) {
		ns = t->start_ns;
		span = NULL;
	}
	until = array_bisect(i, nr,
			     v[i].key < t->key ||
				     (v[i].key == t->key && history_since(span, ns, v[i].ns)));
	return until && v[until - 1].key == t->key ? &v[until - 1] : NULL;
}

static const char *cgroup_at(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			     struct history_span *span)
{
	const struct fmt_task *leader = history_leader(p, t, ns, span);
	const struct person_stay *s =
		leader ? stay_at(p->cgroup, p->nr_cgroups, leader, ns, span) : NULL;

	return s ? p->path[s->what].text : NULL;
}

const char *history_cgroup(const struct process_history *p, const struct fmt_task *t, uint64_t ns)
{
	return cgroup_at(p, t, ns, NULL);
}

const char *history_cgroup_of(const struct process_history *p, uint32_t tid, uint64_t ns,
			      struct history_span *span)
{
	const char *comm;
	const struct fmt_task *t = history_who(p, tid, ns, &comm, span);

	return t ? cgroup_at(p, t, ns, span) : NULL;
}

uint64_t history_namespace(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			   uint32_t kind)
{
	const struct person_stay *s = stay_at(p->space, p->nr_spaces, t, ns, NULL);
	const struct fmt_task *leader = s ? NULL : history_leader(p, t, ns, NULL);
	const struct person_set *set;

	if (leader)
		s = stay_at(p->space, p->nr_spaces, leader, ns, NULL);
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
