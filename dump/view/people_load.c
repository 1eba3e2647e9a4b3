// SPDX-License-Identifier: MIT
/*
 * Reads the LEDGER blocks of a dump into sorted tables; see people_impl.h. Called by people_load().
 * Hostile ledgers are bounded: in bytes, and all sorting is O(n log n).
 */
#include "dump/view/people_impl.h"

#include "dump/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What all LEDGER blocks may unpack to: LZ4 makes 255 bytes of one, so the file's length is no
 * bound. */
#define MAX_LEDGER_BYTES (512ull << 20)
#define CHUNK_BYTES	 (256u << 10)

/* A PATH of the block that is being read. */
struct block_path {
	uint32_t id;
	uint32_t index; /* into people.paths */
};

struct loader {
	struct people *p;
	struct buf block_paths; /* struct block_path, sorted at its end */
	struct buf block_maps;	/* struct fmt_map whose paths are looked up at the block's end */
};

/* A copy of `b` up to its first NUL that lives as long as the people. */
static const char *keep_text(struct people *p, struct bytes b)
{
	size_t len = strnlen((const char *)b.p, b.len), size;
	struct chunk *c = p->chunks;
	char *to;

	if (!c || c->size - c->used < len + 1) {
		size = len + 1 > CHUNK_BYTES ? len + 1 : CHUNK_BYTES;
		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		*c = (struct chunk){.next = p->chunks, .size = size};
		p->chunks = c;
	}
	to = c->text + c->used;
	memcpy(to, b.p, len);
	to[len] = '\0';
	c->used += len + 1;
	return to;
}

static int take_path(struct loader *l, struct bytes item)
{
	struct people *p = l->p;
	struct person_path path = {0};
	struct block_path at;
	struct fmt_path f;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)))
		return -EBADMSG;
	path.text = keep_text(p, item);
	if (!path.text)
		return -ENOMEM;
	path.build_id_bytes = f.build_id_bytes <= sizeof(f.build_id) ? f.build_id_bytes : 0;
	memcpy(path.build_id, f.build_id, sizeof(f.build_id));
	at = (struct block_path){f.id, (uint32_t)(p->paths.len / sizeof(path))};
	rc = buf_put(&l->block_paths, &at, sizeof(at));
	return rc ? rc : buf_put(&p->paths, &path, sizeof(path));
}

static int take_task(struct loader *l, struct bytes item)
{
	struct fmt_task f;

	bytes_get_grown(item, &f, sizeof(f));
	return f.key ? buf_put(&l->p->tasks, &f, sizeof(f)) : -EBADMSG;
}

static int take_comm(struct loader *l, struct bytes item)
{
	struct person_comm c = {0};
	struct fmt_comm f;

	bytes_get_grown(item, &f, sizeof(f));
	c.key = f.key;
	c.ns = f.ns;
	c.order = (uint32_t)(l->p->comms.len / sizeof(c));
	memcpy(c.comm, f.comm, sizeof(f.comm));
	return f.key ? buf_put(&l->p->comms, &c, sizeof(c)) : -EBADMSG;
}

static int take_map(struct loader *l, struct bytes item)
{
	struct fmt_map f;

	bytes_get_grown(item, &f, sizeof(f));
	return f.key && f.start < f.end ? buf_put(&l->block_maps, &f, sizeof(f)) : -EBADMSG;
}

struct kind {
	uint16_t kind;
	int (*take)(struct loader *l, struct bytes item);
};

static const struct kind kinds[] = {
	{FMT_LEDGER_PATH, take_path},
	{FMT_LEDGER_TASK, take_task},
	{FMT_LEDGER_COMM, take_comm},
	{FMT_LEDGER_MAP, take_map},
};

static int take_item(struct loader *l, uint16_t kind, struct bytes item)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == kind)
			return kinds[i].take(l, item);
	return 0;
}

static int compare_paths(const void *a, const void *b)
{
	const struct block_path *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The block's mappings get the indices of their paths, which may stand behind them. */
static int end_block(struct loader *l)
{
	struct fmt_map *m = (struct fmt_map *)l->block_maps.p;
	size_t nr_paths = l->block_paths.len / sizeof(struct block_path);
	int rc = 0;

	if (nr_paths)
		qsort(l->block_paths.p, nr_paths, sizeof(struct block_path), compare_paths);
	for (size_t i = 0; i < l->block_maps.len / sizeof(*m) && !rc; i++) {
		struct block_path key = {.id = m[i].path}, *at = NULL;
		struct person_map map = {.f = m[i]};

		if (nr_paths)
			at = bsearch(&key, l->block_paths.p, nr_paths, sizeof(key), compare_paths);
		if (!at) {
			l->p->nr.nr_broken++;
			continue;
		}
		map.f.path = at->index;
		if (!map.f.end_ns)
			map.f.end_ns = UINT64_MAX;
		rc = buf_put(&l->p->maps, &map, sizeof(map));
	}
	l->block_paths.len = l->block_maps.len = 0;
	return rc;
}

static int take_block(struct loader *l, struct bytes payload)
{
	struct bytes item;
	uint16_t kind;
	bool broken = false;
	int rc;

	while (reader_next_item(&payload, &kind, &item, &broken)) {
		rc = take_item(l, kind, item);
		if (rc == -EBADMSG)
			l->p->nr.nr_broken++;
		else if (rc)
			return rc;
	}
	l->p->nr.nr_broken += broken;
	return end_block(l);
}

static int read_blocks(struct loader *l, struct reader *r)
{
	struct buf payload = {0};
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(r) && !rc; i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;

		if (h->section != FMT_LEDGER)
			continue;
		l->p->payload_bytes += h->payload_bytes;
		if (l->p->payload_bytes > MAX_LEDGER_BYTES) {
			rc = -E2BIG;
			break;
		}
		rc = h->encoding == FMT_ENC_ITEMS ? reader_load(r, i, &payload, NULL) : -EBADMSG;
		if (rc && rc != -ENOMEM) {
			l->p->nr.nr_broken++;
			rc = 0;
		} else if (!rc) {
			rc = take_block(l, (struct bytes){payload.p, payload.len});
		}
	}
	buf_free(&payload);
	return rc;
}

/* ---- sorting ---- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct fmt_task *x = a, *y = b;
	int order = compare_u64(x->tid, y->tid);

	if (!order)
		order = compare_u64(x->start_ns, y->start_ns);
	return order ? order : compare_u64(x->key, y->key);
}

static int compare_comms(const void *a, const void *b)
{
	const struct person_comm *x = a, *y = b;
	int order = compare_u64(x->key, y->key);

	if (!order)
		order = compare_u64(x->ns, y->ns);
	return order ? order : compare_u64(x->order, y->order);
}

static int compare_maps(const void *a, const void *b)
{
	const struct fmt_map *x = &((const struct person_map *)a)->f;
	const struct fmt_map *y = &((const struct person_map *)b)->f;
	int order = compare_u64(x->key, y->key);

	if (!order)
		order = compare_u64(x->start, y->start);
	return order ? order : compare_u64(x->ns, y->ns);
}

static void sort(struct buf *b, size_t entry, int (*compare)(const void *, const void *),
		 size_t *nr)
{
	*nr = b->len / entry;
	if (*nr)
		qsort(b->p, *nr, entry, compare);
}

/* The same task may stand in two blocks, or be repeated by a file that means ill. */
static size_t drop_repeated_tasks(struct fmt_task *t, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++)
		if (!kept || compare_tasks(&t[kept - 1], &t[i]))
			t[kept++] = t[i];
	return kept;
}

static void span(struct person_map *m, size_t from, size_t to)
{
	size_t mid = from + (to - from) / 2;
	struct person_map *root = &m[mid];
	const struct person_map *kid;

	if (from == to)
		return;
	root->max_end = root->f.end;
	root->min_ns = root->f.ns;
	root->max_end_ns = root->f.end_ns;
	for (int right = 0; right < 2; right++) {
		size_t a = right ? mid + 1 : from, b = right ? to : mid;

		if (a == b)
			continue;
		span(m, a, b);
		kid = &m[a + (b - a) / 2];
		if (kid->max_end > root->max_end)
			root->max_end = kid->max_end;
		if (kid->min_ns < root->min_ns)
			root->min_ns = kid->min_ns;
		if (kid->max_end_ns > root->max_end_ns)
			root->max_end_ns = kid->max_end_ns;
	}
}

/* A tree for each process. */
static void span_all(struct person_map *m, size_t nr)
{
	for (size_t from = 0, to; from < nr; from = to) {
		for (to = from + 1; to < nr && m[to].f.key == m[from].f.key; to++)
			;
		span(m, from, to);
	}
}

int people_read(struct people *p, struct reader *r)
{
	struct loader l = {.p = p};
	int rc = read_blocks(&l, r);

	buf_free(&l.block_paths);
	buf_free(&l.block_maps);
	if (rc)
		return rc;
	sort(&p->tasks, sizeof(*p->task), compare_tasks, &p->nr.nr_tasks);
	sort(&p->comms, sizeof(*p->comm), compare_comms, &p->nr.nr_comms);
	sort(&p->maps, sizeof(*p->map), compare_maps, &p->nr.nr_maps);
	p->nr.nr_tasks = drop_repeated_tasks((struct fmt_task *)p->tasks.p, p->nr.nr_tasks);
	p->task = (const struct fmt_task *)p->tasks.p;
	p->comm = (const struct person_comm *)p->comms.p;
	p->map = (struct person_map *)p->maps.p;
	p->path = (const struct person_path *)p->paths.p;
	span_all(p->map, p->nr.nr_maps);
	for (size_t i = 0; i < p->nr.nr_tasks; i++)
		p->nr.nr_processes += p->task[i].tid == p->task[i].pid;
	return 0;
}
