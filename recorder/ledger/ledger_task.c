// SPDX-License-Identifier: MIT
/*
 * Tasks by tid, and their processes. A tid has a chain of tasks, newest first; all but the newest
 * have ended. A process lives as long as one of its threads; its leader may exit earlier.
 */
#include "recorder/ledger/ledger_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static struct task **bucket_of(const struct ledger *l, uint32_t tid)
{
	return &l->tasks[tid & (l->nr_buckets - 1)];
}

static void grow(struct ledger *l)
{
	struct task **was = l->tasks, *t, *next, **b;
	size_t nr_was = l->nr_buckets, nr = nr_was ? nr_was * 2 : 256;
	struct task **table = ledger_alloc(l, nr * sizeof(*table));

	if (!table)
		return;
	l->tasks = table;
	l->nr_buckets = nr;
	for (size_t i = 0; i < nr_was; i++) {
		for (t = was[i]; t; t = next) {
			next = t->hash_next;
			b = bucket_of(l, t->tid);
			t->hash_next = *b;
			*b = t;
		}
	}
	ledger_release(l, was, nr_was * sizeof(*was));
}

struct task *task_newest(const struct ledger *l, uint32_t tid)
{
	struct task *t = l->nr_buckets ? *bucket_of(l, tid) : NULL;

	while (t && t->tid != tid)
		t = t->hash_next;
	return t;
}

struct task *task_at(const struct ledger *l, uint32_t tid, uint64_t ns)
{
	struct task *t = task_newest(l, tid);

	while (t && t->start_ns > ns)
		t = t->older;
	return t;
}

/* Replaces the newest task of a tid in the table by `with` (same tid; NULL: none). */
static void replace(struct ledger *l, struct task *t, struct task *with)
{
	struct task **at = bucket_of(l, t->tid);

	while (*at != t)
		at = &(*at)->hash_next;
	if (with) {
		with->hash_next = t->hash_next;
		*at = with;
	} else {
		*at = t->hash_next;
		l->nr_tids--;
	}
	t->hash_next = NULL;
}

static void insert(struct ledger *l, struct task *t)
{
	struct task *was = task_newest(l, t->tid), **b;

	if (was) {
		t->older = was;
		was->newer = t;
		replace(l, was, t);
		return;
	}
	b = bucket_of(l, t->tid);
	t->hash_next = *b;
	*b = t;
	l->nr_tids++;
}

/* ---- processes ---- */

static struct proc *proc_new(struct ledger *l, uint32_t pid)
{
	struct proc *p = ledger_alloc(l, sizeof(*p));

	if (p)
		p->pid = pid;
	return p;
}

static void proc_free(struct ledger *l, struct proc *p)
{
	maps_drop(l, p);
	ledger_release(l, p->cmdline, p->cmdline_bytes);
	stays_drop(l, &p->cgroups);
	ledger_release(l, p, sizeof(*p));
}

/*
 * The process that was `pid` at `ns`, created with an unknown leader when there is none. It may
 * have ended already: a scan can notice that before the records of its last threads come.
 */
static struct proc *proc_of(struct ledger *l, uint32_t pid, uint64_t ns)
{
	struct task *leader = task_at(l, pid, ns);

	if (leader && leader->proc->pid == pid && (leader->proc->nr_alive || leader->r.ns >= ns))
		return leader->proc;
	if (leader ? leader->newer : task_newest(l, pid))
		return NULL; /* older than the known data of this tid */
	if (leader && !leader->exit_ns)
		task_end(l, leader, ns);
	leader = task_add(l, pid, pid, ns);
	return leader ? leader->proc : NULL;
}

void proc_end(struct ledger *l, struct proc *p, uint64_t ns, const struct task *except)
{
	struct task *t, *next;

	for (t = p->alive; t; t = next) {
		next = t->alive_next;
		if (t != except)
			task_end(l, t, ns);
	}
}

void proc_set_cmdline(struct ledger *l, struct proc *p, uint64_t ns, const char *s, size_t n)
{
	ledger_release(l, p->cmdline, p->cmdline_bytes);
	p->cmdline = NULL;
	p->cmdline_bytes = 0;
	p->cmdline_ns = ns;
	if (!n || !ledger_admits(l, n))
		return;
	p->cmdline = ledger_alloc(l, n);
	if (!p->cmdline)
		return;
	memcpy(p->cmdline, s, n);
	p->cmdline_bytes = n;
}

static void join(struct ledger *l, struct proc *p, struct task *t)
{
	t->proc = p;
	t->alive_next = p->alive;
	if (p->alive)
		p->alive->alive_prev = t;
	p->alive = t;
	p->nr_alive++;
	p->nr_tasks++;
	if (t->tid == p->pid)
		p->leader = t;
	else if (p->leader)
		unretire(l, &p->leader->r); /* the process has a living thread again */
}

static void leave(struct proc *p, struct task *t)
{
	if (t->alive_prev)
		t->alive_prev->alive_next = t->alive_next;
	else
		p->alive = t->alive_next;
	if (t->alive_next)
		t->alive_next->alive_prev = t->alive_prev;
	t->alive_prev = t->alive_next = NULL;
	p->nr_alive--;
}

/* ---- tasks ---- */

struct task *task_add(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns)
{
	struct task *t = NULL;
	struct proc *p;

	if (!ledger_admits(l, sizeof(*t) + sizeof(*p)))
		return NULL;
	p = tid == pid ? proc_new(l, pid) : proc_of(l, pid, ns);
	if (p)
		t = ledger_alloc(l, sizeof(*t));
	if (l->nr_tids >= l->nr_buckets)
		grow(l);
	if (!t || !l->nr_buckets) {
		ledger_release(l, t, sizeof(*t));
		if (p && !p->nr_tasks)
			proc_free(l, p);
		return NULL;
	}
	t->tid = tid;
	t->uid = UINT32_MAX;
	t->ppid = p->leader ? p->leader->ppid : 0;
	t->known_ns = t->touched_ns = ns;
	insert(l, t);
	/* The start is unknown, but not before the end of the tid's previous task. */
	t->start_ns = t->older ? ns : 0;
	join(l, p, t);
	l->nr_tasks++;
	return t;
}

void task_touch(struct task *t, uint64_t ns)
{
	if (ns > t->touched_ns)
		t->touched_ns = ns;
}

void task_end(struct ledger *l, struct task *t, uint64_t ns)
{
	struct proc *p = t->proc;

	if (t->exit_ns)
		return;
	if (ns < t->start_ns)
		ns = t->start_ns;
	t->exit_ns = ns ? ns : 1;
	leave(p, t);
	l->nr_tombstones++;
	if (t != p->leader)
		retire(l, &t->r, RETIRED_TASK, t->exit_ns);
	if (!p->nr_alive && p->leader)
		retire(l, &p->leader->r, RETIRED_TASK, t->exit_ns);
}

void task_drop(struct ledger *l, struct task *t)
{
	struct proc *p = t->proc;

	unretire(l, &t->r);
	while (t->comms)
		comm_drop(l, t->comms);
	stays_drop(l, &t->spaces);
	if (t->newer)
		t->newer->older = t->older;
	else
		replace(l, t, t->older);
	if (t->older)
		t->older->newer = t->newer;
	if (t->exit_ns)
		l->nr_tombstones--;
	else
		leave(p, t);
	l->nr_tasks--;
	if (p->leader == t)
		p->leader = NULL;
	if (!--p->nr_tasks)
		proc_free(l, p);
	ledger_release(l, t, sizeof(*t));
}

struct task *task_for(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns)
{
	struct task *t;

	/* 0: the idle task; ~0: in another pid namespace, or reaped. */
	if (!pid || !tid || pid == UINT32_MAX || tid == UINT32_MAX)
		return NULL;
	t = task_at(l, tid, ns);
	if (t && t->exit_ns && t->exit_ns + LEDGER_GRACE_NS >= ns)
		return t;
	if (t && t->newer)
		return NULL; /* older than the known data of this tid */
	if (!t && task_newest(l, tid))
		return NULL;
	if (t && !t->exit_ns && t->proc->pid != pid) {
		/* The tid is in another process now: the records in between are lost. */
		task_end(l, t, ns);
		t = NULL;
	}
	if (!t || t->exit_ns)
		t = task_add(l, pid, tid, ns);
	if (t)
		task_touch(t, ns);
	return t;
}

void tasks_free(struct ledger *l)
{
	for (size_t i = 0; i < l->nr_buckets; i++) {
		while (l->tasks[i])
			task_drop(l, l->tasks[i]);
	}
	ledger_release(l, l->tasks, l->nr_buckets * sizeof(*l->tasks));
	l->tasks = NULL;
}
