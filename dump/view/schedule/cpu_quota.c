// SPDX-License-Identifier: MIT
/* Which waits a CPU quota explains; see cpu_quota.h. */
#include "dump/view/schedule/cpu_quota.h"

#include "dump/file/meta.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/model/process_history.h"

const struct meta_cgroup *cpu_quota_of(const struct meta *m, const struct process_history *p,
				       const struct schedule_thread *t, uint64_t ns)
{
	const struct fmt_task *task = history_task(p, t->tid, ns);
	const char *path = task ? history_cgroup(p, task, ns) : NULL;
	const struct meta_cgroup *best = NULL;

	for (size_t i = 0; i < m->nr_cgroups; i++) {
		const struct meta_cgroup *g = &m->cgroups[i];

		if (!g->f.quota_ns || !g->f.nr_throttled || !cgroup_contains(g, t->pid, path))
			continue;
		if (!best || g->f.throttled_ns > best->f.throttled_ns)
			best = g;
	}
	return best;
}

void cpu_quota_waits(const struct schedule *s, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		     struct cpu_quota_waits *out)
{
	const struct schedule_thread *t = schedule_thread(s, thread);

	*out = (struct cpu_quota_waits){0};
	for (size_t i = 0; i < t->nr; i++) {
		const struct span *v = schedule_span(s, t->first + i);
		uint64_t from = v->from_ns > from_ns ? v->from_ns : from_ns;
		uint64_t to = v->to_ns < to_ns ? v->to_ns : to_ns, ns = to > from ? to - from : 0;

		if (v->state == SPAN_UNKNOWN)
			out->unknown_ns += ns;
		if (!cpu_quota_is_wait(v, ns))
			continue;
		out->nr++;
		out->ns += ns;
		out->longest_ns = ns > out->longest_ns ? ns : out->longest_ns;
	}
}
