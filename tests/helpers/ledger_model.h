/* SPDX-License-Identifier: MIT */
/*
 * A naive model of processes, for tests of the ledger: random histories of forks, execs, renames,
 * mappings, namespaces and cgroups. It keeps every fact with its time and feeds the ledger what the
 * kernel would: records, at once or delayed like a sideband's, and scans of /proc in between.
 */
#pragma once

#include "recorder/ledger/ledger.h"

#include "tests/helpers/side_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define NR_TIDS	  40
#define NR_PAGES  12
#define MAX_LIVES 4000
#define MAX_STEPS 6000
#define TICK_NS	  10000000u /* unit of /proc's start times */

/* A task's name or a page's content, valid from a time on. */
struct fact {
	uint64_t ns;
	int what; /* numbers stand for names, paths, namespaces, cgroups; -1: nothing */
};

struct facts {
	struct fact *v;
	size_t nr, cap;
};

struct model_proc {
	uint32_t pid;
	unsigned nr_alive;
	/* path_of() a page's, times NR_PAGES, plus the page where its mapping was made to begin */
	struct facts pages[NR_PAGES];
	struct facts cgroups;
};

struct model_task {
	uint32_t tid;
	uint64_t start_ns, exit_ns;
	uint64_t born_ns; /* as in /proc: exec inherits its leader's */
	struct model_proc *proc;
	struct facts names, spaces;
};

/* The cgroup that a scan saw. */
struct model_look {
	uint32_t tid;
	uint64_t ns;
	int cgroup;
};

struct model_record {
	struct model_record *next;
	struct side_record r;
};

struct model {
	struct ledger *ledger;
	bool scans; /* /proc is read now and then */
	bool lags;  /* records come late */
	struct model_task tasks[MAX_LIVES];
	struct model_proc procs[MAX_LIVES];
	size_t nr_tasks, nr_procs;
	int of_tid[NR_TIDS]; /* the living task; -1: none */
	uint64_t free_ns[NR_TIDS];
	struct model_look looks[MAX_STEPS];
	size_t nr_looks, nr_scans;
	struct model_record *first, **last; /* pending */
	uint64_t drained_ns;
	uint64_t now, seed;
};

static inline unsigned rnd(struct model *m, unsigned below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (m->seed >> 33) % below;
}

/* ---- facts ---- */

static inline void state_that(struct facts *f, uint64_t ns, int what)
{
	if (f->nr == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 4;
		f->v = realloc(f->v, f->cap * sizeof(*f->v));
		assert_non_null(f->v);
	}
	f->v[f->nr++] = (struct fact){ns, what};
}

static inline int fact_at(const struct facts *f, uint64_t ns)
{
	int what = -1;

	for (size_t i = 0; i < f->nr && f->v[i].ns <= ns; i++)
		what = f->v[i].what;
	return what;
}

/* Start of the fact that holds at `ns`. */
static inline uint64_t fact_since(const struct facts *f, uint64_t ns)
{
	uint64_t since = 0;

	for (size_t i = 0; i < f->nr && f->v[i].ns <= ns; i++)
		since = f->v[i].ns;
	return since;
}

static inline const char *name_of(int what)
{
	static char name[16];

	snprintf(name, sizeof(name), "name-%d", what);
	return name;
}

static inline const char *path_of(int what)
{
	static char path[24];

	snprintf(path, sizeof(path), "/lib/path-%d", what / NR_PAGES);
	return path;
}

static inline const char *cgroup_of(int what)
{
	static char path[24];

	snprintf(path, sizeof(path), "/slice/unit-%d", what);
	return path;
}

/* The first inode of a set; those of its kinds follow. */
static inline uint64_t inode_of(int what)
{
	return 4026531840u + 10u * (unsigned)what;
}

/* ---- records for the ledger ---- */

static inline void hear(struct model *m, const struct side_record *r)
{
	struct model_record *late;

	if (!m->lags) {
		ledger_record(m->ledger, (struct bytes){(uint8_t *)r->p, r->len}, &side_layout);
		return;
	}
	late = malloc(sizeof(*late));
	assert_non_null(late);
	*late = (struct model_record){.r = *r};
	*m->last = late;
	m->last = &late->next;
}

/* Passes all pending records to the ledger. */
static inline void drain(struct model *m)
{
	struct model_record *late;

	while ((late = m->first)) {
		m->first = late->next;
		ledger_record(m->ledger, (struct bytes){late->r.p, late->r.len}, &side_layout);
		free(late);
	}
	m->last = &m->first;
	m->drained_ns = m->now;
}

/* ---- lives ---- */

static inline struct model_task *model_add(struct model *m, uint32_t tid, struct model_proc *p)
{
	struct model_task *t = &m->tasks[m->nr_tasks];

	*t = (struct model_task){.tid = tid, .start_ns = m->now, .born_ns = m->now, .proc = p};
	p->nr_alive++;
	m->of_tid[tid] = m->nr_tasks++;
	return t;
}

static inline struct model_proc *model_proc(struct model *m, uint32_t pid)
{
	struct model_proc *p = &m->procs[m->nr_procs++];

	*p = (struct model_proc){.pid = pid};
	return p;
}

static inline void model_gone(struct model *m, struct model_task *t)
{
	t->exit_ns = m->now;
	t->proc->nr_alive--;
	m->of_tid[t->tid] = -1;
	m->free_ns[t->tid] = m->now;
}

/* A free tid is reused late: after other tids, and once the end of its task is known. */
static inline bool is_free(struct model *m, uint32_t tid)
{
	if (m->of_tid[tid] >= 0 || m->now < m->free_ns[tid] + 2 * TICK_NS ||
	    (m->lags && m->free_ns[tid] > m->drained_ns))
		return false;
	for (size_t i = 0; i < m->nr_procs; i++) {
		if (m->procs[i].pid == tid && m->procs[i].nr_alive)
			return false;
	}
	return true;
}

static inline void do_unshare(struct model *m, struct model_task *t)
{
	struct side_record rec;
	int set = rnd(m, 5);

	side_namespaces(&rec, m->now, t->proc->pid, t->tid, inode_of(set), 7);
	hear(m, &rec);
	state_that(&t->spaces, m->now, set);
}

static inline void do_fork(struct model *m, struct model_task *t)
{
	uint32_t tid = 1 + rnd(m, NR_TIDS - 1), pid;
	bool thread = rnd(m, 3) == 0;
	struct model_proc *p = t->proc;
	int set = rnd(m, 8) ? fact_at(&t->spaces, m->now) : (int)rnd(m, 5);
	struct model_task *child;
	struct side_record rec;

	if (!is_free(m, tid) || m->nr_tasks >= MAX_LIVES - 1)
		return;
	pid = thread ? p->pid : tid;
	side_fork(&rec, m->now, pid, tid, p->pid, t->tid);
	hear(m, &rec);
	side_namespaces(&rec, m->now + 1, pid, tid, inode_of(set), 7);
	hear(m, &rec);
	if (!thread) {
		p = model_proc(m, pid);
		for (int i = 0; i < NR_PAGES; i++)
			state_that(&p->pages[i], m->now, fact_at(&t->proc->pages[i], m->now));
		state_that(&p->cgroups, m->now, fact_at(&t->proc->cgroups, m->now));
	}
	child = model_add(m, tid, p);
	state_that(&child->names, m->now, fact_at(&t->names, m->now));
	state_that(&child->spaces, m->now, set);
	m->now++;
}

static inline void do_name(struct model *m, struct model_task *t)
{
	struct side_record rec;
	int name = rnd(m, 50);

	side_comm(&rec, m->now, t->proc->pid, t->tid, name_of(name), false);
	hear(m, &rec);
	state_that(&t->names, m->now, name);
}

/* Living or not: /proc keeps the leader while its threads live. */
static inline struct model_task *leader_of(struct model *m, const struct model_proc *p)
{
	struct model_task *leader = NULL;

	for (size_t i = 0; i < m->nr_tasks; i++) {
		if (m->tasks[i].proc == p && m->tasks[i].tid == p->pid)
			leader = &m->tasks[i];
	}
	return leader;
}

/* As in the kernel: first all other threads exit, then the calling thread becomes the leader. */
static inline void do_exec(struct model *m, struct model_task *t)
{
	struct model_proc *p = t->proc;
	uint32_t pid = p->pid;
	bool takes_over = t->tid != pid;
	struct side_record rec;
	int name = rnd(m, 50);

	for (int i = 0; i < NR_TIDS; i++) {
		struct model_task *other = m->of_tid[i] < 0 ? NULL : &m->tasks[m->of_tid[i]];

		if (!other || other == t || other->proc != p)
			continue;
		side_exit(&rec, m->now, pid, other->tid, 1);
		hear(m, &rec);
		model_gone(m, other);
		m->now++;
	}
	if (takes_over) {
		int set = fact_at(&t->spaces, m->now), cgroup = fact_at(&p->cgroups, m->now);
		uint64_t born_ns = leader_of(m, p)->born_ns;

		model_gone(m, t);
		t = model_add(m, pid, model_proc(m, pid));
		t->born_ns = born_ns;
		state_that(&t->spaces, m->now, set);
		state_that(&t->proc->cgroups, m->now, cgroup);
	}
	side_comm(&rec, m->now, pid, pid, name_of(name), true);
	hear(m, &rec);
	state_that(&t->names, m->now, name);
	for (int i = 0; i < NR_PAGES; i++)
		state_that(&t->proc->pages[i], m->now, -1);
	/* A scan before this record can't know about the new leader. */
	if (takes_over)
		drain(m);
}

static inline void do_map(struct model *m, struct model_task *t)
{
	int from = rnd(m, NR_PAGES), to = from + 1 + rnd(m, NR_PAGES - from);
	int what = rnd(m, 30) * NR_PAGES + from;
	struct side_mmap r = {
		.start = (uint64_t)from << 12,
		.len = (uint64_t)(to - from) << 12,
		.ino = what / NR_PAGES + 1,
		.path = path_of(what),
	};
	struct side_record rec;

	side_mmap2(&rec, m->now, t->proc->pid, t->tid, &r);
	hear(m, &rec);
	for (int i = from; i < to; i++)
		state_that(&t->proc->pages[i], m->now, what);
}

static inline void do_exit(struct model *m, struct model_task *t)
{
	struct side_record rec;

	if (t->tid == 1)
		return;
	side_exit(&rec, m->now, t->proc->pid, t->tid, 1);
	hear(m, &rec);
	model_gone(m, t);
}

/* The kernel writes no record of a move. */
static inline void do_move(struct model *m, struct model_task *t)
{
	state_that(&t->proc->cgroups, m->now, rnd(m, 6));
}

static inline void step(struct model *m)
{
	static void (*const ops[])(struct model * m, struct model_task * t) = {
		do_fork, do_fork, do_fork, do_name, do_map,	do_map,
		do_map,	 do_exec, do_exit, do_exit, do_unshare, do_move,
	};
	int who;

	m->now += 1 + rnd(m, 100000000);
	do {
		who = m->of_tid[rnd(m, NR_TIDS)];
	} while (who < 0);
	ops[rnd(m, sizeof(ops) / sizeof(ops[0]))](m, &m->tasks[who]);
	if (!rnd(m, 20))
		drain(m);
}

/* ---- scans ---- */

static inline void look_at_task(struct model *m, const struct model_task *t)
{
	struct fmt_namespace spaces[7];
	int cgroup = fact_at(&t->proc->cgroups, m->now);
	struct ledger_seen_task s = {
		.tid = t->tid,
		.pid = t->proc->pid,
		.ppid = 1,
		.start_ns = t->born_ns / TICK_NS * TICK_NS,
	};
	char name[16], path[24];

	snprintf(name, sizeof(name), "%s", name_of(fact_at(&t->names, m->now)));
	s.comm = name;
	if (t->tid == t->proc->pid && !t->exit_ns) {
		for (uint32_t i = 0; i < 7; i++)
			spaces[i] = (struct fmt_namespace){
				.kind = i,
				.dev = 4,
				.ino = inode_of(fact_at(&t->spaces, m->now)) + i};
		s.namespaces = spaces;
		s.nr_namespaces = 7;
		snprintf(path, sizeof(path), "%s", cgroup_of(cgroup));
		s.cgroup = path;
		m->looks[m->nr_looks++] = (struct model_look){t->tid, m->now, cgroup};
	}
	ledger_seen_task(m->ledger, m->now, &s);
}

/* As in /proc/PID/maps: one line per contiguous piece of one file. */
static inline void look_at_maps(struct model *m, const struct model_proc *p)
{
	struct ledger_seen_map v[NR_PAGES];
	char paths[NR_PAGES][24];
	int before = -1;
	size_t nr = 0;

	for (int i = 0; i < NR_PAGES; i++) {
		int what = fact_at(&p->pages[i], m->now);

		if (what >= 0 && what == before) {
			v[nr - 1].end += 4096;
		} else if (what >= 0) {
			snprintf(paths[nr], sizeof(paths[nr]), "%s", path_of(what));
			v[nr] = (struct ledger_seen_map){
				.start = (uint64_t)i << 12,
				.end = (uint64_t)(i + 1) << 12,
				.pgoff = (uint64_t)(i - what % NR_PAGES) << 12,
				.ino = what / NR_PAGES + 1,
				.maj = 8,
				.min = 1,
				.path = paths[nr],
			};
			nr++;
		}
		before = what;
	}
	ledger_seen_maps(m->ledger, m->now, p->pid, v, nr);
}

static inline void look_at(struct model *m, struct model_proc *p)
{
	look_at_task(m, leader_of(m, p));
	for (int i = 0; i < NR_TIDS; i++) {
		if (m->of_tid[i] < 0 || m->tasks[m->of_tid[i]].proc != p || (uint32_t)i == p->pid)
			continue;
		look_at_task(m, &m->tasks[m->of_tid[i]]);
		m->now++;
	}
	if (rnd(m, 4))
		look_at_maps(m, p);
}

/* Scans everything while the history goes on. */
static inline void scan(struct model *m)
{
	uint64_t began_ns = ++m->now;
	size_t nr = m->nr_procs;

	m->nr_scans++;
	for (size_t i = 0; i < nr; i++) {
		if (!m->procs[i].nr_alive)
			continue;
		if (m->nr_scans > 1)
			step(m);
		m->now++;
		if (m->procs[i].nr_alive)
			look_at(m, &m->procs[i]);
	}
	ledger_seen_all(m->ledger, began_ns);
}

/* ---- whole runs ---- */

static inline struct model *model_run(uint64_t seed, bool scans, bool lags)
{
	struct model *m = calloc(1, sizeof(*m));
	struct model_task *first;

	assert_non_null(m);
	*m = (struct model){.seed = seed, .scans = scans, .lags = lags, .now = 1000 * TICK_NS};
	m->last = &m->first;
	assert_int_equal(ledger_new(64 << 20, &m->ledger, NULL), 0);
	for (int i = 0; i < NR_TIDS; i++)
		m->of_tid[i] = -1;
	first = model_add(m, 1, model_proc(m, 1));
	do_name(m, first);
	do_unshare(m, first);
	do_move(m, first);
	for (int i = 0; i < MAX_STEPS; i++) {
		unsigned what = scans ? rnd(m, 600) : 600;
		int who;

		step(m);
		who = m->of_tid[rnd(m, NR_TIDS)];
		if (what < 30 && who >= 0)
			look_at(m, m->tasks[who].proc);
		else if (what == 30 || (scans && !i))
			scan(m);
	}
	drain(m);
	return m;
}

static inline void model_free(struct model *m)
{
	drain(m);
	for (size_t i = 0; i < m->nr_tasks; i++) {
		free(m->tasks[i].names.v);
		free(m->tasks[i].spaces.v);
	}
	for (size_t i = 0; i < m->nr_procs; i++) {
		for (int k = 0; k < NR_PAGES; k++)
			free(m->procs[i].pages[k].v);
		free(m->procs[i].cgroups.v);
	}
	ledger_free(m->ledger);
	free(m);
}

/* A random moment in the life of a random task, not before `from_ns`. */
static inline const struct model_task *moment(struct model *m, uint64_t from_ns, uint64_t *ns)
{
	for (;;) {
		const struct model_task *t = &m->tasks[rnd(m, m->nr_tasks)];
		uint64_t end = t->exit_ns ? t->exit_ns : m->now;

		if (end <= t->start_ns)
			continue;
		*ns = t->start_ns +
		      rnd(m, end - t->start_ns > INT32_MAX ? INT32_MAX : end - t->start_ns);
		if (*ns >= from_ns)
			return t;
	}
}
