// SPDX-License-Identifier: MIT
/*
 * Processes for perf: COMM, FORK, MMAP2, EXIT made from the ledger, merged into the records by time.
 * See export_perf.h.
 *
 * The state before the first record comes just before it, all of one kind before the next: in some
 * readers a FORK overwrites the child's mappings with its parent's, so all forks come before all
 * mappings, and processes before threads. Later changes have their own times; mappings that a
 * child inherits are not repeated.
 *
 *	floor - 4  the kernel
 *	      - 3  FORK, processes, then threads
 *	      - 2  COMM
 *	      - 1  MMAP2, data before code: a later one replaces an earlier one;
 *	           ITRACE_START of the running thread where there is an AUX area
 *	floor      the first record; from here on real times
 */
#include "dump/view/export/export_perf.h"

#include "dump/view/symbols/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread's last switch comes after its EXIT. */
#define SLACK_NS 10000000u
/* In a FORK: perf copies no mappings. */
#define MISC_FORK_THERE (1u << 13)
#define MISC_COMM_EXEC	(1u << 13)

/* KASLR puts the kernel between these two. */
#define PAGE_BYTES	 4096u
#define X86_KERNEL	 0xffffffff80000000ull
#define X86_MODULES	 0xffffffffc0000000ull
#define MAX_KERNEL_BYTES (256ull << 20)
/* The least alignment of the kernel's first symbol, _text. */
#define KERNEL_ALIGN (2ull << 20)

/* At one time, in this order. */
enum perf_step { FORK_PROCESS, FORK_THREAD, FIRST_COMM, COMM, DATA_MAP, MAP, RAN, EXIT };

/* ---- finding tasks ---- */

static int compare_keys(const void *a, const void *b)
{
	const struct fmt_task *x = *(const struct fmt_task *const *)a;
	const struct fmt_task *y = *(const struct fmt_task *const *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static const struct fmt_task *task_of(const struct perf_export *p, uint32_t key)
{
	struct fmt_task like = {.key = key}, *want = &like;
	const struct fmt_task **at;

	at = bsearch(&want, p->by_key, history_nr_tasks(p->x->a.history), sizeof(*at),
		     compare_keys);
	return at ? *at : NULL;
}

/* Whether records from `floor_ns` on can belong to the task. Its last switch can follow its exit,
 * where it had to wait for its CPU. */
static bool matters(const struct perf_export *p, const struct fmt_task *t, uint64_t floor_ns)
{
	if (t->start_ns > p->x->opt->to_ns)
		return false;
	return !t->exit_ns || t->exit_ns > floor_ns || floor_ns - t->exit_ns <= SLACK_NS ||
	       t->flags & FMT_TASK_SAMPLED;
}

/* ---- collecting ---- */

struct sides {
	struct perf_export *p;
	uint64_t floor_ns;
	struct buf list; /* struct perf_side */
	int rc;
};

static void add(struct sides *s, uint64_t ns, enum perf_step step, size_t index)
{
	struct perf_side side = {ns, step, (uint32_t)index};

	/* After the requested range. */
	if (ns > s->p->x->opt->to_ns || s->rc)
		return;
	s->rc = buf_put(&s->list, &side, sizeof(side));
}

/* `n` before the first record. */
static uint64_t before(const struct sides *s, uint64_t n)
{
	return s->floor_ns > n ? s->floor_ns - n : 0;
}

static void add_task(struct sides *s, const struct fmt_task *t, size_t i)
{
	bool old = t->start_ns <= s->floor_ns;

	add(s, old ? before(s, 3) : t->start_ns, t->tid == t->pid ? FORK_PROCESS : FORK_THREAD, i);
	add(s, old ? before(s, 2) : t->start_ns, FIRST_COMM, i);
	if (t->exit_ns >= s->floor_ns && t->exit_ns)
		add(s, t->exit_ns, EXIT, i);
}

/* add_task() adds the first name. */
static void add_comm(struct sides *s, size_t i)
{
	const struct fmt_task *t;
	struct history_comm c;

	history_nth_comm(s->p->x->a.history, i, &c);
	t = task_of(s->p, c.key);
	if (t && matters(s->p, t, s->floor_ns) && c.ns > t->start_ns && c.ns > s->floor_ns)
		add(s, c.ns, COMM, i);
}

/* Whether a fork gave it to the child, which perf does too. */
static bool inherited(const struct sides *s, const struct fmt_task *t, const struct history_map *m)
{
	struct history_map its;

	return t->start_ns > s->floor_ns && m->f.ns <= t->start_ns &&
	       history_map(s->p->x->a.history, t->ppid, t->start_ns, m->f.start, &its) &&
	       its.f.start == m->f.start && its.f.end == m->f.end && its.f.pgoff == m->f.pgoff &&
	       its.path == m->path;
}

static void add_map(struct sides *s, size_t i)
{
	const struct fmt_task *t;
	struct history_map m, data[PERF_MAX_DATA];
	uint64_t ns;

	history_nth_map(s->p->x->a.history, i, &m);
	t = task_of(s->p, m.f.key);
	if (!t || !matters(s->p, t, s->floor_ns) || m.f.end_ns <= s->floor_ns ||
	    inherited(s, t, &m))
		return;
	ns = m.f.ns > t->start_ns ? m.f.ns : t->start_ns;
	ns = ns <= s->floor_ns ? before(s, 1) : ns;
	if (perf_data_maps(s->p->data, &m, data))
		add(s, ns, DATA_MAP, i);
	add(s, ns, MAP, i);
}

static void add_ran(struct sides *s, size_t i)
{
	uint64_t ns;

	if (perf_aux_ran(s->p, i, &ns))
		add(s, ns <= s->floor_ns ? before(s, 1) : ns, RAN, i);
}

static int compare_sides(const void *a, const void *b)
{
	const struct perf_side *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int index_tasks(struct perf_export *p)
{
	size_t nr = history_nr_tasks(p->x->a.history);

	p->by_key = calloc(nr + 1, sizeof(*p->by_key));
	if (!p->by_key)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		p->by_key[i] = history_nth(p->x->a.history, i);
	qsort(p->by_key, nr, sizeof(*p->by_key), compare_keys);
	return 0;
}

/* ---- writing ---- */

#define NO_CPU UINT32_MAX

static int put_fork(struct perf_export *p, const struct perf_side *s, const struct fmt_task *t)
{
	bool process = t->tid == t->pid, exits = s->step == EXIT;
	uint32_t parent = process ? t->ppid : t->pid;
	uint32_t body[] = {t->pid, parent, t->tid, parent};
	uint16_t misc = t->start_ns != s->ns && !exits ? MISC_FORK_THERE : 0;

	if (parent == t->tid && !exits) /* a malicious dump */
		return 0;
	perf_rec_begin(p, exits ? PERF_RECORD_EXIT : PERF_RECORD_FORK, misc);
	perf_rec_add(p, body, sizeof(body));
	perf_rec_add(p, &s->ns, sizeof(s->ns));
	perf_rec_id(p, p->evsels, t->pid, t->tid, s->ns, NO_CPU);
	return perf_rec_put(p);
}

static int put_comm(struct perf_export *p, uint64_t ns, uint32_t pid, uint32_t tid,
		    const char *comm, bool exec)
{
	uint32_t who[] = {pid, tid};

	perf_rec_begin(p, PERF_RECORD_COMM, exec ? MISC_COMM_EXEC : 0);
	perf_rec_add(p, who, sizeof(who));
	perf_rec_text(p, comm);
	perf_rec_id(p, p->evsels, pid, tid, ns, NO_CPU);
	return perf_rec_put(p);
}

/* The first name, unless perf copies it from the parent at the fork. */
static int put_first_comm(struct perf_export *p, const struct perf_side *s,
			  const struct fmt_task *t)
{
	struct process_history *history = p->x->a.history;
	uint64_t ns = s->ns > t->start_ns ? s->ns + 2 : s->ns;
	const char *comm = history_comm(history, t->tid, ns), *its = NULL;

	if (t->start_ns == s->ns)
		its = history_comm(history, t->tid == t->pid ? t->ppid : t->pid, ns);
	if (!comm || (its && !strcmp(comm, its)))
		return 0;
	return put_comm(p, s->ns, t->pid, t->tid, comm, false);
}

/* `misc`: PERF_RECORD_MISC_MMAP_DATA, or 0. */
static int put_map(struct perf_export *p, uint64_t ns, const struct history_map *m, uint16_t misc)
{
	const struct fmt_task *t = task_of(p, m->f.key);
	uint32_t who[] = {t->pid, t->tid};
	uint64_t place[] = {m->f.start, m->f.end - m->f.start, m->f.pgoff};
	/* The kernel reports the inode or the build-id, and so does this. */
	bool by_build_id = m->build_id_bytes && !m->f.ino;
	struct {
		uint32_t maj, min;
		uint64_t ino, ino_generation;
	} inode = {m->f.maj, m->f.min, m->f.ino, m->f.ino_generation};
	struct {
		uint8_t bytes, reserved[3], id[20];
	} build_id = {.bytes = m->build_id_bytes};
	uint32_t how[] = {m->f.prot, m->f.flags};

	_Static_assert(sizeof(inode) == 24 && sizeof(build_id) == 24, "one in place of the other");
	memcpy(build_id.id, m->build_id, m->build_id_bytes);
	misc |= PERF_RECORD_MISC_USER | (by_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	perf_rec_begin(p, PERF_RECORD_MMAP2, misc);
	perf_rec_add(p, who, sizeof(who));
	perf_rec_add(p, place, sizeof(place));
	if (by_build_id)
		perf_rec_add(p, &build_id, sizeof(build_id));
	else
		perf_rec_add(p, &inode, sizeof(inode));
	perf_rec_add(p, how, sizeof(how));
	perf_rec_text(p, m->path);
	perf_rec_id(p, p->evsels, t->pid, t->tid, ns, NO_CPU);
	return perf_rec_put(p);
}

static int put_data_maps(struct perf_export *p, uint64_t ns, const struct history_map *code)
{
	struct history_map m[PERF_MAX_DATA];
	size_t nr = perf_data_maps(p->data, code, m);
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++)
		rc = put_map(p, ns, &m[i], PERF_RECORD_MISC_MMAP_DATA);
	return rc;
}

static int put_side(struct perf_export *p, const struct perf_side *s)
{
	struct process_history *history = p->x->a.history;
	const struct fmt_task *t;
	struct history_comm c;
	struct history_map m;

	switch (s->step) {
	case COMM:
		history_nth_comm(history, s->index, &c);
		t = task_of(p, c.key);
		return put_comm(p, s->ns, t->pid, t->tid, c.comm, c.exec);
	case MAP:
	case DATA_MAP:
		history_nth_map(history, s->index, &m);
		return s->step == MAP ? put_map(p, s->ns, &m, 0) : put_data_maps(p, s->ns, &m);
	case RAN:
		return perf_aux_put_ran(p, s->index, s->ns);
	case FIRST_COMM:
		return put_first_comm(p, s, history_nth(history, s->index));
	default:
		return put_fork(p, s, history_nth(history, s->index));
	}
}

static int put_kernel_map(struct perf_export *p, uint64_t ns, const uint64_t place[3],
			  const char *name)
{
	uint32_t who[] = {UINT32_MAX, 0};

	perf_rec_begin(p, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	perf_rec_add(p, who, sizeof(who));
	perf_rec_add(p, place, 3 * sizeof(place[0]));
	perf_rec_text(p, name);
	perf_rec_id(p, p->evsels, UINT32_MAX, 0, ns, NO_CPU);
	return perf_rec_put(p);
}

/* A mapping from the first named function on. perf relocates symbols by that name, at the end of
 * the mapping's name. */
static int put_kernel_part(struct perf_export *p, uint64_t ns, const struct symbol_place *first,
			   uint64_t end)
{
	uint64_t from = first->image_off, place[] = {from, end - from, from};
	char name[600];

	if (strcmp(first->image, "[kernel.kallsyms]")) {
		/* The known part of a module, which has pages of its own. */
		place[0] -= from % PAGE_BYTES;
		place[1] = align_up(end, PAGE_BYTES) - place[0];
		place[2] = 0;
		return put_kernel_map(p, ns, place, first->image);
	}
	if (from >= X86_KERNEL && from < X86_MODULES && strstr(p->x->a.m->uname, "x86_64"))
		place[1] = X86_MODULES - from;
	else if (place[1] < MAX_KERNEL_BYTES)
		place[1] = MAX_KERNEL_BYTES;
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s",
		 from % KERNEL_ALIGN ? first->function : "_text");
	return put_kernel_map(p, ns, place, name);
}

/*
 * The mappings of the kernel and its modules, which perf needs to name their functions by
 * /proc/kallsyms of the same boot or a vmlinux. Without kernel names in the dump, the range where
 * x86-64 has its kernel.
 */
static int put_kernel(struct perf_export *p, uint64_t ns)
{
	static const uint64_t anywhere[] = {X86_KERNEL, X86_MODULES - X86_KERNEL, 0};
	bool seen = !strstr(p->x->a.m->uname, "x86_64");
	struct symbol_place first;
	uint64_t end;
	size_t at = 0;
	int rc = 0;

	while (!rc && symbols_kernel_part(p->x->a.symbols, &at, &first, &end)) {
		seen = seen || !strcmp(first.image, "[kernel.kallsyms]");
		if (end > first.image_off && first.image_off >> 63)
			rc = put_kernel_part(p, ns, &first, end);
	}
	return rc || seen ? rc : put_kernel_map(p, ns, anywhere, "[kernel.kallsyms]");
}

int perf_sides_begin(struct perf_export *p, uint64_t floor_ns)
{
	struct sides s = {.p = p, .floor_ns = floor_ns};
	struct process_history *history = p->x->a.history;
	struct history_counts nr;
	int rc = index_tasks(p);

	if (rc)
		return rc;
	history_counts(history, &nr);
	for (size_t i = 0; i < nr.nr_tasks; i++)
		if (matters(p, history_nth(history, i), floor_ns))
			add_task(&s, history_nth(history, i), i);
	for (size_t i = 0; i < nr.nr_comms; i++)
		add_comm(&s, i);
	for (size_t i = 0; i < nr.nr_maps; i++)
		add_map(&s, i);
	for (size_t i = 0; i < perf_aux_nr(p); i++)
		add_ran(&s, i);
	p->sides = (struct perf_side *)s.list.p;
	p->nr_sides = s.list.len / sizeof(*p->sides);
	if (p->nr_sides)
		qsort(p->sides, p->nr_sides, sizeof(*p->sides), compare_sides);
	if (s.rc)
		return s.rc;
	rc = put_kernel(p, before(&s, 4));
	return rc ? rc : put_comm(p, before(&s, 4), 0, 0, "swapper", false);
}

int perf_sides_until(struct perf_export *p, uint64_t ns)
{
	int rc = 0;

	while (!rc && p->next_side < p->nr_sides && p->sides[p->next_side].ns <= ns)
		rc = put_side(p, &p->sides[p->next_side++]);
	return rc;
}
