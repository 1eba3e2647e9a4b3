// SPDX-License-Identifier: MIT
/*
 * The ledger's interface: creation, sideband records, queries. The data structures are in
 * ledger_parts.h; ledger_scan.c merges scans, ledger_write.c writes dumps.
 */
#include "recorder/ledger/ledger_parts.h"

#include "dump/base/err.h"
#include "dump/format/record.h"
#include "recorder/ledger/pinned.h"
#include "recorder/ledger/pinned_list.h"
#include "recorder/ledger/new_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BYTES (64u << 10)

int ledger_new(size_t max_bytes, struct ledger **out, struct err *err)
{
	struct ledger *l;

	if (max_bytes < MIN_BYTES) {
		err_set(err, -EINVAL, "%zu bytes are too few to know any processes", max_bytes);
		err_hint(err, "use --ledger-size 64K or more; 64M serves a large host");
		return -EINVAL;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err, -ENOMEM, "no memory for the ledger of processes");
	l->max_bytes = max_bytes;
	l->bytes = sizeof(*l);
	l->retired.prev = l->retired.next = &l->retired;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->written, NULL);
	*out = l;
	return 0;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	tasks_free(l);
	syms_free(l);
	paths_free(&l->paths);
	pthread_cond_destroy(&l->written);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* ---- records ---- */

/* A record without its header and sample_id; for a sample, its raw data. */
struct ledger_note {
	uint64_t ns;
	uint16_t misc;
	struct bytes body;
};

/* Fills in what a new task inherits from its parent. `parent` may be NULL. */
static void inherit(struct ledger *l, struct task *t, struct task *parent, uint32_t ppid,
		    uint64_t ns)
{
	struct proc *p = t->proc;
	const struct comm *c;
	struct path *what;

	t->start_ns = ns;
	t->exact = true;
	t->ppid = t == p->leader ? ppid : p->leader->ppid;
	if (!parent)
		return;
	c = comm_at(parent, ns);
	if (c)
		comm_inherit(l, t, ns, c->name);
	what = spaces_at(parent, ns);
	if (what)
		stay_inherit(l, &t->spaces, ns, what);
	if (parent->proc == p)
		return;
	maps_inherit(l, parent->proc, p);
	what = stay_at(&parent->proc->cgroups, ns);
	if (what)
		stay_inherit(l, &p->cgroups, ns, what);
}

/* Ends the old task of a reused tid; its EXIT record was lost. */
static void end_old(struct ledger *l, struct task *old, uint64_t ns)
{
	if (old->tid == old->proc->pid)
		proc_end(l, old->proc, ns, NULL);
	else
		task_end(l, old, ns);
}

static void on_fork(struct ledger *l, struct ledger_note *n)
{
	uint32_t pid, ppid, tid, ptid;
	struct task *old, *t, *parent;

	if (!bytes_u32(&n->body, &pid) || !bytes_u32(&n->body, &ppid) ||
	    !bytes_u32(&n->body, &tid) || !bytes_u32(&n->body, &ptid))
		return;
	if (!tid || !pid || tid == UINT32_MAX || pid == UINT32_MAX)
		return;
	old = task_newest(l, tid);
	if (old && old->known_ns >= n->ns) {
		/* Known from a scan or from later records: this record adds the start time. A start
		 * time in /proc later than this fork belongs to a later user of the tid. */
		if (!old->exact && old->start_ns <= n->ns + LEDGER_TICK_NS && old->proc->pid == pid)
			inherit(l, old, task_for(l, ppid, ptid, n->ns), ppid, n->ns);
		return;
	}
	if (old && !old->exit_ns)
		end_old(l, old, n->ns);
	parent = task_for(l, ppid, ptid, n->ns);
	t = task_add(l, pid, tid, n->ns);
	if (t)
		inherit(l, t, parent, ppid, n->ns);
}

static void on_exit_record(struct ledger *l, struct ledger_note *n)
{
	uint32_t pid, ppid, tid;
	struct task *t, *leader;

	if (!bytes_u32(&n->body, &pid) || !bytes_u32(&n->body, &ppid) || !bytes_u32(&n->body, &tid))
		return;
	if (!tid || !pid || tid == UINT32_MAX || pid == UINT32_MAX)
		return;
	t = task_newest(l, tid);
	if (t && (t->exit_ns || t->start_ns > n->ns))
		return;
	if (!t) {
		leader = task_newest(l, pid);
		if (leader && !leader->proc->nr_alive)
			return;
		t = task_add(l, pid, tid, n->ns);
		if (!t)
			return;
		if (tid == pid)
			t->ppid = ppid;
	}
	task_touch(t, n->ns);
	task_end(l, t, n->ns);
}

/* Makes the remaining thread the task of the leader's tid; the leader has exited before. */
static struct task *new_leader(struct ledger *l, struct task *leader, uint64_t ns)
{
	struct path *spaces = spaces_at(leader->proc->alive, ns);
	struct path *cgroup = stay_at(&leader->proc->cgroups, ns);
	struct task *t;

	proc_end(l, leader->proc, ns, NULL);
	t = task_add(l, leader->tid, leader->tid, ns);
	if (!t)
		return NULL;
	t->exact = true;
	t->ppid = leader->ppid;
	t->uid = leader->uid;
	if (spaces)
		stay_record(l, &t->spaces, ns, spaces);
	if (cgroup)
		stay_inherit(l, &t->proc->cgroups, ns, cgroup);
	return t;
}

/*
 * The thread that calls exec becomes the only thread and the leader of its process. If it was not
 * the leader, it takes over the leader's tid. A leader that exited before has ended as a task, so
 * the thread becomes a new task with a new process.
 */
static struct task *exec_task(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns)
{
	struct task *t = task_at(l, tid, ns), *other, *next;

	if (t && tid == pid && !t->newer && t->exit_ns && t->exit_ns <= ns && t->proc->nr_alive)
		return new_leader(l, t, ns);
	t = task_for(l, pid, tid, ns);
	if (!t)
		return NULL;
	for (other = t->proc->alive; other; other = next) {
		next = other->alive_next;
		if (other != t && other->start_ns <= ns && other->known_ns <= ns)
			task_end(l, other, ns);
	}
	return t;
}

static void on_comm(struct ledger *l, struct ledger_note *n)
{
	bool exec = n->misc & PERF_RECORD_MISC_COMM_EXEC;
	char name[16] = {0};
	uint32_t pid, tid;
	struct task *t;
	struct proc *p;
	size_t len;

	if (!bytes_u32(&n->body, &pid) || !bytes_u32(&n->body, &tid))
		return;
	t = exec ? exec_task(l, pid, tid, n->ns) : task_for(l, pid, tid, n->ns);
	if (!t)
		return;
	len = record_text(n->body);
	memcpy(name, n->body.p, len < sizeof(name) ? len : sizeof(name) - 1);
	comm_add(l, t, n->ns, name, exec);
	if (!exec)
		return;
	p = t->proc;
	maps_exec(l, p, n->ns);
	if (p->cmdline && p->cmdline_ns < n->ns)
		proc_set_cmdline(l, p, n->ns, NULL, 0);
}

static void on_newborn(struct ledger *l, struct ledger_note *n)
{
	struct task *t;
	char name[16];
	uint32_t tid;

	if (!new_tasks_read(n->body, &tid, name))
		return;
	t = task_at(l, tid, n->ns);
	if (t)
		comm_born(t, n->ns, name);
}

/* MMAP2 has either a device and an inode here, or a build-id. */
struct mmap2_file {
	uint32_t maj, min;
	uint64_t ino, ino_generation;
};

struct mmap2_build_id {
	uint8_t bytes, reserved[3];
	uint8_t id[20];
};

static void on_mmap2(struct ledger *l, struct ledger_note *n)
{
	struct mmap2_build_id build_id = {0};
	struct mmap2_file file = {0};
	struct path_file is;
	struct ledger_map m = {.ns = n->ns};
	struct bytes *b = &n->body;
	uint32_t pid, tid;
	struct task *t;
	uint64_t len;
	bool ok;

	if (!bytes_u32(b, &pid) || !bytes_u32(b, &tid) || !bytes_u64(b, &m.start) ||
	    !bytes_u64(b, &len) || !bytes_u64(b, &m.pgoff))
		return;
	if (n->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		ok = bytes_get(b, &build_id, sizeof(build_id));
	else
		ok = bytes_get(b, &file, sizeof(file));
	if (!ok || !bytes_u32(b, &m.prot) || !bytes_u32(b, &m.flags))
		return;
	t = task_for(l, pid, tid, n->ns);
	if (!t)
		return;
	m.end = m.start + len;
	m.maj = file.maj;
	m.min = file.min;
	m.ino = file.ino;
	m.ino_generation = file.ino_generation;
	is = (struct path_file){.ino = file.ino, .maj = file.maj, .min = file.min};
	is.build_id_bytes = build_id.bytes;
	memcpy(is.build_id, build_id.id, sizeof(is.build_id));
	m.path = paths_get(&l->paths, (const char *)b->p, record_text(*b), &is);
	if (!m.path)
		return;
	pinned_want(l->paths.keep, m.path, mount_of(t, n->ns));
	maps_add(l, t->proc, &m);
}

/* NAMESPACES: u64 dev, u64 inode for each kind; 0: the kernel lacks this kind. */
static void on_namespaces(struct ledger *l, struct ledger_note *n)
{
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	struct bytes *b = &n->body;
	uint64_t nr, dev, ino;
	uint32_t pid, tid, nr_v = 0;
	struct path *set;
	struct task *t;

	if (!bytes_u32(b, &pid) || !bytes_u32(b, &tid) || !bytes_u64(b, &nr))
		return;
	for (uint64_t i = 0; i < nr && i < LEDGER_MAX_NAMESPACES; i++) {
		if (!bytes_u64(b, &dev) || !bytes_u64(b, &ino))
			return;
		if (ino)
			v[nr_v++] = (struct fmt_namespace){.kind = i, .dev = dev, .ino = ino};
	}
	t = nr_v ? task_for(l, pid, tid, n->ns) : NULL;
	set = t ? paths_get(&l->paths, (char *)v, nr_v * sizeof(v[0]), NULL) : NULL;
	if (set)
		stay_record(l, &t->spaces, n->ns, set);
	paths_put(&l->paths, set);
}

static void on_ksymbol(struct ledger *l, struct ledger_note *n)
{
	ksym_record(l, n->ns, n->body);
}

static void on_bpf(struct ledger *l, struct ledger_note *n)
{
	bpf_record(l, n->ns, n->body);
}

static void on_cgroup(struct ledger *l, struct ledger_note *n)
{
	cgroup_record(l, n->body);
}

typedef void on_record(struct ledger *l, struct ledger_note *n);

static on_record *const handlers[] = {
	[PERF_RECORD_COMM] = on_comm,	  [PERF_RECORD_EXIT] = on_exit_record,
	[PERF_RECORD_FORK] = on_fork,	  [PERF_RECORD_SAMPLE] = on_newborn,
	[PERF_RECORD_MMAP2] = on_mmap2,	  [PERF_RECORD_KSYMBOL] = on_ksymbol,
	[PERF_RECORD_CGROUP] = on_cgroup, [PERF_RECORD_NAMESPACES] = on_namespaces,
	[PERF_RECORD_BPF_EVENT] = on_bpf,
};

#define NR_HANDLERS (sizeof(handlers) / sizeof(handlers[0]))

void ledger_hold(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->writing)
		pthread_cond_wait(&l->written, &l->lock);
}

bool ledger_begin(struct ledger *l)
{
	pthread_mutex_lock(&l->lock);
	if (!l->writing)
		return true;
	pthread_mutex_unlock(&l->lock);
	return false;
}

void ledger_end(struct ledger *l)
{
	pthread_mutex_unlock(&l->lock);
}

void ledger_record(struct ledger *l, struct bytes rec, const struct record_layout *layout)
{
	ledger_hold(l);
	ledger_take(l, rec, layout);
	ledger_end(l);
}

/* The body of record `rec`; of a sample, its raw data. */
static bool body_of(struct bytes rec, const struct record_layout *layout, bool is_sample,
		    struct bytes *body)
{
	size_t around = sizeof(struct perf_event_header) + record_id_bytes(layout);
	struct record_sample s;

	if (is_sample) {
		if (record_sample(rec, layout, &s))
			return false;
		*body = s.raw;
		return true;
	}
	if (rec.len < around)
		return false;
	*body = (struct bytes){rec.p + sizeof(struct perf_event_header), rec.len - around};
	return true;
}

void ledger_take(struct ledger *l, struct bytes rec, const struct record_layout *layout)
{
	struct perf_event_header h;
	struct ledger_note n;

	if (!record_at(rec, 0, &h) || h.type >= NR_HANDLERS || !handlers[h.type])
		return;
	rec.len = h.size;
	if (!body_of(rec, layout, h.type == PERF_RECORD_SAMPLE, &n.body) ||
	    !record_time(rec, layout, &n.ns))
		return;
	n.misc = h.misc;
	ledger_make_room(l);
	handlers[h.type](l, &n);
}

void ledger_expire(struct ledger *l, uint64_t ns)
{
	if (ns <= LEDGER_GRACE_NS)
		return;
	ledger_hold(l);
	if (ns - LEDGER_GRACE_NS > l->expired_ns)
		l->expired_ns = ns - LEDGER_GRACE_NS;
	retired_expire(l, ns - LEDGER_GRACE_NS);
	pinned_settle(l->paths.keep);
	pthread_mutex_unlock(&l->lock);
}

/* ---- files ---- */

void ledger_keep_files(struct ledger *l, struct pinned *k)
{
	l->paths.keep = k;
}

int ledger_share_files(struct ledger *l, struct pinned_share *out)
{
	*out = (struct pinned_share){.table_fd = -1};
	if (!l->paths.keep)
		return 0;
	pthread_mutex_lock(&l->lock);
	pinned_share(l->paths.keep, out); /* files for which descriptors are left */
	pthread_mutex_unlock(&l->lock);
	return pinned_share_seal(out);
}

/* ---- queries ---- */

bool ledger_name_at(struct ledger *l, uint32_t tid, uint64_t ns, struct ledger_name *out)
{
	const struct comm *c = NULL;
	const struct task *t;

	pthread_mutex_lock(&l->lock);
	t = task_at(l, tid, ns);
	if (t)
		c = comm_at(t, ns);
	if (c) {
		memcpy(out->comm, c->name, sizeof(c->name));
		out->from_ns = comm_since(c) > t->start_ns ? comm_since(c) : t->start_ns;
		out->until_ns = c->newer ? comm_since(c->newer) : UINT64_MAX;
		if (t->newer && t->newer->start_ns < out->until_ns)
			out->until_ns = t->newer->start_ns;
	}
	pthread_mutex_unlock(&l->lock);
	return c;
}

bool ledger_comm(struct ledger *l, uint32_t tid, uint64_t ns, char comm[16])
{
	struct ledger_name name;

	if (!ledger_name_at(l, tid, ns, &name))
		return false;
	memcpy(comm, name.comm, sizeof(name.comm));
	return true;
}

#define KTHREADD 2 /* parent of all kernel threads */

static int compare_threads(const void *a, const void *b)
{
	const struct ledger_thread *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int ledger_living(struct ledger *l, struct buf *out)
{
	size_t nr = 0;
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = buf_reserve(out, l->nr_tids * sizeof(struct ledger_thread));
	for (size_t i = 0; i < l->nr_buckets && !rc; i++) {
		for (const struct task *t = l->tasks[i]; t; t = t->hash_next) {
			const struct ledger_thread v = {
				.pid = t->proc->pid,
				.tid = t->tid,
				.kernel = t->tid == KTHREADD || t->ppid == KTHREADD,
				.guessed_cgroup =
					t->tid == t->proc->pid && stay_is_guess(&t->proc->cgroups),
			};

			if (!t->exit_ns && !(rc = buf_put(out, &v, sizeof(v))))
				nr++;
		}
	}
	pthread_mutex_unlock(&l->lock);
	if (nr)
		qsort(out->p, nr, sizeof(struct ledger_thread), compare_threads);
	return rc;
}

static const struct ledger_map *map_in(const struct maps *t, uint64_t ns, uint64_t addr)
{
	uint32_t i = maps_find(t, addr);

	return i < t->nr && t->v[i]->start <= addr && t->v[i]->ns <= ns ? t->v[i] : NULL;
}

static const struct ledger_map *map_at(const struct proc *p, uint64_t ns, uint64_t addr)
{
	const struct ledger_map *m = p->maps ? map_in(p->maps, ns, addr) : NULL;

	for (const struct ended *e = p->ended; !m && e; e = e->next) {
		if (ns >= e->r.ns)
			continue;
		if (e->table)
			m = map_in(e->table, ns, addr);
		else if (e->one[0].start <= addr && addr < e->one[0].end && e->one[0].ns <= ns)
			m = &e->one[0];
	}
	return m;
}

static bool put_text(char *out, size_t n, const struct path *p)
{
	size_t len;

	if (!p || !n)
		return false;
	len = p->len < n ? p->len : n - 1;
	memcpy(out, p->text, len);
	out[len] = '\0';
	return true;
}

bool ledger_path(struct ledger *l, uint32_t tid, uint64_t ns, uint64_t addr, char *path, size_t n)
{
	const struct ledger_map *m = NULL;
	const struct task *t;
	bool ok;

	pthread_mutex_lock(&l->lock);
	t = task_at(l, tid, ns);
	if (t)
		m = map_at(t->proc, ns, addr);
	ok = m && put_text(path, n, m->path);
	pthread_mutex_unlock(&l->lock);
	return ok;
}

bool ledger_cgroup(struct ledger *l, uint32_t tid, uint64_t ns, char *path, size_t n)
{
	const struct task *t;
	bool ok;

	pthread_mutex_lock(&l->lock);
	t = task_at(l, tid, ns);
	ok = t && put_text(path, n, stay_at(&t->proc->cgroups, ns));
	pthread_mutex_unlock(&l->lock);
	return ok;
}

size_t ledger_namespaces(struct ledger *l, uint32_t tid, uint64_t ns,
			 struct fmt_namespace v[LEDGER_MAX_NAMESPACES])
{
	const struct path *set;
	const struct task *t;
	size_t bytes = 0;

	pthread_mutex_lock(&l->lock);
	t = task_at(l, tid, ns);
	set = t ? spaces_at(t, ns) : NULL;
	if (set) {
		bytes = set->len;
		memcpy(v, set->text, bytes);
	}
	pthread_mutex_unlock(&l->lock);
	return bytes / sizeof(v[0]);
}

void ledger_stats(struct ledger *l, struct ledger_stats *out)
{
	struct pinned_stats files;

	pthread_mutex_lock(&l->lock);
	pinned_stats(l->paths.keep, &files);
	*out = (struct ledger_stats){
		.bytes = ledger_bytes(l),
		.max_bytes = l->max_bytes,
		.nr_tasks = l->nr_tasks,
		.nr_tombstones = l->nr_tombstones,
		.nr_maps = l->nr_maps,
		.nr_evicted = l->nr_evicted,
		.nr_files = files.nr,
		.nr_files_dropped = files.nr_dropped,
	};
	pthread_mutex_unlock(&l->lock);
}

static uint64_t nr_maps_of(const struct proc *p)
{
	uint64_t nr = p->maps ? p->maps->nr : 0;

	for (const struct ended *e = p->ended; e; e = e->next)
		nr += e->table ? e->table->nr : 1;
	return nr;
}

bool ledger_largest(struct ledger *l, struct ledger_largest *out)
{
	uint64_t most = 0;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->nr_buckets; i++) {
		for (const struct task *t = l->tasks[i]; t; t = t->hash_next) {
			const struct proc *p = t->proc;
			uint64_t nr;

			if (t != p->leader || !p->nr_alive)
				continue;
			nr = nr_maps_of(p);
			if (nr + p->nr_tasks <= most)
				continue;
			most = nr + p->nr_tasks;
			*out = (struct ledger_largest){
				.pid = p->pid, .nr_maps = nr, .nr_threads = p->nr_tasks};
			if (t->comms)
				memcpy(out->comm, t->comms->name, sizeof(out->comm));
		}
	}
	pthread_mutex_unlock(&l->lock);
	return most;
}
