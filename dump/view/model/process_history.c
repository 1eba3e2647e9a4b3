// SPDX-License-Identifier: MIT
/* Lookups in the ledger of a dump; see process_history.h. Called by script, info and everything
 * that shows thread names. */
#include "dump/view/model/process_history_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A tick of the clock in /proc, which gives a scanned task's start; much more than the delay of a
 * FORK record. */
#define SLACK_NS 10000000u
/* How long an exec may take from its COMM record to the new program's first instruction. */
#define EXEC_NS 1000000000u
/* Limit on the names of a task to search for its last exec. */
#define MAX_NAMES 64
/* Nodes that one search for a mapping may visit: thousands of generations at one address. */
#define MAX_VISITS 4096

static const struct fmt_task idle_task = {.uid = 0};

int history_load(struct reader *r, struct process_history **out, struct err *err)
{
	struct process_history *p = calloc(1, sizeof(*p));
	int rc = p ? history_read(p, r) : -ENOMEM;

	if (rc) {
		history_free(p);
		return err_set(err, rc,
			       rc == -E2BIG ? "the ledger of this dump is unreasonably large"
					    : "out of memory for the ledger of the dump");
	}
	*out = p;
	return 0;
}

void history_free(struct process_history *p)
{
	if (!p)
		return;
	intern_free(&p->texts);
	buf_free(&p->tasks);
	buf_free(&p->comms);
	buf_free(&p->maps);
	buf_free(&p->paths);
	buf_free(&p->sets);
	buf_free(&p->namespaces);
	buf_free(&p->spaces);
	buf_free(&p->cgroups);
	buf_free(&p->ksyms);
	free(p);
}

/* ---- tasks ---- */

/* The index of the first task after (tid, ns]. */
static size_t tasks_until(const struct process_history *p, uint32_t tid, uint64_t ns,
			  struct history_span *span)
{
	const struct fmt_task *t = p->task;

	return array_bisect(i, p->nr.nr_tasks,
			    t[i].tid < tid ||
				    (t[i].tid == tid && history_since(span, ns, t[i].start_ns)));
}

static const struct fmt_task *task_at(const struct process_history *p, uint32_t tid, uint64_t ns,
				      struct history_span *span)
{
	const struct fmt_task *before = NULL, *after = NULL;
	size_t i;

	if (!tid)
		return &idle_task;
	i = tasks_until(p, tid, ns, span);
	if (i && p->task[i - 1].tid == tid)
		before = &p->task[i - 1];
	if (i < p->nr.nr_tasks && p->task[i].tid == tid) {
		uint64_t start_ns = p->task[i].start_ns;

		if (history_since(span, ns, start_ns > SLACK_NS ? start_ns - SLACK_NS : 0))
			after = &p->task[i];
	}
	if (!before || !after)
		return before ? before : after;
	if (!before->exit_ns || !history_since(span, ns, before->exit_ns))
		return before;
	/* The nearer task; if both are equally near, the earlier one. */
	return history_since(span, ns,
			     before->exit_ns + (after->start_ns - before->exit_ns) / 2 + 1)
		       ? after
		       : before;
}

const struct fmt_task *history_task(const struct process_history *p, uint32_t tid, uint64_t ns)
{
	return task_at(p, tid, ns, NULL);
}

/*
 * The last one started, without the slack of history_task(). When a thread execs after its leader
 * exited, it becomes a new leader. That one is within the slack, but the thread's past belongs to
 * the old leader.
 */
const struct fmt_task *history_leader(const struct process_history *p, const struct fmt_task *t,
				      uint64_t ns, struct history_span *span)
{
	const struct fmt_task *leader;
	size_t i;

	if (t->tid == t->pid)
		return t;
	if (t->exit_ns && history_since(span, ns, t->exit_ns)) {
		ns = t->exit_ns; /* its last switch; another thread may have exec'd by then */
		span = NULL;
	}
	if (!history_since(span, ns, t->start_ns)) {
		ns = t->start_ns;
		span = NULL;
	}
	i = tasks_until(p, t->pid, ns, span);
	leader = i ? &p->task[i - 1] : NULL;
	return leader && leader->tid == t->pid && leader->pid == t->pid ? leader : NULL;
}

/* ---- names ---- */

/* The index of the first name after (key, ns]. */
static size_t comms_until(const struct process_history *p, uint32_t key, uint64_t ns,
			  struct history_span *span)
{
	const struct person_comm *c = p->comm;

	return array_bisect(i, p->nr.nr_comms,
			    c[i].key < key ||
				    (c[i].key == key && history_since(span, ns, c[i].ns)));
}

/* The task's own name at `ns`; NULL when it had none (yet). */
static const char *own_comm(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			    struct history_span *span)
{
	size_t i = comms_until(p, t->key, ns, span);

	return i && p->comm[i - 1].key == t->key ? p->comm[i - 1].comm : NULL;
}

/* The first own name, however late. */
static const char *first_comm(const struct process_history *p, const struct fmt_task *t)
{
	size_t at = array_bisect(i, p->nr.nr_comms, p->comm[i].key < t->key);

	return at < p->nr.nr_comms && p->comm[at].key == t->key ? p->comm[at].comm : NULL;
}

/* `t`: the task at `ns`. */
static const char *comm_at(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			   struct history_span *span)
{
	const struct fmt_task *of;
	const char *name;

	if (t == &idle_task)
		return "swapper";
	name = t ? own_comm(p, t, ns, span) : NULL;
	if (!t || name)
		return name;
	/* A forked task starts with the name that its parent had then. Without the fork's time this
	 * is unknown: the parent may have exec'd since. */
	if (t->tid != t->pid) {
		of = history_leader(p, t, ns, span);
		name = of ? own_comm(p, of, ns, span) : NULL;
	} else {
		of = t->start_ns ? history_task(p, t->ppid, t->start_ns) : NULL;
		name = of && of != &idle_task ? own_comm(p, of, t->start_ns, NULL) : NULL;
	}
	return name ? name : first_comm(p, t);
}

const char *history_comm(const struct process_history *p, uint32_t tid, uint64_t ns)
{
	return comm_at(p, history_task(p, tid, ns), ns, NULL);
}

const struct fmt_task *history_who(const struct process_history *p, uint32_t tid, uint64_t ns,
				   const char **comm, struct history_span *span)
{
	const struct fmt_task *t;

	*span = (struct history_span){0, UINT64_MAX};
	t = task_at(p, tid, ns, span);
	*comm = comm_at(p, t, ns, span);
	return t;
}

/* ---- mappings ---- */

struct map_search {
	const struct person_map *m;
	uint64_t ns, addr;
	struct history_span *span;
	const struct person_map *best;
	unsigned visits;
};

static void search(struct map_search *s, size_t from, size_t to)
{
	while (from < to && s->visits++ < MAX_VISITS) {
		size_t mid = from + (to - from) / 2;
		const struct person_map *r = &s->m[mid];

		if (r->max_end <= s->addr || !history_since(s->span, s->ns, r->min_ns) ||
		    history_since(s->span, s->ns, r->max_end_ns))
			return;
		if (r->f.start <= s->addr) {
			if (s->addr < r->f.end && history_since(s->span, s->ns, r->f.ns) &&
			    !history_since(s->span, s->ns, r->f.end_ns) &&
			    (!s->best || r->f.ns >= s->best->f.ns))
				s->best = r;
			search(s, mid + 1, to);
		}
		to = mid;
	}
}

/* The index of the first mapping whose key is at least `key`. */
static size_t maps_before(const struct process_history *p, uint64_t key)
{
	return array_bisect(i, p->nr.nr_maps, p->map[i].f.key < key);
}

static bool map_of(const struct process_history *p, uint32_t key, uint64_t ns, uint64_t addr,
		   struct history_map *out, struct history_span *span)
{
	struct map_search s = {.m = p->map, .ns = ns, .addr = addr, .span = span};
	const struct person_path *path;

	search(&s, maps_before(p, key), maps_before(p, (uint64_t)key + 1));
	if (!s.best)
		return false;
	path = &p->path[s.best->f.path];
	*out = (struct history_map){s.best->f, path->text, path->build_id, path->build_id_bytes};
	return true;
}

/* The time of the process's last exec; 0: none known. */
static uint64_t last_exec(const struct process_history *p, const struct fmt_task *leader,
			  uint64_t ns, struct history_span *span)
{
	size_t i = comms_until(p, leader->key, ns, span);

	for (int k = 0; k < MAX_NAMES && i-- && p->comm[i].key == leader->key; k++) {
		if (p->comm[i].exec)
			return p->comm[i].ns;
	}
	return 0;
}

/* An exec removes the old mappings, but until the new program runs, the registers hold addresses of
 * the old program: where it called execve(2). */
static bool map_before_exec(const struct process_history *p, const struct fmt_task *leader,
			    uint64_t ns, uint64_t addr, struct history_map *out,
			    struct history_span *span)
{
	uint64_t exec_ns = last_exec(p, leader, ns, span);
	size_t i;

	if (!exec_ns ||
	    (exec_ns <= UINT64_MAX - EXEC_NS && history_since(span, ns, exec_ns + EXEC_NS)))
		return false;
	/* Another task, if a thread other than the leader exec'd. */
	i = tasks_until(p, leader->tid, exec_ns - 1, NULL);
	return i && p->task[i - 1].tid == leader->tid &&
	       map_of(p, p->task[i - 1].key, exec_ns - 1, addr, out, NULL);
}

static bool map_at(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		   struct history_map *out, struct history_span *span)
{
	const struct fmt_task *t = task_at(p, tid, ns, span), *leader;

	if (!t || t == &idle_task)
		return false;
	leader = history_leader(p, t, ns, span);
	return leader && (map_of(p, leader->key, ns, addr, out, span) ||
			  map_before_exec(p, leader, ns, addr, out, span));
}

bool history_map(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		 struct history_map *out)
{
	return map_at(p, tid, ns, addr, out, NULL);
}

bool history_where(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		   struct history_map *out, struct history_span *span)
{
	*span = (struct history_span){0, UINT64_MAX};
	return map_at(p, tid, ns, addr, out, span);
}

/* ---- all of them ---- */

size_t history_nr_tasks(const struct process_history *p)
{
	return p->nr.nr_tasks;
}

const struct fmt_task *history_nth(const struct process_history *p, size_t i)
{
	return &p->task[i];
}

void history_nth_comm(const struct process_history *p, size_t i, struct history_comm *out)
{
	const struct person_comm *c = &p->comm[i];

	*out = (struct history_comm){c->key, c->exec, c->ns, c->comm};
}

void history_nth_map(const struct process_history *p, size_t i, struct history_map *out)
{
	const struct fmt_map *f = &p->map[i].f;
	const struct person_path *path = &p->path[f->path];

	*out = (struct history_map){*f, path->text, path->build_id, path->build_id_bytes};
}

void history_counts(const struct process_history *p, struct history_counts *out)
{
	*out = p->nr;
}
