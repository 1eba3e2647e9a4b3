/* LAYERS: recorder trigger view dump base */
// SPDX-License-Identifier: MIT
/*
 * The LEDGER section as it stands in a dump: who is in it, that each of its blocks stands alone,
 * and, with random histories, that a reader answers as a naive model of processes does.
 */
#include "recorder/ledger.h"

#include "dump/reader.h"
#include "dump/view/people.h"
#include "dump/writer.h"
#include "tests/side_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define S 1000000000ull

static struct side_record rec;

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void mapped(struct ledger *l, uint64_t ns, uint32_t pid, uint64_t start, uint64_t end,
		   const char *path, const uint8_t *build_id)
{
	struct side_mmap m = {
		.start = start, .len = end - start, .path = path, .build_id = build_id};

	take(l, side_mmap2(&rec, ns, pid, pid, &m));
}

static struct ledger *new_ledger(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(64 << 20, &l, NULL), 0);
	return l;
}

/* Writes a dump with nothing but the ledger and opens it; *file is the caller's to free. */
static struct reader *round_trip(struct ledger *l, const struct tidset *sampled, uint64_t from_ns,
				 uint64_t to_ns, void **file)
{
	struct writer_options opt = {.max_blocks = 1000};
	int fd = memfd_create("dump", 0);
	struct reader *r;
	struct writer *w;
	uint64_t n;

	assert_true(fd >= 0);
	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(ledger_write(l, w, sampled, from_ns, to_ns, NULL), 0);
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	writer_free(w);
	*file = malloc(n);
	assert_int_equal(pread(fd, *file, n, 0), n);
	close(fd);
	assert_int_equal(reader_open_bytes((struct bytes){*file, n}, false, &r, NULL), 0);
	return r;
}

static struct tidset *set_of(const uint32_t *tids, size_t nr)
{
	struct tidset *s;

	assert_int_equal(tidset_new(&s, NULL), 0);
	for (size_t i = 0; i < nr; i++)
		tidset_add(s, tids[i]);
	return s;
}

/* Calls `each` for every item of every LEDGER block; `ctx` as it likes. */
static void for_each_item(struct reader *r,
			  void (*each)(void *ctx, size_t block, uint16_t kind, struct bytes item),
			  void *ctx)
{
	struct buf payload = {0};
	struct bytes rest, item;
	uint16_t kind;
	bool broken;

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		if (reader_block(r, i)->h.section != FMT_LEDGER)
			continue;
		assert_int_equal(reader_load(r, i, &payload, NULL), 0);
		rest = (struct bytes){payload.p, payload.len};
		broken = false;
		while (reader_next_item(&rest, &kind, &item, &broken))
			each(ctx, i, kind, item);
		assert_false(broken);
	}
	buf_free(&payload);
}

/* ---- who is in it ---- */

static void tasks_of_the_window_are_written(void **state)
{
	static const uint32_t tids[] = {20, 30};
	struct tidset *set = set_of(tids, 2);
	struct ledger *l = new_ledger();
	const struct fmt_task *t;
	struct people *p;
	struct reader *r;
	void *file;

	take(l, side_comm(&rec, 1 * S, 1, 1, "init", false));
	take(l, side_fork(&rec, 2 * S, 10, 10, 1, 1)); /* ends before */
	take(l, side_fork(&rec, 2 * S, 20, 20, 1, 1)); /* ends just before, but is sampled */
	take(l, side_fork(&rec, 2 * S, 30, 30, 1, 1)); /* ends within */
	take(l, side_exit(&rec, 9 * S + S / 2, 10, 10, 1));
	take(l, side_exit(&rec, 9 * S + S / 2, 20, 20, 1));
	take(l, side_exit(&rec, 11 * S, 30, 30, 1));
	take(l, side_fork(&rec, 21 * S, 40, 40, 1, 1)); /* begins after */
	take(l, side_exit(&rec, 22 * S, 1, 1, 0));	/* ends after */
	r = round_trip(l, set, 10 * S, 20 * S, &file);
	assert_int_equal(people_load(r, &p, NULL), 0);
	assert_int_equal(people_nr_tasks(p), 3);
	assert_non_null(people_task(p, 1, 15 * S));
	assert_int_equal(people_task(p, 1, 15 * S)->exit_ns, 0);
	assert_int_equal(people_task(p, 1, 15 * S)->flags, 0);
	t = people_task(p, 30, 10 * S);
	assert_non_null(t);
	assert_int_equal(t->start_ns, 2 * S);
	assert_int_equal(t->exit_ns, 11 * S);
	assert_int_equal(t->ppid, 1);
	assert_int_equal(t->uid, UINT32_MAX);
	assert_int_equal(t->flags, FMT_TASK_SAMPLED);
	assert_non_null(people_task(p, 20, 10 * S));
	assert_null(people_task(p, 10, 10 * S));
	assert_null(people_task(p, 40, 30 * S));
	assert_string_equal(people_comm(p, 30, 10 * S), "init");
	people_free(p);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

static void mappings_of_sampled_processes_are_written(void **state)
{
	static const uint8_t id[20] = {0xab, 1, 2, 3};
	static const uint32_t tids[] = {11};
	struct tidset *set = set_of(tids, 1);
	struct ledger *l = new_ledger();
	struct people_map m;
	struct people *p;
	struct reader *r;
	void *file;

	mapped(l, 1 * S, 10, 0x1000, 0x3000, "/old", NULL);
	take(l, side_comm(&rec, 3 * S, 10, 10, "x", true));
	mapped(l, 4 * S, 10, 0x1000, 0x5000, "/bin/x", id);
	mapped(l, 5 * S, 10, 0x2000, 0x3000, "/lib/y", NULL);
	take(l, side_fork(&rec, 6 * S, 10, 11, 10, 10));
	take(l, side_exit(&rec, 7 * S, 10, 10, 1)); /* the leader; its thread goes on */
	mapped(l, 1 * S, 20, 0x1000, 0x3000, "/other", NULL);
	r = round_trip(l, set, 3 * S, 20 * S, &file);
	assert_int_equal(people_load(r, &p, NULL), 0);
	assert_true(people_map(p, 11, 8 * S, 0x1000, &m));
	assert_string_equal(m.path, "/bin/x");
	assert_int_equal(m.build_id_bytes, 20);
	assert_memory_equal(m.build_id, id, 20);
	assert_int_equal(m.f.ns, 4 * S);
	assert_int_equal(m.f.end, 0x2000);
	assert_true(people_map(p, 11, 8 * S, 0x3000, &m));
	assert_int_equal(m.f.pgoff, 0x2000);
	assert_true(people_map(p, 11, 8 * S, 0x2000, &m));
	assert_string_equal(m.path, "/lib/y");
	assert_int_equal(m.build_id_bytes, 0);
	assert_true(people_map(p, 10, 4 * S, 0x2000, &m));
	assert_string_equal(m.path, "/bin/x");
	assert_true(people_map(p, 10, 3 * S - 1, 0x1000, &m));
	assert_string_equal(m.path, "/old");
	assert_false(people_map(p, 20, 8 * S, 0x1000, &m));
	people_free(p);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

/* ---- the other items ---- */

struct others {
	size_t nr_ksyms, nr_cgroups, nr_cmdlines;
	struct fmt_ksym ksym;
	char name[32], cgroup[32];
	uint32_t key;
	struct bytes cmdline;
	char args[32];
};

static void other_item(void *ctx, size_t block, uint16_t kind, struct bytes item)
{
	struct others *o = ctx;
	uint64_t id;

	if (kind == FMT_LEDGER_KSYM) {
		o->nr_ksyms++;
		assert_true(bytes_get(&item, &o->ksym, sizeof(o->ksym)));
		memcpy(o->name, item.p, item.len);
	} else if (kind == FMT_LEDGER_CGROUP) {
		o->nr_cgroups++;
		assert_true(bytes_u64(&item, &id));
		assert_int_equal(id, 77);
		memcpy(o->cgroup, item.p, item.len);
	} else if (kind == FMT_LEDGER_CMDLINE) {
		o->nr_cmdlines++;
		assert_true(bytes_u32(&item, &o->key));
		assert_int_equal(item.len, 9);
		memcpy(o->args, item.p, item.len);
	}
}

static void symbols_cgroups_and_arguments_are_written(void **state)
{
	static const uint32_t tids[] = {10};
	struct ledger_seen_task seen = {
		.tid = 10,
		.pid = 10,
		.start_ns = 1,
		.comm = "x",
		.cmdline = "prog\0-arg",
		.cmdline_bytes = 9,
	};
	struct tidset *set = set_of(tids, 1);
	struct ledger *l = new_ledger();
	struct others o = {0};
	struct reader *r;
	void *file;

	take(l, side_ksymbol(&rec, 1 * S, 0x100, 64, false, "bpf_prog_old"));
	take(l, side_ksymbol(&rec, 2 * S, 0x100, 64, true, "bpf_prog_old"));
	take(l, side_ksymbol(&rec, 3 * S, 0x100, 32, false, "bpf_prog_new"));
	take(l, side_cgroup(&rec, 3 * S, 77, "/system.slice"));
	take(l, side_cgroup(&rec, 4 * S, 77, "/system.slice"));
	ledger_seen_task(l, 5 * S, &seen);
	seen.tid = seen.pid = 20;
	ledger_seen_task(l, 5 * S, &seen);
	r = round_trip(l, set, 6 * S, 9 * S, &file);
	for_each_item(r, other_item, &o);
	assert_int_equal(o.nr_ksyms, 1);
	assert_int_equal(o.ksym.addr, 0x100);
	assert_int_equal(o.ksym.bytes, 32);
	assert_int_equal(o.ksym.ns, 3 * S);
	assert_int_equal(o.ksym.end_ns, 0);
	assert_string_equal(o.name, "bpf_prog_new");
	assert_int_equal(o.nr_cgroups, 1);
	assert_string_equal(o.cgroup, "/system.slice");
	assert_int_equal(o.nr_cmdlines, 1);
	assert_memory_equal(o.args, "prog\0-arg", 9);
	reader_close(r);
	free(file);
	tidset_free(set);
	ledger_free(l);
}

/* ---- blocks ---- */

struct blocks {
	size_t nr_blocks, nr_maps, last;
	uint32_t nr_paths; /* ids 1..nr_paths are in this block */
	char paths[10000][24];
};

static void block_item(void *ctx, size_t block, uint16_t kind, struct bytes item)
{
	struct blocks *b = ctx;
	struct fmt_path path;
	struct fmt_map map;
	char want[24];

	if (!b->nr_blocks || block != b->last) {
		b->nr_blocks++;
		b->nr_paths = 0;
		b->last = block;
	}
	if (kind == FMT_LEDGER_PATH) {
		assert_true(bytes_get(&item, &path, sizeof(path)));
		assert_int_equal(path.id, b->nr_paths + 1);
		memcpy(b->paths[b->nr_paths], item.p, item.len);
		b->paths[b->nr_paths++][item.len] = '\0';
	} else if (kind == FMT_LEDGER_MAP) {
		assert_true(bytes_get(&item, &map, sizeof(map)));
		assert_true(map.path && map.path <= b->nr_paths);
		snprintf(want, sizeof(want), "/lib/%u", (unsigned)(map.start >> 12) % 700);
		assert_string_equal(b->paths[map.path - 1], want);
		b->nr_maps++;
	}
}

static void each_block_has_the_paths_its_mappings_name(void **state)
{
	struct blocks *b = calloc(1, sizeof(*b));
	struct ledger *l = new_ledger();
	struct tidset *set;
	struct reader *r;
	char path[24];
	void *file;

	assert_int_equal(tidset_new(&set, NULL), 0);
	for (uint32_t pid = 10; pid < 30; pid++) {
		tidset_add(set, pid);
		for (unsigned i = 0; i < 1000; i++) {
			snprintf(path, sizeof(path), "/lib/%u", i % 700);
			mapped(l, S, pid, (uint64_t)i << 12, (uint64_t)(i + 1) << 12, path, NULL);
		}
	}
	/* Twice: what the first dump noted of blocks and ids must not leak into the second. */
	for (int i = 0; i < 2; i++) {
		memset(b, 0, sizeof(*b));
		r = round_trip(l, set, 0, 9 * S, &file);
		for_each_item(r, block_item, b);
		assert_int_equal(b->nr_maps, 20000);
		assert_true(b->nr_blocks >= 5);
		reader_close(r);
		free(file);
	}
	free(b);
	tidset_free(set);
	ledger_free(l);
}

/* ---- a naive model ---- */

#define NR_TIDS	  40
#define NR_PAGES  12
#define MAX_LIVES 4000
#define MAX_STEPS 6000

/* What someone was called, or what a page held, from a time on. */
struct fact {
	uint64_t ns;
	int what; /* names and paths are numbers; -1: nothing */
};

struct facts {
	struct fact *v;
	size_t nr, cap;
};

struct model_proc {
	uint32_t pid;
	unsigned nr_alive;
	struct facts pages[NR_PAGES];
};

struct model_task {
	uint32_t tid;
	uint64_t start_ns, exit_ns;
	struct model_proc *proc;
	struct facts names;
};

struct model {
	struct ledger *ledger;
	struct model_task tasks[MAX_LIVES];
	struct model_proc procs[MAX_LIVES];
	size_t nr_tasks, nr_procs;
	int of_tid[NR_TIDS]; /* the living task; -1: none */
	uint64_t now, seed;
};

static unsigned rnd(struct model *m, unsigned below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (m->seed >> 33) % below;
}

static void state_that(struct facts *f, uint64_t ns, int what)
{
	if (f->nr == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 4;
		f->v = realloc(f->v, f->cap * sizeof(*f->v));
		assert_non_null(f->v);
	}
	f->v[f->nr++] = (struct fact){ns, what};
}

static int fact_at(const struct facts *f, uint64_t ns)
{
	int what = -1;

	for (size_t i = 0; i < f->nr && f->v[i].ns <= ns; i++)
		what = f->v[i].what;
	return what;
}

static const char *name_of(int what)
{
	static char name[16];

	snprintf(name, sizeof(name), "name-%d", what);
	return name;
}

static const char *path_of(int what)
{
	static char path[24];

	snprintf(path, sizeof(path), "/lib/path-%d", what);
	return path;
}

static struct model_task *model_add(struct model *m, uint32_t tid, struct model_proc *p)
{
	struct model_task *t = &m->tasks[m->nr_tasks];

	*t = (struct model_task){.tid = tid, .start_ns = m->now, .proc = p};
	p->nr_alive++;
	m->of_tid[tid] = m->nr_tasks++;
	return t;
}

static struct model_proc *model_proc(struct model *m, uint32_t pid)
{
	struct model_proc *p = &m->procs[m->nr_procs++];

	*p = (struct model_proc){.pid = pid};
	return p;
}

static void model_gone(struct model *m, struct model_task *t)
{
	t->exit_ns = m->now;
	t->proc->nr_alive--;
	m->of_tid[t->tid] = -1;
}

static bool is_free(struct model *m, uint32_t tid)
{
	if (m->of_tid[tid] >= 0)
		return false;
	for (size_t i = 0; i < m->nr_procs; i++) {
		if (m->procs[i].pid == tid && m->procs[i].nr_alive)
			return false;
	}
	return true;
}

static void do_fork(struct model *m, struct model_task *t)
{
	uint32_t tid = 1 + rnd(m, NR_TIDS - 1), pid;
	bool thread = rnd(m, 3) == 0;
	struct model_proc *p = t->proc;
	struct model_task *child;

	if (!is_free(m, tid) || m->nr_tasks >= MAX_LIVES - 1)
		return;
	pid = thread ? p->pid : tid;
	take(m->ledger, side_fork(&rec, m->now, pid, tid, p->pid, t->tid));
	if (!thread) {
		p = model_proc(m, pid);
		for (int i = 0; i < NR_PAGES; i++)
			state_that(&p->pages[i], m->now, fact_at(&t->proc->pages[i], m->now));
	}
	child = model_add(m, tid, p);
	state_that(&child->names, m->now, fact_at(&t->names, m->now));
}

static void do_name(struct model *m, struct model_task *t)
{
	int name = rnd(m, 50);

	take(m->ledger, side_comm(&rec, m->now, t->proc->pid, t->tid, name_of(name), false));
	state_that(&t->names, m->now, name);
}

/* As the kernel does: first all other threads go, then who execs is the leader. */
static void do_exec(struct model *m, struct model_task *t)
{
	struct model_proc *p = t->proc;
	uint32_t pid = p->pid;
	int name = rnd(m, 50);

	for (int i = 0; i < NR_TIDS; i++) {
		struct model_task *other = m->of_tid[i] < 0 ? NULL : &m->tasks[m->of_tid[i]];

		if (!other || other == t || other->proc != p)
			continue;
		take(m->ledger, side_exit(&rec, m->now, pid, other->tid, 1));
		model_gone(m, other);
		m->now++;
	}
	if (t->tid != pid) {
		model_gone(m, t);
		t = model_add(m, pid, model_proc(m, pid));
	}
	take(m->ledger, side_comm(&rec, m->now, pid, pid, name_of(name), true));
	state_that(&t->names, m->now, name);
	for (int i = 0; i < NR_PAGES; i++)
		state_that(&t->proc->pages[i], m->now, -1);
}

static void do_map(struct model *m, struct model_task *t)
{
	int from = rnd(m, NR_PAGES), to = from + 1 + rnd(m, NR_PAGES - from), path = rnd(m, 30);
	struct side_mmap r = {
		.start = (uint64_t)from << 12,
		.len = (uint64_t)(to - from) << 12,
		.ino = path + 1,
		.path = path_of(path),
	};

	take(m->ledger, side_mmap2(&rec, m->now, t->proc->pid, t->tid, &r));
	for (int i = from; i < to; i++)
		state_that(&t->proc->pages[i], m->now, path);
}

static void do_exit(struct model *m, struct model_task *t)
{
	if (t->tid == 1)
		return;
	take(m->ledger, side_exit(&rec, m->now, t->proc->pid, t->tid, 1));
	model_gone(m, t);
}

static void step(struct model *m)
{
	static void (*const ops[])(struct model * m, struct model_task * t) = {
		do_fork, do_fork, do_name, do_map, do_map, do_map, do_exec, do_exit, do_exit,
	};
	uint32_t tid = rnd(m, NR_TIDS);

	m->now += 1 + rnd(m, 100000000);
	if (m->of_tid[tid] >= 0)
		ops[rnd(m, sizeof(ops) / sizeof(ops[0]))](m, &m->tasks[m->of_tid[tid]]);
}

static struct model *model_run(uint64_t seed)
{
	struct model *m = calloc(1, sizeof(*m));
	struct model_task *first;

	m->seed = seed;
	m->now = 1;
	m->ledger = new_ledger();
	for (int i = 0; i < NR_TIDS; i++)
		m->of_tid[i] = -1;
	first = model_add(m, 1, model_proc(m, 1));
	do_name(m, first);
	for (int i = 0; i < MAX_STEPS; i++)
		step(m);
	return m;
}

static void model_free(struct model *m)
{
	for (size_t i = 0; i < m->nr_tasks; i++)
		free(m->tasks[i].names.v);
	for (size_t i = 0; i < m->nr_procs; i++) {
		for (int k = 0; k < NR_PAGES; k++)
			free(m->procs[i].pages[k].v);
	}
	ledger_free(m->ledger);
	free(m);
}

/* Some moment in the life of some task, not before `from_ns`. */
static const struct model_task *moment(struct model *m, uint64_t from_ns, uint64_t *ns)
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

static void the_ledger_answers_as_a_model_does(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct model *m = model_run(seed);

		for (int round = 0; round < 2; round++) {
			uint64_t from_ns = round * m->now / 2, ns;

			ledger_expire(m->ledger, from_ns);
			for (int i = 0; i < 5000; i++) {
				const struct model_task *t = moment(m, from_ns, &ns);
				int page = rnd(m, NR_PAGES);
				int path = fact_at(&t->proc->pages[page], ns);
				char text[64];

				assert_true(ledger_comm(m->ledger, t->tid, ns, text));
				assert_string_equal(text, name_of(fact_at(&t->names, ns)));
				assert_int_equal(ledger_path(m->ledger, t->tid, ns,
							     ((uint64_t)page << 12) + 5, text,
							     sizeof(text)),
						 path >= 0);
				if (path >= 0)
					assert_string_equal(text, path_of(path));
			}
		}
		model_free(m);
	}
}

/* A reader allows for the tick of /proc's start times: within it the next user of an exited
 * leader's tid is taken for the leader. */
static bool leader_is_clear(const struct model *m, const struct model_task *t, uint64_t ns)
{
	for (size_t i = 0; i < m->nr_tasks; i++) {
		const struct model_task *other = &m->tasks[i];

		if (other->tid == t->proc->pid && other->start_ns > ns &&
		    other->start_ns - ns <= 10000000)
			return false;
	}
	return true;
}

static void a_dump_answers_as_a_model_does(void **state)
{
	for (uint64_t seed = 11; seed <= 14; seed++) {
		struct model *m = model_run(seed);
		uint64_t from_ns = m->now / 4, ns;
		struct people_map map;
		struct tidset *set;
		struct people *p;
		struct reader *r;
		void *file;

		assert_int_equal(tidset_new(&set, NULL), 0);
		for (uint32_t tid = 1; tid < NR_TIDS; tid++)
			tidset_add(set, tid);
		ledger_expire(m->ledger, from_ns);
		r = round_trip(m->ledger, set, from_ns, m->now, &file);
		assert_int_equal(people_load(r, &p, NULL), 0);
		for (int i = 0; i < 10000; i++) {
			const struct model_task *t = moment(m, from_ns, &ns);
			int page = rnd(m, NR_PAGES), path = fact_at(&t->proc->pages[page], ns);

			assert_string_equal(people_comm(p, t->tid, ns),
					    name_of(fact_at(&t->names, ns)));
			if (!leader_is_clear(m, t, ns))
				continue;
			assert_int_equal(
				people_map(p, t->tid, ns, ((uint64_t)page << 12) + 5, &map),
				path >= 0);
			if (path >= 0)
				assert_string_equal(map.path, path_of(path));
		}
		people_free(p);
		reader_close(r);
		free(file);
		tidset_free(set);
		model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_of_the_window_are_written),
		cmocka_unit_test(mappings_of_sampled_processes_are_written),
		cmocka_unit_test(symbols_cgroups_and_arguments_are_written),
		cmocka_unit_test(each_block_has_the_paths_its_mappings_name),
		cmocka_unit_test(the_ledger_answers_as_a_model_does),
		cmocka_unit_test(a_dump_answers_as_a_model_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
