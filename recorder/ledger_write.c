// SPDX-License-Identifier: MIT
/*
 * Writes the ledger's part that a window refers to as the LEDGER section (dump/FORMAT.md). Called
 * from the thread that writes dumps; holds the ledger's lock meanwhile (the sideband's rings
 * buffer) and allocates nothing: what has been put where is noted in the tasks' processes and in
 * the paths.
 */
#include "recorder/ledger_parts.h"

#include "dump/writer.h"

#include <assert.h>
#include <string.h>

struct write {
	struct ledger *l;
	struct writer *w;
	const struct tidset *sampled; /* NULL: none */
	uint64_t from_ns, to_ns;
	uint32_t next_path; /* id in the block being filled */
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
	o->next_path = 1;
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
	return rc ? rc : put_comms(o, t);
}

/* Notes that the mappings of this task's process are to be written. */
static int want(struct write *o, struct task *t)
{
	if (is_sampled(o, t))
		t->proc->wanted = o->l->nr_writes;
	return 0;
}

/* ---- mappings ---- */

/* A path and what refers to it go into one block, the path first. */
static int put_path(struct write *o, struct path *p, size_t bytes_behind)
{
	size_t bytes = item_bytes(sizeof(struct fmt_path), p->len) + bytes_behind;
	struct fmt_path f = {.build_id_bytes = p->build_id_bytes};
	bool opened;
	int rc;

	if (o->block_bytes && o->block_bytes + bytes > FMT_BLOCK_BYTES) {
		rc = writer_flush(o->w, o->err);
		if (rc)
			return rc;
		block_opened(o);
	}
	if (p->block == o->l->nr_blocks)
		return 0;
	memcpy(f.build_id, p->build_id, sizeof(f.build_id));
	f.id = o->next_path;
	rc = put(o, FMT_LEDGER_PATH, &f, sizeof(f), p->text, p->len, &opened);
	if (rc)
		return rc;
	p->block = o->l->nr_blocks;
	p->id = o->next_path++;
	return 0;
}

static int put_map(struct write *o, const struct proc *p, const struct map *m, uint64_t end_ns)
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
	assert(rc || !opened); /* put_path() has seen to that */
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

static int put_ksyms(struct write *o)
{
	const struct ksym *k;
	int rc = 0;

	for (size_t i = 0; i < KSYM_BUCKETS; i++) {
		for (k = o->l->ksyms[i]; !rc && k; k = k->next) {
			struct fmt_ksym f = {
				.addr = k->addr,
				.bytes = k->bytes,
				.type = k->type,
				.flags = k->flags,
				.ns = k->ns,
				.end_ns = within(o, k->end_ns),
			};

			if (overlaps(o, k->ns, k->end_ns, 0))
				rc = put(o, FMT_LEDGER_KSYM, &f, sizeof(f), k->name, k->name_len,
					 NULL);
		}
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
	pthread_mutex_lock(&l->lock);
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
	pthread_mutex_unlock(&l->lock);
	return rc;
}
