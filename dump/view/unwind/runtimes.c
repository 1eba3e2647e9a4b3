// SPDX-License-Identifier: MIT
/* Stacks that lack names of code generated at run time; see runtimes.h. */
#include "dump/view/unwind/runtimes.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/model/addresses.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Processes with fewer stacks are not reported. */
#define MIN_STACKS 8

static const struct runtime {
	const char *files[4]; /* file name patterns; the process maps one of them */
	const char *what;     /* the kind of code without names */
	const char *how;
	/*
	 * For interpreters: all stacks have the names of the interpreter's own functions. A stack
	 * counts as named if a function has this prefix. NULL: compiled code, which has no name at
	 * all.
	 */
	const char *prefix;
	const char *lock; /* that a thread needs to run this code; NULL: none */
} known[] = {
	{{"libjvm.so*"},
	 "Java methods",
	 "-XX:+PreserveFramePointer and, before the dump, jcmd PID Compiler.perfmap",
	 NULL,
	 NULL},
	{{"node", "nodejs", "libnode.so*"},
	 "JavaScript functions",
	 "--perf-basic-prof-only-functions --interpreted-frames-native-stack",
	 NULL,
	 NULL},
	{{"libcoreclr.so*"},
	 ".NET methods",
	 "DOTNET_PerfMapEnabled=1 in its environment",
	 NULL,
	 NULL},
	{{"python3.*", "libpython3.*"},
	 "Python functions",
	 "-X perf and a Python 3.12 or later that was built with frame pointers",
	 "py::",
	 "GIL"},
};

struct runtime_process {
	const struct runtime *is;
	uint32_t key, pid;
	uint64_t nr, nr_lacking;
};

struct runtimes {
	const struct process_history *history;
	struct buf processes; /* struct runtime_process, by pid */
	struct buf worst;     /* those that lack names, most stacks first */
};

static struct runtime_process *nth(const struct runtimes *r, size_t i)
{
	return (struct runtime_process *)r->processes.p + i;
}

static size_t nr_processes(const struct runtimes *r)
{
	return r->processes.len / sizeof(struct runtime_process);
}

static int by_pid(const void *a, const void *b)
{
	const struct runtime_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static struct runtime_process *find(const struct runtimes *r, uint32_t pid)
{
	const struct runtime_process like = {.pid = pid};

	return r->processes.len
		       ? bsearch(&like, r->processes.p, nr_processes(r), sizeof(like), by_pid)
		       : NULL;
}

/* ---- who has one ---- */

static bool is_of(const struct runtime *is, const char *path)
{
	for (size_t i = 0; is->files[i]; i++)
		if (str_glob(is->files[i], str_base(path)))
			return true;
	return false;
}

static const struct runtime *runtime_of(const char *path)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_of(&known[i], path))
			return &known[i];
	return NULL;
}

/* Mappings are sorted by process; finds one runtime per process. The first match in the table wins,
 * since a program may map libraries of other runtimes. */
static int find_keys(struct runtimes *r)
{
	struct history_counts counts;
	const char *path = NULL;
	const struct runtime *is = NULL;

	history_counts(r->history, &counts);
	for (size_t i = 0; i < counts.nr_maps; i++) {
		struct history_map map;
		struct runtime_process *last = nr_processes(r) ? nth(r, nr_processes(r) - 1) : NULL;

		history_nth_map(r->history, i, &map);
		if (map.path != path)
			is = runtime_of(map.path);
		path = map.path;
		if (is && last && last->key == map.f.key)
			last->is = is < last->is ? is : last->is;
		else if (is && buf_put(&r->processes,
				       &(struct runtime_process){.is = is, .key = map.f.key},
				       sizeof(struct runtime_process)))
			return -ENOMEM;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct runtime_process *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void find_pids(struct runtimes *r)
{
	struct history_counts counts;

	history_counts(r->history, &counts);
	for (size_t i = 0; r->processes.len && i < counts.nr_tasks; i++) {
		const struct fmt_task *t = history_nth(r->history, i);
		struct runtime_process like = {.key = t->key};
		struct runtime_process *p =
			bsearch(&like, r->processes.p, nr_processes(r), sizeof(like), by_key);

		if (p)
			p->pid = t->pid;
	}
}

int runtimes_new(const struct process_history *p, struct runtimes **out, struct err *err)
{
	struct runtimes *r = calloc(1, sizeof(*r));

	if (r)
		r->history = p;
	if (!r || find_keys(r)) {
		runtimes_free(r);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (r->processes.len)
		qsort(r->processes.p, nr_processes(r), sizeof(struct runtime_process), by_key);
	find_pids(r);
	if (r->processes.len)
		qsort(r->processes.p, nr_processes(r), sizeof(struct runtime_process), by_pid);
	*out = r;
	return 0;
}

void runtimes_free(struct runtimes *r)
{
	if (!r)
		return;
	buf_free(&r->processes);
	buf_free(&r->worst);
	free(r);
}

/* ---- its stacks ---- */

static bool lacks(const struct runtime *is, struct chain c)
{
	bool interprets = false;

	for (size_t i = 0; i < c.nr; i++) {
		const struct chain_frame *f = &c.frames[i];

		if (f->kernel || !f->image)
			continue;
		if (!is->prefix && !f->function && !addresses_is_file(f->image))
			return true;
		if (is->prefix && f->function &&
		    !strncmp(f->function, is->prefix, strlen(is->prefix)))
			return false;
		interprets |= is->prefix && is_of(is, f->image);
	}
	return interprets;
}

void runtimes_add(struct runtimes *r, uint32_t pid, struct chain c)
{
	struct runtime_process *p = find(r, pid);

	if (!p || !c.nr || c.frames[c.nr - 1].kernel)
		return;
	p->nr++;
	p->nr_lacking += lacks(p->is, c);
}

static int read_all(struct runtimes *r, struct reader *reader, const struct meta *m,
		    struct call_chains *chains, const bool *events, struct err *err)
{
	const struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1, .events = events};
	struct timeline_record rec;
	struct timeline *t;
	int rc = timeline_open(reader, m, &opt, &t, err);

	if (rc)
		return rc;
	while ((rc = timeline_next(t, &rec, err)) > 0) {
		const struct fmt_task *task;

		if (!rec.event || !events[rec.event - m->events])
			continue;
		task = history_task(r->history, rec.tid, rec.time_ns);
		if (task && find(r, task->pid))
			runtimes_add(r, task->pid,
				     call_chains_get(chains, call_chains_add(chains, &rec)));
	}
	timeline_close(t);
	return rc;
}

int runtimes_read(struct runtimes *r, struct reader *reader, const struct meta *m, struct err *err)
{
	bool *events = calloc(m->nr_events + 1, sizeof(*events));
	struct symbols *symbols = NULL;
	struct stacks *stacks = NULL;
	struct call_chains *chains = NULL;
	int rc = events ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; !rc && i < m->nr_events; i++)
		events[i] = m->events[i].attr.type != PERF_TYPE_TRACEPOINT;
	if (!rc && r->processes.len) {
		rc = symbols_load(reader, r->history, &symbols, err);
		rc = rc ? rc : stacks_new(m, r->history, symbols, &stacks, err);
		rc = rc ? rc : call_chains_new(stacks, &chains, err);
		rc = rc ? rc : read_all(r, reader, m, chains, events, err);
	}
	call_chains_free(chains);
	stacks_free(stacks);
	symbols_free(symbols);
	free(events);
	return rc;
}

/* ---- what to do ---- */

static bool most_lack(const struct runtime_process *p)
{
	return p->nr >= MIN_STACKS && 2 * p->nr_lacking >= p->nr;
}

static int worst_first(const void *a, const void *b)
{
	const struct runtime_process *x = a, *y = b;

	if (x->nr_lacking != y->nr_lacking)
		return x->nr_lacking > y->nr_lacking ? -1 : 1;
	return by_key(x, y);
}

static void sort_worst(struct runtimes *r)
{
	r->worst.len = 0;
	for (size_t i = 0; i < nr_processes(r); i++)
		if (most_lack(nth(r, i)) &&
		    buf_put(&r->worst, nth(r, i), sizeof(struct runtime_process)))
			break; /* limit of the report */
	if (r->worst.len)
		qsort(r->worst.p, r->worst.len / sizeof(struct runtime_process),
		      sizeof(struct runtime_process), worst_first);
}

uint32_t runtimes_nth(struct runtimes *r, size_t i)
{
	if (!i)
		sort_worst(r);
	return i < r->worst.len / sizeof(struct runtime_process)
		       ? ((struct runtime_process *)r->worst.p)[i].pid
		       : 0;
}

bool runtimes_say(const struct runtimes *r, uint32_t pid, struct text *t)
{
	const struct runtime_process *p = find(r, pid);
	const char *comm = history_comm(r->history, pid, UINT64_MAX);

	if (!p || !most_lack(p))
		return false;
	text_safe(t, comm ? comm : "process", strlen(comm ? comm : "process"));
	text_fmt(t, " (%u): %.0f %% of its stacks lack the names of %s; run it with %s", pid,
		 100.0 * (double)p->nr_lacking / (double)p->nr, p->is->what, p->is->how);
	text_str(t, " (ringback-runtimes(7))");
	return true;
}

const char *runtimes_lock(const struct runtimes *r, uint32_t pid)
{
	const struct runtime_process *p = pid ? find(r, pid) : NULL;

	return p ? p->is->lock : NULL;
}
