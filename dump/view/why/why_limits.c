// SPDX-License-Identifier: MIT
/*
 * A control group that used up its CPU quota: its counters prove it, and the waits of its threads
 * show the effect. Requires a quota in the dump. Also the memory limit that a victim of the OOM
 * killer met.
 */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/schedule/cpu_quota.h"

#define MS 1000000ull

/* Minimum wait to report: of the thread that requested the dump, of others. */
#define WAIT_ASKED  (30 * MS)
#define WAIT_OTHERS (100 * MS)

/* The name of a container, or the path of another group. */
static const char *group_name(const struct why *w, const char *path, char *out, size_t n)
{
	return cgroup_is_named(w->a.m, path) ? cgroup_name(out, n, w->a.m, path) : path;
}

static int find_quota(struct why *w, uint32_t thread, struct finding *f)
{
	const struct schedule_thread *of = schedule_thread(w->a.sched, thread);
	const struct meta_cgroup *g = cpu_quota_of(w->a.m, w->a.history, of, w->end_ns);
	struct cpu_quota_waits q;
	uint64_t lost_ns;
	struct text *t;
	char name[256];

	if (!g)
		return 0;
	cpu_quota_waits(w->a.sched, thread, w->focus_ns, w->end_ns, &q);
	/* The group's counter may include throttling before the focus. */
	lost_ns = q.ns + q.unknown_ns;
	lost_ns = lost_ns < g->f.throttled_ns ? lost_ns : g->f.throttled_ns;
	if (lost_ns < (thread == w->asked ? WAIT_ASKED : WAIT_OTHERS))
		return 0;
	/* Throttling makes other waits longer, too, so this cause precedes them. */
	f->score = why_ms(q.ns > lost_ns ? q.ns : lost_ns) * 1.3;
	f->sure = 2 * q.ns >= lost_ns ? SURE_CERTAIN : SURE_FAIRLY;
	why_phrase(w, &f->verdict,
		   "{thread} was throttled for {text}{time} of the last {time}: its control group "
		   "used up its CPU quota of {time} per {time}",
		   SAY_THREAD(thread), SAY_TEXT(q.ns >= lost_ns ? "" : "up to "), SAY_TIME(lost_ns),
		   SAY_TIME(why_focus_time(w)), SAY_TIME(g->f.quota_ns), SAY_TIME(g->f.period_ns));
	t = finding_line(f, "group");
	why_phrase(w, t, "{text} was throttled in {nr} period{s}, for {time}",
		   SAY_TEXT(group_name(w, g->path, name, sizeof(name))), SAY_NR(g->f.nr_throttled),
		   SAY_TIME(g->f.throttled_ns));
	if (g->f.flags & FMT_CGROUP_NEW)
		text_str(t, " since it was created\n");
	else
		why_phrase(w, t, " of {time}\n", SAY_TIME(g->f.at_ns - g->f.since_ns));
	if (q.nr)
		finding_say(w, f, "time", "taken off the CPU {nr} time{s}, for up to {time}",
			    SAY_NR(q.nr), SAY_TIME(q.longest_ns));
	why_say_function(w, f, thread, w->focus_ns, w->end_ns);
	if (q.nr)
		why_say_before(w, f, thread);
	return 0;
}

const struct detector detect_quota = {
	.name = "cpu-quota", .per_thread = true, .find = find_quota, .can = why_can_switch};

/* ---- memory ---- */

void why_say_memory(const struct why *w, uint32_t tid, uint64_t ns, struct text *t)
{
	const struct fmt_task *task = history_task(w->a.history, tid, ns);
	const char *path = task ? history_cgroup(w->a.history, task, ns) : NULL;
	const struct meta_cgroup *of = NULL, *any = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < w->a.m->nr_cgroups; i++) {
		const struct meta_cgroup *g = &w->a.m->cgroups[i];

		if (!g->f.memory_limit_bytes || !g->f.nr_oom_kills)
			continue;
		any = g;
		nr++;
		if (cgroup_contains(g, task ? task->pid : tid, path))
			of = g;
	}
	if (!of && nr == 1)
		of = any;
	if (of) {
		char limit[32], name[256];

		why_phrase(w, t, ": control group {text} reached its memory limit of {text}",
			   SAY_TEXT(group_name(w, of->path, name, sizeof(name))),
			   SAY_TEXT(str_fmt_size(limit, sizeof(limit), of->f.memory_limit_bytes)));
	} else if (w->a.m->knows_cgroups && !nr) {
		text_str(t, ": the machine was out of memory");
	}
}

void why_say_full_memory(const struct why *w, uint32_t thread, struct text *t)
{
	const struct schedule_thread *me = schedule_thread(w->a.sched, thread);
	const struct fmt_task *task = history_task(w->a.history, me->tid, w->end_ns);
	const char *path = task ? history_cgroup(w->a.history, task, w->end_ns) : NULL;

	for (size_t i = 0; i < w->a.m->nr_cgroups; i++) {
		const struct meta_cgroup *g = &w->a.m->cgroups[i];
		char limit[32], name[256];

		if (!g->f.memory_limit_bytes || !g->f.nr_limit_hits ||
		    !cgroup_contains(g, me->pid, path))
			continue;
		str_fmt_size(limit, sizeof(limit), g->f.memory_limit_bytes);
		why_phrase(w, t,
			   "; its control group {text} met its memory limit of {text} {nr} time{s}",
			   SAY_TEXT(group_name(w, g->path, name, sizeof(name))), SAY_TEXT(limit),
			   SAY_NR(g->f.nr_limit_hits));
		return;
	}
}
