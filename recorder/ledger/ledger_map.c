// SPDX-License-Identifier: MIT
/*
 * Executable mappings. The live mappings of a process are a sorted table without overlaps. A fork
 * shares the table, and a process copies it before its first change, because most forks exec at
 * once. A replaced mapping moves to the process's list of ended mappings; an exec moves the whole
 * table.
 *
 * Records come in order. Only around a scan of /proc an older record may come after newer data:
 * then the newer mapping stays and the older one is cut where they overlap.
 */
#include "recorder/ledger/ledger_parts.h"

#include "dump/base/array.h"

#include <string.h>

/* ---- tables ---- */

static struct maps *maps_new(struct ledger *l, bool whole)
{
	struct maps *t = ledger_alloc(l, sizeof(*t));

	if (t) {
		t->refs = 1;
		t->whole = whole;
	}
	return t;
}

static void map_put(struct ledger *l, struct ledger_map *m)
{
	paths_put(&l->paths, m->path);
	ledger_release(l, m, sizeof(*m));
	l->nr_maps--;
}

static void maps_put(struct ledger *l, struct maps *t)
{
	if (!t || --t->refs)
		return;
	for (uint32_t i = 0; i < t->nr; i++)
		map_put(l, t->v[i]);
	ledger_release(l, t->v, t->cap * sizeof(*t->v));
	ledger_release(l, t, sizeof(*t));
}

/* Makes room for `nr` entries; fails over the bound. */
static bool reserve(struct ledger *l, struct maps *t, uint32_t nr)
{
	uint32_t cap = t->cap ? t->cap : 8;
	struct ledger_map **v;

	if (nr <= t->cap)
		return true;
	while (cap < nr)
		cap *= 2;
	if (!ledger_admits_map(l, cap * sizeof(*v)))
		return false;
	v = ledger_alloc(l, cap * sizeof(*v));
	if (!v)
		return false;
	if (t->nr)
		memcpy(v, t->v, t->nr * sizeof(*v));
	ledger_release(l, t->v, t->cap * sizeof(*v));
	t->v = v;
	t->cap = cap;
	return true;
}

/* A copy for a table, with its own reference to the path; NULL: over the bound. */
static struct ledger_map *map_new(struct ledger *l, const struct ledger_map *from)
{
	struct ledger_map *m =
		ledger_admits_map(l, sizeof(*m)) ? ledger_alloc(l, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	*m = *from;
	path_ref(m->path);
	l->nr_maps++;
	return m;
}

static struct maps *copy(struct ledger *l, const struct maps *from)
{
	struct maps *t = maps_new(l, from->whole);

	if (!t || !from->nr)
		return t;
	if (!reserve(l, t, from->nr))
		goto fail;
	for (; t->nr < from->nr; t->nr++) {
		t->v[t->nr] = map_new(l, from->v[t->nr]);
		if (!t->v[t->nr])
			goto fail;
	}
	return t;
fail:
	maps_put(l, t);
	return NULL;
}

struct maps *maps_own(struct ledger *l, struct proc *p)
{
	struct maps *mine;

	if (p->maps && p->maps->refs == 1)
		return p->maps;
	mine = p->maps ? copy(l, p->maps) : maps_new(l, p->exec_ns != 0);
	if (!mine)
		return NULL;
	maps_put(l, p->maps);
	p->maps = mine;
	return mine;
}

void maps_inherit(struct ledger *l, struct proc *parent, struct proc *child)
{
	/* An unknown table is shared too: a later scan then completes it for both processes. */
	if (child->maps || child->maps_scan_ns || child->exec_ns)
		return;
	if (!parent->maps)
		parent->maps = maps_new(l, parent->exec_ns != 0);
	if (!parent->maps)
		return;
	parent->maps->refs++;
	child->maps = parent->maps;
}

uint32_t maps_find(const struct maps *t, uint64_t addr)
{
	return (uint32_t)array_bisect(i, t->nr, t->v[i]->end <= addr);
}

static void remove_at(struct ledger *l, struct maps *t, uint32_t i)
{
	map_put(l, t->v[i]);
	memmove(t->v + i, t->v + i + 1, (t->nr - i - 1) * sizeof(*t->v));
	t->nr--;
}

static void insert_at(struct ledger *l, struct maps *t, uint32_t i, const struct ledger_map *m)
{
	struct ledger_map *new = reserve(l, t, t->nr + 1) ? map_new(l, m) : NULL;

	if (!new)
		return;
	memmove(t->v + i + 1, t->v + i, (t->nr - i) * sizeof(*t->v));
	t->v[i] = new;
	t->nr++;
}

/* ---- what ended ---- */

static size_t ended_bytes(const struct ended *e)
{
	return sizeof(*e) + (e->table ? 0 : sizeof(e->one[0]));
}

static void ended_link(struct ledger *l, struct proc *p, struct ended *e, uint64_t ns)
{
	e->proc = p;
	e->next = p->ended;
	if (e->next)
		e->next->prev = e;
	p->ended = e;
	retire(l, &e->r, RETIRED_MAPS, ns);
}

void ended_drop(struct ledger *l, struct ended *e)
{
	unretire(l, &e->r);
	if (e->prev)
		e->prev->next = e->next;
	else
		e->proc->ended = e->next;
	if (e->next)
		e->next->prev = e->prev;
	if (e->table) {
		maps_put(l, e->table);
		e->table = NULL;
		ledger_release(l, e, sizeof(*e));
		return;
	}
	paths_put(&l->paths, e->one[0].path);
	l->nr_maps--;
	ledger_release(l, e, ended_bytes(e));
}

/* Clips a mapping to [start, end). */
static struct ledger_map clip(const struct ledger_map *m, uint64_t start, uint64_t end)
{
	struct ledger_map part = *m;

	if (start > part.start) {
		part.pgoff += start - part.start;
		part.start = start;
	}
	if (end < part.end)
		part.end = end;
	return part;
}

/* Adds a mapping that ended at `ns`. */
static void note_ended(struct ledger *l, struct proc *p, const struct ledger_map *m, uint64_t ns)
{
	struct ended *e;

	if (!ledger_admits_map(l, sizeof(*e) + sizeof(e->one[0])))
		return;
	e = ledger_alloc(l, sizeof(*e) + sizeof(e->one[0]));
	if (!e)
		return;
	e->one[0] = *m;
	path_ref(m->path);
	l->nr_maps++;
	ended_link(l, p, e, ns);
}

void maps_end(struct ledger *l, struct proc *p, uint32_t i, uint64_t ns)
{
	note_ended(l, p, p->maps->v[i], ns);
	remove_at(l, p->maps, i);
}

static void end_table(struct ledger *l, struct proc *p, uint64_t ns)
{
	struct ended *e;

	if (!p->maps)
		return;
	if (p->maps->nr) {
		e = ledger_alloc(l, sizeof(*e));
		if (e) {
			e->table = p->maps;
			ended_link(l, p, e, ns);
			p->maps = NULL;
			return;
		}
	}
	maps_put(l, p->maps);
	p->maps = NULL;
}

/* An exec record processed after a scan: mappings that the scan added came after the exec, all
 * others ended with it. */
static void exec_before_scan(struct ledger *l, struct proc *p, uint64_t ns)
{
	struct maps *t = maps_own(l, p);
	struct ended *e;

	for (e = p->ended; e; e = e->next) {
		if (e->table || e->r.ns <= ns || e->one[0].ns >= ns)
			continue;
		if (e->one[0].seen_ns > ns)
			e->one[0].ns = ns;
		else
			retire(l, &e->r, RETIRED_MAPS, ns);
	}
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nr;) {
		struct ledger_map *m = t->v[i];

		if (m->ns > ns) {
			i++;
		} else if (m->seen_ns > ns) {
			m->ns = ns;
			i++;
		} else {
			maps_end(l, p, i, ns);
		}
	}
	t->whole = true;
}

void maps_exec(struct ledger *l, struct proc *p, uint64_t ns)
{
	if (p->maps_scan_ns > ns)
		exec_before_scan(l, p, ns);
	else
		end_table(l, p, ns);
	if (ns > p->exec_ns)
		p->exec_ns = ns;
}

void maps_drop(struct ledger *l, struct proc *p)
{
	while (p->ended)
		ended_drop(l, p->ended);
	maps_put(l, p->maps);
	p->maps = NULL;
}

/* ---- adding ---- */

static bool anonymous(const struct ledger_map *m)
{
	return m->path->text[0] == '[' || !strncmp(m->path->text, "//", 2);
}

/* The length without " (deleted)", which the kernel appends to the path of an unlinked file. */
static size_t kept_len(const struct path *p)
{
	static const char deleted[] = " (deleted)";
	size_t n = sizeof(deleted) - 1;

	return p->len > n && !strcmp(p->text + p->len - n, deleted) ? p->len - n : p->len;
}

static bool same_file(const struct ledger_map *a, const struct ledger_map *b)
{
	const struct path *x = a->path, *y = b->path;

	if (x == y)
		return true;
	if (x->build_id_bytes && x->build_id_bytes == y->build_id_bytes &&
	    memcmp(x->build_id, y->build_id, x->build_id_bytes))
		return false;
	if (a->ino && b->ino)
		return a->ino == b->ino && a->maj == b->maj && a->min == b->min;
	return kept_len(x) == kept_len(y) && !memcmp(x->text, y->text, kept_len(x));
}

/* /proc and records differ for the same mapping in the offset of a mapping without a file, and in
 * the device when the record has a build-id instead. */
static bool same_map(const struct ledger_map *a, const struct ledger_map *b)
{
	if (a->start != b->start || a->end != b->end)
		return false;
	if (anonymous(a) || anonymous(b))
		return anonymous(a) && anonymous(b);
	return a->pgoff == b->pgoff && same_file(a, b);
}

/* Whether `e` began after `ns`. A mapping inherited with the parent's scan is older than the
 * fork. */
static bool newer_than(const struct proc *p, const struct ledger_map *e, uint64_t ns)
{
	return e->ns ? e->ns > ns : p->maps_scan_ns && e->seen_ns > ns;
}

/* Adds the details of `m` to the matching entry `i`. Copies a shared table only if there is
 * something to add. */
static void complete(struct ledger *l, struct proc *p, uint32_t i, const struct ledger_map *m)
{
	const struct ledger_map *e = p->maps->v[i];
	bool time = m->ns && (e->seen_ns > m->ns || e->ns > m->ns);
	bool build_id = m->path->build_id_bytes && !e->path->build_id_bytes;
	bool file = m->ino && !e->ino;
	struct maps *t;
	struct ledger_map *mine;

	if (!time && !build_id && !file)
		return;
	t = maps_own(l, p);
	if (!t)
		return;
	mine = t->v[i];
	if (time) {
		mine->ns = m->ns;
		mine->seen_ns = 0; /* a record has confirmed it */
	}
	if (build_id) {
		paths_put(&l->paths, mine->path);
		mine->path = path_ref(m->path);
	}
	if (file) {
		mine->maj = m->maj;
		mine->min = m->min;
		mine->ino = m->ino;
	}
}

/* Ends mappings older than `m` within its range, from entry `i` on, the first to end above
 * m->start. */
static void cut_older(struct ledger *l, struct proc *p, uint32_t i, const struct ledger_map *m,
		      uint64_t ns)
{
	struct maps *t = p->maps;

	while (i < t->nr && t->v[i]->start < m->end) {
		struct ledger_map was = *t->v[i], part = clip(&was, m->start, m->end);

		if (newer_than(p, &was, ns)) {
			i++;
			continue;
		}
		path_ref(was.path);
		note_ended(l, p, &part, ns);
		remove_at(l, t, i);
		if (was.start < m->start) {
			part = clip(&was, 0, m->start);
			insert_at(l, t, i++, &part);
		}
		if (was.end > m->end) {
			part = clip(&was, m->end, UINT64_MAX);
			insert_at(l, t, i++, &part);
		}
		paths_put(&l->paths, was.path);
	}
}

/* Inserts `m` where its range is free. Where a newer mapping is, `m` is noted as ended when that
 * one began. */
static void fill(struct ledger *l, struct proc *p, const struct ledger_map *m)
{
	struct maps *t = p->maps;
	uint64_t at = m->start;
	uint32_t i = maps_find(t, at);
	struct ledger_map part;

	while (at < m->end) {
		bool gap = i == t->nr || t->v[i]->start > at;
		uint64_t to = i == t->nr ? m->end : gap ? t->v[i]->start : t->v[i]->end;

		part = clip(m, at, to);
		at = part.end;
		if (!gap)
			note_ended(l, p, &part, t->v[i]->ns ? t->v[i]->ns : t->v[i]->seen_ns);
		else
			insert_at(l, t, i, &part);
		i = maps_find(t, at);
	}
}

void maps_add(struct ledger *l, struct proc *p, struct ledger_map *m)
{
	uint64_t ns = m->ns ? m->ns : m->seen_ns;
	struct maps *t = p->maps;
	uint32_t i = 0;

	if (m->end <= m->start)
		goto out;
	if (t) {
		i = maps_find(t, m->start);
		if (i < t->nr && same_map(t->v[i], m)) {
			complete(l, p, i, m);
			goto out;
		}
	}
	t = maps_own(l, p);
	if (!t)
		goto out;
	if (i < t->nr && t->v[i]->start < m->end) {
		cut_older(l, p, i, m, ns);
		fill(l, p, m);
	} else {
		insert_at(l, t, i, m);
	}
out:
	paths_put(&l->paths, m->path);
}
