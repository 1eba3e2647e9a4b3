// SPDX-License-Identifier: MIT
/*
 * Writes the ledger's part that a window refers to as the LEDGER section (dump/format/FORMAT.md).
 * Called from the thread that writes dumps. Nothing changes in the ledger meanwhile (`writing`;
 * sideband.c keeps what comes), but the lock is free, so that the disk holds nobody but who has
 * something to change. Allocates nothing: what has been put where is noted in the tasks, their
 * processes and the paths.
 */
#include "recorder/ledger/ledger_parts.h"

#include "dump/file/writer.h"

#include <assert.h>
#include <string.h>

struct write {
	struct ledger *l;
	struct writer *w;
	const struct tidset *sampled; /* NULL: none */
	uint64_t from_ns, to_ns;
	uint32_t next_path; /* ids in the block being filled */
	uint32_t next_set;
	uint32_t last_key;
	size_t block_bytes; /* in it so far */
	struct err *err;
};

static size_t item_bytes(size_t fixed, size_t var)
{
	return sizeof(struct fmt_item) + align_up(fixed + var, 8);
}

static void block_opened(struct write *o)
{
	o->l->nr_blocks++;
	o->next_path = o->next_set = 1;
	o->block_bytes = 0;
}

static int put(struct write *o, uint16_t kind, const void *fixed, size_t nr_fixed, const void *var,
	       size_t nr_var, bool *new_block)
{
	bool opened = false;
	int rc = writer_item(o->w, kind, fixed, nr_fixed, var, nr_var, &opened, o->err);

	if (rc)
		return rc;
	if (opened)
		block_opened(o);
	o->block_bytes += item_bytes(nr_fixed, nr_var);
	if (new_block)
		*new_block = opened;
	return 0;
}

/* ---- what others refer to ---- */

/*
 * Puts `p` (with the id that `fixed` has at *id) unless the block has it. It goes into one block
 * with the `bytes_behind` that refer to it, before them.
 */
static int put_shared(struct write *o, struct path *p, uint16_t kind, const void *fixed,
		      size_t nr_fixed, uint32_t *id, uint32_t *next, size_t bytes_behind)
{
	size_t bytes = item_bytes(nr_fixed, p->len) + bytes_behind;
	int rc;

	if (o->block_bytes && o->block_bytes + bytes > FMT_BLOCK_BYTES) {
		rc = writer_flush(o->w, o->err);
		if (rc)
			return rc;
		block_opened(o);
	}
	if (p->block == o->l->nr_blocks)
		return 0;
	*id = *next;
	rc = put(o, kind, fixed, nr_fixed, p->text, p->len, NULL);
	if (rc)
		return rc;
	p->block = o->l->nr_blocks;
	p->id = (*next)++;
	return 0;
}

static int put_path(struct write *o, struct path *p, size_t bytes_behind)
{
	struct fmt_path f = {.build_id_bytes = p->build_id_bytes};

	memcpy(f.build_id, p->build_id, sizeof(f.build_id));
	return put_shared(o, p, FMT_LEDGER_PATH, &f, sizeof(f), &f.id, &o->next_path, bytes_behind);
}

static int put_set(struct write *o, struct path *p, size_t bytes_behind)
{
	struct fmt_namespaces f = {.nr = p->len / sizeof(struct fmt_namespace)};

	return put_shared(o, p, FMT_LEDGER_NAMESPACES, &f, sizeof(f), &f.id, &o->next_set,
			  bytes_behind);
}

/* ---- tasks and their names ---- */

static uint64_t within(const struct write *o, uint64_t end_ns)
{
	return end_ns > o->to_ns ? 0 : end_ns;
}

static bool overlaps(const struct write *o, uint64_t start_ns, uint64_t end_ns, uint64_t grace_ns)
{
	return start_ns <= o->to_ns && (!end_ns || end_ns + grace_ns >= o->from_ns);
}

static bool is_sampled(const struct write *o, const struct task *t)
{
	return o->sampled && tidset_has(o->sampled, t->tid) &&
	       overlaps(o, t->start_ns, t->exit_ns, LEDGER_GRACE_NS);
}

/* A leader that has exited stands for its process until its last thread is gone. */
static uint64_t end_of(const struct task *t)
{
	if (t != t->proc->leader || !t->exit_ns)
		return t->exit_ns;
	return t->proc->nr_alive ? 0 : t->r.ns;
}

static int put_comms(struct write *o, const struct task *t)
{
	const struct comm *c;
	int rc;

	for (c = t->comms; c; c = c->older) {
		struct fmt_comm f = {
			.key = t->key,
			.flags = c->exec ? FMT_COMM_EXEC : 0,
			.ns = comm_since(c),
		};

		if (f.ns > o->to_ns)
			continue;
		memcpy(f.comm, c->name, sizeof(f.comm));
		rc = put(o, FMT_LEDGER_COMM, &f, sizeof(f), NULL, 0, NULL);
		if (rc)
			return rc;
		if (f.ns <= o->from_ns)
			break; /* what it was called before does not matter */
	}
	return 0;
}

/* ---- where they were ---- */

/* Those of `s` that matter in the window. */
static int put_stays(struct write *o, uint32_t key, const struct stays *s, uint16_t kind,
		     int (*put_what)(struct write *o, struct path *p, size_t bytes_behind))
{
	struct stay stay;
	int rc = 0;

	for (uint32_t i = s->nr; !rc && i--;) {
		struct fmt_stay f = {.key = key};

		if (!stay_nth(s, i, &stay) || stay.ns > o->to_ns)
			continue;
		rc = put_what(o, stay.what, item_bytes(sizeof(f), 0));
		if (rc)
			return rc;
		f.what = stay.what->id;
		f.ns = stay.ns;
		f.flags = stay.guess ? FMT_STAY_INHERITED : 0;
		rc = put(o, kind, &f, sizeof(f), NULL, 0, NULL);
		if (f.ns <= o->from_ns)
			break;
	}
	return rc;
}

/* A thread that was always where its leader was needs no word. */
static bool stays_with_leader(const struct task *t)
{
	const struct task *leader = t->proc->leader;

	return leader && leader != t && t->spaces.nr == 1 && leader->spaces.nr == 1 &&
	       stay_at(&t->spaces, UINT64_MAX) == stay_at(&leader->spaces, UINT64_MAX);
}

static int put_places(struct write *o, const struct task *t)
{
	int rc = 0;

	if (!stays_with_leader(t))
		rc = put_stays(o, t->key, &t->spaces, FMT_LEDGER_TASK_NS, put_set);
	if (!rc && t == t->proc->leader)
		rc = put_stays(o, t->key, &t->proc->cgroups, FMT_LEDGER_TASK_CGROUP, put_path);
	return rc;
}

static bool is_wanted(const struct write *o, const struct proc *p)
{
	return p->wanted == o->l->nr_writes;
}

static int put_task(struct write *o, struct task *t)
{
	bool sampled = is_sampled(o, t), leads = t == t->proc->leader && is_wanted(o, t->proc);
	struct fmt_task f = {
		.key = t->key,
		.tid = t->tid,
		.pid = t->proc->pid,
		.ppid = t->ppid,
		.start_ns = t->start_ns,
		.exit_ns = within(o, t->exit_ns),
		.flags = (t->scanned ? FMT_TASK_SCANNED : 0) | (sampled ? FMT_TASK_SAMPLED : 0),
		.uid = t->uid,
	};
	int rc;

	if (!overlaps(o, t->start_ns, end_of(t), sampled || leads ? LEDGER_GRACE_NS : 0))
		return 0;
	rc = put(o, FMT_LEDGER_TASK, &f, sizeof(f), NULL, 0, NULL);
	if (!rc)
		rc = put_comms(o, t);
	return rc ? rc : put_places(o, t);
}

/* Numbers the tasks: a number that lasted would not be unique for ever. Notes that the mappings of
 * this task's process are to be written. */
static int want(struct write *o, struct task *t)
{
	t->key = ++o->last_key;
	if (is_sampled(o, t))
		t->proc->wanted = o->l->nr_writes;
	return 0;
}

/* ---- mappings ---- */

static int put_map(struct write *o, const struct proc *p, const struct ledger_map *m,
		   uint64_t end_ns)
{
	struct fmt_map f = {
		.key = p->leader->key,
		.start = m->start,
		.end = m->end,
		.pgoff = m->pgoff,
		.ns = m->ns,
		.end_ns = within(o, end_ns),
		.ino = m->ino,
		.maj = m->maj,
		.min = m->min,
		.prot = m->prot,
		.flags = m->flags,
		.ino_generation = m->ino_generation,
	};
	bool opened;
	int rc;

	if (!overlaps(o, m->ns, end_ns, LEDGER_GRACE_NS))
		return 0;
	rc = put_path(o, m->path, item_bytes(sizeof(f), 0));
	if (rc)
		return rc;
	f.path = m->path->id;
	rc = put(o, FMT_LEDGER_MAP, &f, sizeof(f), NULL, 0, &opened);
	assert(rc || !opened); /* put_shared() has seen to that */
	return rc;
}

static int put_table(struct write *o, const struct proc *p, const struct maps *t, uint64_t end_ns)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && t && i < t->nr; i++)
		rc = put_map(o, p, &t->v[i], end_ns);
	return rc;
}

static int put_cmdline(struct write *o, const struct proc *p)
{
	if (!p->cmdline)
		return 0;
	return put(o, FMT_LEDGER_CMDLINE, &p->leader->key, sizeof(p->leader->key), p->cmdline,
		   p->cmdline_bytes, NULL);
}

/* Of a process, when `t` is its leader and it is wanted. */
static int put_proc(struct write *o, struct task *t)
{
	const struct proc *p = t->proc;
	int rc;

	if (p->leader != t || !is_wanted(o, p))
		return 0;
	rc = put_cmdline(o, p);
	for (const struct ended *e = p->ended; !rc && e; e = e->next) {
		if (e->table)
			rc = put_table(o, p, e->table, e->r.ns);
		else
			rc = put_map(o, p, &e->one[0], e->r.ns);
	}
	return rc ? rc : put_table(o, p, p->maps, 0);
}

/* ---- kernel symbols, cgroups ---- */

static int put_ksym(struct write *o, const struct ksym *k)
{
	struct fmt_ksym f = {
		.addr = k->addr,
		.bytes = k->bytes,
		.type = k->type,
		.flags = k->flags,
		.ns = k->ns,
		.end_ns = within(o, k->end_ns),
	};
	struct fmt_bpf bpf = {.id = k->addr, .ns = k->ns, .end_ns = f.end_ns};

	if (!overlaps(o, k->ns, k->end_ns, 0))
		return 0;
	if (!k->program)
		return put(o, FMT_LEDGER_KSYM, &f, sizeof(f), k->name, k->name_len, NULL);
	memcpy(bpf.tag, k->name, sizeof(bpf.tag));
	return put(o, FMT_LEDGER_BPF, &bpf, sizeof(bpf), NULL, 0, NULL);
}

static int put_ksyms(struct write *o)
{
	int rc = 0;

	for (size_t i = 0; i < KSYM_BUCKETS; i++) {
		for (const struct ksym *k = o->l->ksyms[i]; !rc && k; k = k->next)
			rc = put_ksym(o, k);
	}
	return rc;
}

static int put_cgroups(struct write *o)
{
	const struct cgroup *c;
	int rc = 0;

	for (c = o->l->oldest_cgroup; !rc && c; c = c->newer)
		rc = put(o, FMT_LEDGER_CGROUP, &c->id, sizeof(c->id), c->path, c->path_len, NULL);
	return rc;
}

static int for_each_task(struct write *o, int (*each)(struct write *o, struct task *t))
{
	struct task *t, *same_tid;
	int rc = 0;

	for (size_t i = 0; i < o->l->nr_buckets; i++) {
		for (t = o->l->tasks[i]; t; t = t->hash_next) {
			for (same_tid = t; !rc && same_tid; same_tid = same_tid->older)
				rc = each(o, same_tid);
		}
	}
	return rc;
}

int ledger_write(struct ledger *l, struct writer *w, const struct tidset *sampled, uint64_t from_ns,
		 uint64_t to_ns, struct err *err)
{
	struct write o = {
		.l = l,
		.w = w,
		.sampled = sampled,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.err = err,
	};
	int rc = writer_section(w, FMT_LEDGER, err);

	if (rc)
		return rc;
	ledger_hold(l);
	l->writing = true;
	pthread_mutex_unlock(&l->lock);
	l->nr_writes++;
	block_opened(&o);
	for_each_task(&o, want);
	rc = for_each_task(&o, put_task);
	if (!rc)
		rc = for_each_task(&o, put_proc);
	if (!rc)
		rc = put_ksyms(&o);
	if (!rc)
		rc = put_cgroups(&o);
	pthread_mutex_lock(&l->lock);
	l->writing = false;
	pthread_cond_broadcast(&l->written);
	pthread_mutex_unlock(&l->lock);
	return rc;
}
