// SPDX-License-Identifier: MIT
/*
 * Writes the part of the ledger that a window refers to as the LEDGER section
 * (dump/format/FORMAT.md). Runs in the thread that writes dumps. The ledger does not change
 * meanwhile (`writing`; sideband.c keeps new records), but the lock is free, so a slow disk delays
 * only changes, not queries. Allocates nothing: tasks, processes and paths store where they were
 * written.
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
	uint32_t next_path; /* next ids in the current block */
	uint32_t next_set;
	uint32_t last_key;
	size_t block_bytes; /* bytes in the current block */
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

/* True when the item begins a block. */
static bool put(struct write *o, uint16_t kind, const void *fixed, size_t nr_fixed, const void *var,
		size_t nr_var)
{
	bool opened = false;

	writer_item(o->w, kind, fixed, nr_fixed, var, nr_var, &opened);
	if (opened)
		block_opened(o);
	o->block_bytes += item_bytes(nr_fixed, nr_var);
	return opened;
}

/* ---- paths and namespace sets ---- */

/*
 * Puts `p`, with the id in `fixed` at *id, unless the current block has it. Begins a new block if
 * `bytes_behind`, the items that refer to it, would not fit into this one.
 */
static void put_shared(struct write *o, struct path *p, uint16_t kind, const void *fixed,
		       size_t nr_fixed, uint32_t *id, uint32_t *next, size_t bytes_behind)
{
	size_t bytes = item_bytes(nr_fixed, p->len) + bytes_behind;

	if (o->block_bytes && o->block_bytes + bytes > FMT_BLOCK_BYTES) {
		writer_flush(o->w);
		block_opened(o);
	}
	if (p->block == o->l->nr_blocks)
		return;
	*id = *next;
	put(o, kind, fixed, nr_fixed, p->text, p->len);
	p->block = o->l->nr_blocks;
	p->id = (*next)++;
}

static void put_path(struct write *o, struct path *p, size_t bytes_behind)
{
	struct fmt_path f = {.build_id_bytes = p->build_id_bytes};

	memcpy(f.build_id, p->build_id, sizeof(f.build_id));
	put_shared(o, p, FMT_LEDGER_PATH, &f, sizeof(f), &f.id, &o->next_path, bytes_behind);
}

static void put_set(struct write *o, struct path *p, size_t bytes_behind)
{
	struct fmt_namespaces f = {.nr = p->len / sizeof(struct fmt_namespace)};

	put_shared(o, p, FMT_LEDGER_NAMESPACES, &f, sizeof(f), &f.id, &o->next_set, bytes_behind);
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

/* A leader that has exited stands for its process until the last thread exits. */
static uint64_t end_of(const struct task *t)
{
	if (t != t->proc->leader || !t->exit_ns)
		return t->exit_ns;
	return t->proc->nr_alive ? 0 : t->r.ns;
}

static void put_comms(struct write *o, const struct task *t)
{
	for (const struct comm *c = t->comms; c; c = c->older) {
		struct fmt_comm f = {
			.key = t->key,
			.flags = c->exec ? FMT_COMM_EXEC : 0,
			.ns = comm_since(c),
		};

		if (f.ns > o->to_ns)
			continue;
		memcpy(f.comm, c->name, sizeof(f.comm));
		put(o, FMT_LEDGER_COMM, &f, sizeof(f), NULL, 0);
		if (f.ns <= o->from_ns)
			break; /* older names end before the window */
	}
}

/* ---- namespaces and cgroups ---- */

/* Puts the entries of `s` that overlap the window. */
static void put_stays(struct write *o, uint32_t key, const struct stays *s, uint16_t kind,
		      void (*put_what)(struct write *o, struct path *p, size_t bytes_behind))
{
	struct stay stay;

	for (uint32_t i = s->nr; i--;) {
		struct fmt_stay f = {.key = key};

		if (!stay_nth(s, i, &stay) || stay.ns > o->to_ns)
			continue;
		put_what(o, stay.what, item_bytes(sizeof(f), 0));
		f.what = stay.what->id;
		f.ns = stay.ns;
		f.flags = stay.guess ? FMT_STAY_INHERITED : 0;
		put(o, kind, &f, sizeof(f), NULL, 0);
		if (f.ns <= o->from_ns)
			break;
	}
}

/* Whether a thread was always in its leader's namespaces; it is then left out. */
static bool stays_with_leader(const struct task *t)
{
	const struct task *leader = t->proc->leader;

	return leader && leader != t && t->spaces.nr == 1 && leader->spaces.nr == 1 &&
	       stay_at(&t->spaces, UINT64_MAX) == stay_at(&leader->spaces, UINT64_MAX);
}

static void put_places(struct write *o, const struct task *t)
{
	if (!stays_with_leader(t))
		put_stays(o, t->key, &t->spaces, FMT_LEDGER_TASK_NS, put_set);
	if (t == t->proc->leader)
		put_stays(o, t->key, &t->proc->cgroups, FMT_LEDGER_TASK_CGROUP, put_path);
}

static bool is_wanted(const struct write *o, const struct proc *p)
{
	return p->wanted == o->l->nr_writes;
}

static void put_task(struct write *o, struct task *t)
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

	if (!overlaps(o, t->start_ns, end_of(t), sampled || leads ? LEDGER_GRACE_NS : 0))
		return;
	put(o, FMT_LEDGER_TASK, &f, sizeof(f), NULL, 0);
	put_comms(o, t);
	put_places(o, t);
}

/* Gives the task its key in this dump and marks processes whose mappings are written. */
static void want(struct write *o, struct task *t)
{
	t->key = ++o->last_key;
	if (is_sampled(o, t))
		t->proc->wanted = o->l->nr_writes;
}

/* ---- mappings ---- */

static void put_map(struct write *o, const struct proc *p, const struct ledger_map *m,
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

	if (!overlaps(o, m->ns, end_ns, LEDGER_GRACE_NS))
		return;
	put_path(o, m->path, item_bytes(sizeof(f), 0));
	f.path = m->path->id;
	opened = put(o, FMT_LEDGER_MAP, &f, sizeof(f), NULL, 0);
	assert(!opened); /* put_shared() left room */
}

static void put_table(struct write *o, const struct proc *p, const struct maps *t, uint64_t end_ns)
{
	for (uint32_t i = 0; t && i < t->nr; i++)
		put_map(o, p, t->v[i], end_ns);
}

/* Puts the process of `t` if `t` is its leader and the process is marked. */
static void put_proc(struct write *o, struct task *t)
{
	const struct proc *p = t->proc;

	if (p->leader != t || !is_wanted(o, p))
		return;
	if (p->cmdline)
		put(o, FMT_LEDGER_CMDLINE, &t->key, sizeof(t->key), p->cmdline, p->cmdline_bytes);
	for (const struct ended *e = p->ended; e; e = e->next) {
		if (e->table)
			put_table(o, p, e->table, e->r.ns);
		else
			put_map(o, p, &e->one[0], e->r.ns);
	}
	put_table(o, p, p->maps, 0);
}

/* ---- kernel symbols, cgroups ---- */

static void put_ksym(struct write *o, const struct ksym *k)
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
		return;
	if (!k->program) {
		put(o, FMT_LEDGER_KSYM, &f, sizeof(f), k->name, k->name_len);
		return;
	}
	memcpy(bpf.tag, k->name, sizeof(bpf.tag));
	put(o, FMT_LEDGER_BPF, &bpf, sizeof(bpf), NULL, 0);
}

static void for_each_task(struct write *o, void (*each)(struct write *o, struct task *t))
{
	for (size_t i = 0; i < o->l->nr_buckets; i++)
		for (struct task *t = o->l->tasks[i]; t; t = t->hash_next)
			for (struct task *same_tid = t; same_tid; same_tid = same_tid->older)
				each(o, same_tid);
}

void ledger_write(struct ledger *l, struct writer *w, const struct tidset *sampled,
		  uint64_t from_ns, uint64_t to_ns)
{
	struct write o = {
		.l = l,
		.w = w,
		.sampled = sampled,
		.from_ns = from_ns,
		.to_ns = to_ns,
	};

	if (writer_section(w, FMT_LEDGER))
		return;
	ledger_hold(l);
	l->writing = true;
	pthread_mutex_unlock(&l->lock);
	l->nr_writes++;
	block_opened(&o);
	for_each_task(&o, want);
	for_each_task(&o, put_task);
	for_each_task(&o, put_proc);
	for (size_t i = 0; i < KSYM_BUCKETS; i++)
		for (const struct ksym *k = l->ksyms[i]; k; k = k->next)
			put_ksym(&o, k);
	for (const struct cgroup *c = l->oldest_cgroup; c; c = c->newer)
		put(&o, FMT_LEDGER_CGROUP, &c->id, sizeof(c->id), c->path, c->path_len);
	pthread_mutex_lock(&l->lock);
	l->writing = false;
	pthread_cond_broadcast(&l->written);
	pthread_mutex_unlock(&l->lock);
}
