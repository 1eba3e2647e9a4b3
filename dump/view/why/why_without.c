// SPDX-License-Identifier: MIT
/*
 * What would remain of a wait without some threads: replays the path of the wait and leaves out the
 * time in which they ran on the CPU that was waited for, and the time attributed to them because
 * they held or answered what was waited for. What would run in their place is not known, so the
 * result is a lower bound on a machine with other runnable threads.
 */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The cgroup is the path, or below it. */
static bool is_below(const char *cgroup, const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	return !strncmp(cgroup, path, n) && (!cgroup[n] || cgroup[n] == '/');
}

/* "12345": a process or thread; "/path": a cgroup; else a name with * and ?. */
static bool is_meant(const struct why *w, uint32_t thread, const char *who)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	const struct fmt_task *task;
	const char *cgroup;
	uint64_t id;

	if (*who == '/') {
		task = history_task(w->a.history, t->tid, w->end_ns);
		cgroup = task ? history_cgroup(w->a.history, task, w->end_ns) : NULL;
		return cgroup && is_below(cgroup, who);
	}
	if (!str_u64(who, &id, NULL))
		return t->tid == id || t->pid == id;
	return t->comm && str_glob(who, t->comm);
}

static uint64_t ran_on(const struct why *w, const bool *gone, size_t cpu, uint64_t from_ns,
		       uint64_t to_ns)
{
	uint64_t ns = 0;

	for (size_t i = schedule_run_after(w->a.sched, cpu, from_ns);
	     i < schedule_nr_runs(w->a.sched, cpu); i++) {
		const struct span *run = schedule_run(w->a.sched, cpu, i);

		if (run->from_ns >= to_ns)
			break;
		if (gone[run->thread])
			ns += overlap(run->from_ns, run->to_ns, from_ns, to_ns);
	}
	return ns;
}

/* The part of a piece that would not have been. */
static uint64_t saved(const struct why *w, const struct time_path *p, const struct piece *q,
		      const bool *gone)
{
	const uint32_t *route = path_route(p, q);
	const struct span *s;

	for (unsigned i = 1; i <= q->depth; i++)
		if (gone[route[i]])
			return q->to_ns - q->from_ns;
	if (q->kind != LOST_READY)
		return 0;
	s = schedule_at(w->a.sched, q->thread, q->from_ns);
	if (!s || s->cpu < 0 || (size_t)s->cpu >= schedule_nr_cpus(w->a.sched))
		return 0;
	return ran_on(w, gone, (size_t)s->cpu, q->from_ns, q->to_ns);
}

static bool is_waiting(const struct piece *q)
{
	return q->depth || q->kind != LOST_RUN;
}

int why_without(const struct why *w, const struct finding *f, struct without *out)
{
	size_t nr = schedule_nr_threads(w->a.sched);
	bool *gone = calloc(nr + 1, sizeof(*gone));
	struct time_path p = {0};
	int rc = gone ? 0 : -ENOMEM;

	*out = (struct without){.nr_threads = 0};
	for (uint32_t i = 1; !rc && i < nr; i++) {
		gone[i] = i != f->victim && is_meant(w, i, w->opt->without);
		out->nr_threads += gone[i];
	}
	if (!rc)
		rc = path_walk(w, f->victim, f->to_ns ? f->from_ns : w->focus_ns,
			       f->to_ns ? f->to_ns : w->end_ns, &p);
	for (size_t i = 0; !rc && i < path_nr(&p); i++) {
		const struct piece *q = path_piece(&p, i);

		if (!is_waiting(q))
			continue;
		out->wait_ns += q->to_ns - q->from_ns;
		out->remaining_ns += q->to_ns - q->from_ns - saved(w, &p, q, gone);
	}
	path_free(&p);
	free(gone);
	return rc;
}
