// SPDX-License-Identifier: MIT
/* Reads the LEDGER blocks of a dump into sorted tables; see process_history_impl.h. Called by
 * history_load(). The size in bytes is limited, because ledgers are not trusted. */
#include "dump/view/model/process_history_impl.h"

#include "dump/file/section_items.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More kinds than any kernel has. */
#define MAX_NAMESPACES 64
/* Limit of all LEDGER blocks together, unpacked. */
#define MAX_LEDGER_BYTES (512ull << 20)

/* A PATH or a NAMESPACES item of the current block. */
struct block_id {
	uint32_t id;
	uint32_t index; /* into the history's paths or sets */
};

struct history_loader {
	struct process_history *p;
	/* struct block_id[], sorted at the end of the block. */
	struct buf block_paths, block_sets;
	/* Items that refer to these ids (fmt_map, fmt_stay), resolved at the end of the block. */
	struct buf block_maps, block_spaces, block_cgroups;
};

static int take_path(struct history_loader *l, struct bytes item)
{
	struct process_history *p = l->p;
	struct person_path path = {0};
	struct block_id at;
	struct fmt_path f;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)))
		return -EBADMSG;
	path.text = intern(&p->texts, item);
	if (!path.text)
		return -ENOMEM;
	path.build_id_bytes = f.build_id_bytes <= sizeof(f.build_id) ? f.build_id_bytes : 0;
	memcpy(path.build_id, f.build_id, sizeof(f.build_id));
	at = (struct block_id){f.id, (uint32_t)(p->paths.len / sizeof(path))};
	rc = buf_put(&l->block_paths, &at, sizeof(at));
	return rc ? rc : buf_put(&p->paths, &path, sizeof(path));
}

static int take_task(struct history_loader *l, struct bytes item)
{
	struct fmt_task f;

	bytes_get_grown(item, &f, sizeof(f));
	return f.key ? buf_put(&l->p->tasks, &f, sizeof(f)) : -EBADMSG;
}

static int take_comm(struct history_loader *l, struct bytes item)
{
	struct person_comm c = {0};
	struct fmt_comm f;

	bytes_get_grown(item, &f, sizeof(f));
	c.key = f.key;
	c.ns = f.ns;
	c.exec = f.flags & FMT_COMM_EXEC;
	c.order = (uint32_t)(l->p->comms.len / sizeof(c));
	memcpy(c.comm, f.comm, sizeof(f.comm));
	return f.key ? buf_put(&l->p->comms, &c, sizeof(c)) : -EBADMSG;
}

static int take_map(struct history_loader *l, struct bytes item)
{
	struct fmt_map f;

	bytes_get_grown(item, &f, sizeof(f));
	return f.key && f.start < f.end ? buf_put(&l->block_maps, &f, sizeof(f)) : -EBADMSG;
}

static int take_set(struct history_loader *l, struct bytes item)
{
	struct process_history *p = l->p;
	struct person_set set = {.from = p->namespaces.len / sizeof(struct fmt_namespace)};
	struct fmt_namespaces f;
	struct block_id at;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)) || f.nr > MAX_NAMESPACES ||
	    f.nr > item.len / sizeof(struct fmt_namespace))
		return -EBADMSG;
	set.nr = f.nr;
	at = (struct block_id){f.id, (uint32_t)(p->sets.len / sizeof(set))};
	rc = buf_put(&p->namespaces, item.p, f.nr * sizeof(struct fmt_namespace));
	if (!rc)
		rc = buf_put(&l->block_sets, &at, sizeof(at));
	return rc ? rc : buf_put(&p->sets, &set, sizeof(set));
}

static int take_stay(struct buf *to, struct bytes item)
{
	struct fmt_stay f;

	bytes_get_grown(item, &f, sizeof(f));
	return f.key ? buf_put(to, &f, sizeof(f)) : -EBADMSG;
}

static int take_space(struct history_loader *l, struct bytes item)
{
	return take_stay(&l->block_spaces, item);
}

static int take_cgroup(struct history_loader *l, struct bytes item)
{
	return take_stay(&l->block_cgroups, item);
}

static int take_ksym(struct history_loader *l, struct bytes item)
{
	struct history_ksym k = {.name = NULL};

	if (!bytes_get(&item, &k.f, sizeof(k.f)) || !k.f.bytes || k.f.addr > UINT64_MAX - k.f.bytes)
		return -EBADMSG;
	if (!k.f.end_ns)
		k.f.end_ns = UINT64_MAX;
	k.name = intern(&l->p->texts, item);
	return k.name ? buf_put(&l->p->ksyms, &k, sizeof(k)) : -ENOMEM;
}

struct history_item_kind {
	uint16_t kind;
	int (*take)(struct history_loader *l, struct bytes item);
};

static const struct history_item_kind kinds[] = {
	{FMT_LEDGER_PATH, take_path},	       {FMT_LEDGER_TASK, take_task},
	{FMT_LEDGER_COMM, take_comm},	       {FMT_LEDGER_MAP, take_map},
	{FMT_LEDGER_NAMESPACES, take_set},     {FMT_LEDGER_TASK_NS, take_space},
	{FMT_LEDGER_TASK_CGROUP, take_cgroup}, {FMT_LEDGER_KSYM, take_ksym},
};

static int take_item(void *ctx, uint16_t kind, struct bytes item)
{
	struct history_loader *l = ctx;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == kind)
			return kinds[i].take(l, item);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct block_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_ids(struct buf *ids)
{
	size_t nr = ids->len / sizeof(struct block_id);

	if (nr)
		qsort(ids->p, nr, sizeof(struct block_id), compare_ids);
}

/* The index for an id of this block; an unknown id is counted as broken. */
static bool resolve(struct history_loader *l, const struct buf *ids, uint32_t id, uint32_t *index)
{
	size_t nr = ids->len / sizeof(struct block_id);
	struct block_id key = {.id = id}, *at = NULL;

	if (nr)
		at = bsearch(&key, ids->p, nr, sizeof(key), compare_ids);
	if (at)
		*index = at->index;
	else
		l->p->nr.nr_broken++;
	return at;
}

static int end_maps(struct history_loader *l)
{
	const struct fmt_map *m = (const struct fmt_map *)l->block_maps.p;
	int rc = 0;

	for (size_t i = 0; i < l->block_maps.len / sizeof(*m) && !rc; i++) {
		struct person_map map = {.f = m[i]};

		if (!resolve(l, &l->block_paths, m[i].path, &map.f.path))
			continue;
		if (!map.f.end_ns)
			map.f.end_ns = UINT64_MAX;
		rc = buf_put(&l->p->maps, &map, sizeof(map));
	}
	return rc;
}

static int end_stays(struct history_loader *l, const struct buf *stays, const struct buf *ids,
		     struct buf *to)
{
	const struct fmt_stay *f = (const struct fmt_stay *)stays->p;
	int rc = 0;

	for (size_t i = 0; i < stays->len / sizeof(*f) && !rc; i++) {
		struct person_stay s = {.key = f[i].key, .ns = f[i].ns};

		s.order = to->len / sizeof(s);
		if (resolve(l, ids, f[i].what, &s.what))
			rc = buf_put(to, &s, sizeof(s));
	}
	return rc;
}

/*
 * Replaces ids by indices once the block is complete: an item may come before the one it refers to.
 */
static int end_block(struct history_loader *l)
{
	int rc;

	sort_ids(&l->block_paths);
	sort_ids(&l->block_sets);
	rc = end_maps(l);
	if (!rc)
		rc = end_stays(l, &l->block_spaces, &l->block_sets, &l->p->spaces);
	if (!rc)
		rc = end_stays(l, &l->block_cgroups, &l->block_paths, &l->p->cgroups);
	l->block_paths.len = l->block_sets.len = l->block_maps.len = 0;
	l->block_spaces.len = l->block_cgroups.len = 0;
	return rc;
}

static int take_block(void *ctx, struct bytes payload)
{
	struct history_loader *l = ctx;
	int rc = section_items_walk(payload, take_item, l, &l->p->nr.nr_broken);

	return rc ? rc : end_block(l);
}

int history_read(struct process_history *p, struct reader *r)
{
	struct history_loader l = {.p = p};
	int rc = section_items_load(r, FMT_LEDGER, MAX_LEDGER_BYTES, take_block, &l,
				    &p->nr.nr_broken);

	buf_free(&l.block_paths);
	buf_free(&l.block_sets);
	buf_free(&l.block_maps);
	buf_free(&l.block_spaces);
	buf_free(&l.block_cgroups);
	if (rc)
		return rc;
	history_sort(p);
	return 0;
}
