// SPDX-License-Identifier: MIT
/*
 * Merges the results of a /proc scan. Records arrive during the scan: for a task read at `ns`,
 * older records may be processed later, and newer records may be processed already. A record is
 * always right about its time; the scan adds what no record has told.
 */
#include "recorder/ledger/ledger_parts.h"

#include "dump/base/array.h"
#include "recorder/ledger/pinned.h"

#include <string.h>

/* Whether the task in /proc started after the known one, so that the tid was reused. */
static bool is_another(const struct task *known, uint64_t start_ns)
{
	uint64_t began = known->start_ns ? known->start_ns : known->known_ns;

	/* /proc rounds the start time down; after a suspend it is even earlier. */
	return start_ns > began + LEDGER_TICK_NS;
}

/* The task that was read, created if new; NULL when newer records have replaced it. */
static struct task *seen(struct ledger *l, uint64_t ns, const struct ledger_seen_task *s)
{
	struct task *t = task_newest(l, s->tid);

	if (t && t->exact && t->start_ns > ns)
		return NULL;
	if (t && t->exit_ns && !is_another(t, s->start_ns))
		return t->proc->pid == s->pid ? t : NULL;
	if (t && !t->exit_ns && (is_another(t, s->start_ns) || t->proc->pid != s->pid)) {
		if (t->tid == t->proc->pid)
			proc_end(l, t->proc, s->start_ns, NULL);
		else
			task_end(l, t, s->start_ns);
	}
	if (!t || t->exit_ns)
		t = task_add(l, s->pid, s->tid, ns);
	return t;
}

/* The start time in /proc, but not before the exit of the tid's previous task. */
static uint64_t start_of(const struct task *t, uint64_t start_ns)
{
	uint64_t free_ns = t->older ? t->older->exit_ns : 0;

	return start_ns > free_ns ? start_ns : free_ns;
}

/* Notes the cgroup or namespaces that a scan read at `ns`. */
static void seen_at(struct ledger *l, struct stays *stays, uint64_t ns, const void *text, size_t n)
{
	struct path *what = n ? paths_get(&l->paths, text, n, NULL) : NULL;

	if (what)
		stay_seen(l, stays, ns, what);
	paths_put(&l->paths, what);
}

/* Notes what a scan reads of leaders only. */
static void seen_leader(struct ledger *l, uint64_t ns, struct task *t,
			const struct ledger_seen_task *s)
{
	seen_at(l, &t->spaces, ns, s->namespaces, s->nr_namespaces * sizeof(s->namespaces[0]));
	seen_at(l, &t->proc->cgroups, ns, s->cgroup, s->cgroup ? strlen(s->cgroup) : 0);
	if (s->cmdline_bytes && ns >= t->proc->exec_ns)
		proc_set_cmdline(l, t->proc, ns, s->cmdline, s->cmdline_bytes);
}

void ledger_seen_task(struct ledger *l, uint64_t ns, const struct ledger_seen_task *s)
{
	char name[16] = {0};
	struct task *t;

	ledger_hold(l);
	ledger_make_room(l);
	t = seen(l, ns, s);
	if (!t)
		goto out;
	if (!t->exact)
		t->start_ns = start_of(t, s->start_ns);
	t->ppid = s->ppid;
	t->uid = s->uid;
	t->scanned = true;
	task_touch(t, ns);
	strncpy(name, s->comm, sizeof(name) - 1);
	if (t->exit_ns && t->exit_ns < ns)
		ns = t->exit_ns;
	comm_seen(l, t, ns, name);
	if (s->tid == s->pid)
		seen_leader(l, ns, t, s);
out:
	pthread_mutex_unlock(&l->lock);
}

void ledger_seen_cgroup(struct ledger *l, uint64_t ns, uint32_t pid, const char *cgroup)
{
	struct task *t;

	ledger_hold(l);
	ledger_make_room(l);
	t = task_newest(l, pid);
	if (t && t->proc->pid == pid && !t->exit_ns && t->start_ns <= ns)
		seen_at(l, &t->proc->cgroups, ns, cgroup, strlen(cgroup));
	pthread_mutex_unlock(&l->lock);
}

/* ---- mappings ---- */

static struct ledger_map to_map(struct ledger *l, const struct proc *p,
				const struct ledger_seen_map *s, uint64_t seen_ns, uint64_t ns)
{
	struct path_file is = {.ino = s->ino, .maj = s->maj, .min = s->min};
	struct ledger_map m = {
		.start = s->start,
		.end = s->end,
		.pgoff = s->pgoff,
		.ns = ns,
		.seen_ns = seen_ns,
		.ino = s->ino,
		.maj = s->maj,
		.min = s->min,
		.prot = s->prot,
		.flags = s->flags,
		.path = paths_get(&l->paths, s->path, strlen(s->path), &is),
	};

	if (m.path)
		pinned_want(l->paths.keep, m.path, mount_of(p->leader, seen_ns));
	return m;
}

/* Whether the scan found a mapping with exactly this range. */
static bool found(const struct ledger_map *m, const struct ledger_seen_map *seen_maps, size_t nr)
{
	size_t at = array_bisect(i, nr, seen_maps[i].start < m->start);

	return at < nr && seen_maps[at].start == m->start && seen_maps[at].end == m->end;
}

/* Ends mappings from before `ns` that the scan did not find. */
static void end_unseen(struct ledger *l, struct proc *p, uint64_t ns,
		       const struct ledger_seen_map *seen_maps, size_t nr)
{
	for (uint32_t i = 0; p->maps && i < p->maps->nr;) {
		const struct ledger_map *m = p->maps->v[i];

		if ((m->ns ? m->ns : m->seen_ns) > ns || found(m, seen_maps, nr)) {
			i++;
			continue;
		}
		if (!maps_own(l, p))
			return;
		maps_end(l, p, i, ns);
	}
}

/* The process with mappings read at `ns`; NULL when it has ended or called exec since. */
static struct proc *scannable(struct ledger *l, uint32_t pid, uint64_t ns)
{
	struct task *leader = task_newest(l, pid);

	if (!leader || leader->proc->pid != pid || !leader->proc->nr_alive)
		return NULL;
	if ((leader->exact && leader->start_ns > ns) || leader->proc->exec_ns > ns)
		return NULL;
	return leader->proc;
}

void ledger_seen_maps(struct ledger *l, uint64_t ns, uint32_t pid,
		      const struct ledger_seen_map *seen_maps, size_t nr)
{
	struct proc *p;
	struct maps *shared = NULL;
	uint32_t refs = 0;
	bool whole;

	ledger_hold(l);
	ledger_make_room(l);
	p = scannable(l, pid, ns);
	if (!p)
		goto out;
	whole = p->maps ? p->maps->whole : p->exec_ns || p->maps_scan_ns;
	if (!whole && p->maps && p->maps->refs > 1) {
		/* The table was shared while its contents were unknown. It is completed in place,
		 * so that every process that shares it gets the mappings. */
		shared = p->maps;
		refs = shared->refs;
		shared->refs = 1;
	} else {
		end_unseen(l, p, ns, seen_maps, nr);
	}
	p->maps_scan_ns = ns;
	for (size_t i = 0; i < nr; i++) {
		struct ledger_map m = to_map(l, p, &seen_maps[i], ns, whole ? ns : 0);

		if (m.path)
			maps_add(l, p, &m);
	}
	if (shared)
		shared->refs = refs;
	if (p->maps)
		p->maps->whole = true;
out:
	pthread_mutex_unlock(&l->lock);
}

/* ---- the end of a full scan ---- */

void ledger_seen_all(struct ledger *l, uint64_t ns)
{
	struct task *t;

	ledger_hold(l);
	for (size_t i = 0; i < l->nr_buckets; i++) {
		for (t = l->tasks[i]; t; t = t->hash_next) {
			if (!t->exit_ns && t->touched_ns < ns)
				task_end(l, t, ns);
		}
	}
	pthread_mutex_unlock(&l->lock);
}
