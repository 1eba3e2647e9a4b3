// SPDX-License-Identifier: MIT
/* Interned paths; see path_table.h. A chained hash table that doubles when there are more entries
 * than buckets. */
#include "recorder/ledger/path_table.h"

#include "dump/base/hash.h"

#include "recorder/ledger/pinned.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC_OVERHEAD 16 /* malloc's own, so that the bound covers real memory */

static size_t entry_bytes(uint32_t len)
{
	return sizeof(struct path) + len + 1 + ALLOC_OVERHEAD;
}

static void grow(struct paths *p)
{
	size_t nr = p->nr_buckets ? p->nr_buckets * 2 : 64;
	struct path **b = calloc(nr, sizeof(*b)), *e, *next;

	if (!b)
		return; /* without memory the chains just get longer */
	for (size_t i = 0; i < p->nr_buckets; i++) {
		for (e = p->buckets[i]; e; e = next) {
			next = e->next;
			e->next = b[e->hash & (nr - 1)];
			b[e->hash & (nr - 1)] = e;
		}
	}
	free(p->buckets);
	p->bytes += (nr - p->nr_buckets) * sizeof(*b);
	p->buckets = b;
	p->nr_buckets = nr;
}

static bool same(const struct path *e, uint32_t hash, const char *text, size_t len,
		 const struct path_file *f)
{
	return e->hash == hash && e->len == len && e->build_id_bytes == f->build_id_bytes &&
	       e->ino == f->ino && e->maj == f->maj && e->min == f->min &&
	       !memcmp(e->text, text, len) && !memcmp(e->build_id, f->build_id, f->build_id_bytes);
}

static uint32_t hash_of(const char *text, size_t len, const struct path_file *f)
{
	uint64_t hash = hash_bytes(f->ino, text, len);

	return (uint32_t)hash_bytes(hash, f->build_id, f->build_id_bytes);
}

static struct path *make(const char *text, size_t len, const struct path_file *f)
{
	struct path *e = calloc(1, sizeof(*e) + len + 1);

	if (!e)
		return NULL;
	e->refs = 1;
	e->len = len;
	e->maj = f->maj;
	e->min = f->min;
	e->ino = f->ino;
	e->build_id_bytes = f->build_id_bytes;
	memcpy(e->build_id, f->build_id, f->build_id_bytes);
	memcpy(e->text, text, len);
	return e;
}

struct path *paths_get(struct paths *p, const char *text, size_t len, const struct path_file *file)
{
	struct path_file f = file ? *file : (struct path_file){0};
	struct path *e;
	uint32_t hash;

	if (f.build_id_bytes > sizeof(f.build_id))
		f.build_id_bytes = 0;
	hash = hash_of(text, len, &f);
	if (p->nr >= p->nr_buckets)
		grow(p);
	if (!p->nr_buckets)
		return NULL;
	for (e = p->buckets[hash & (p->nr_buckets - 1)]; e; e = e->next) {
		if (same(e, hash, text, len, &f))
			return path_ref(e);
	}
	e = make(text, len, &f);
	if (!e)
		return NULL;
	e->hash = hash;
	e->next = p->buckets[hash & (p->nr_buckets - 1)];
	p->buckets[hash & (p->nr_buckets - 1)] = e;
	p->nr++;
	p->bytes += entry_bytes(e->len);
	return e;
}

void paths_put(struct paths *p, struct path *e)
{
	struct path **at;

	if (!e || --e->refs)
		return;
	for (at = &p->buckets[e->hash & (p->nr_buckets - 1)]; *at != e; at = &(*at)->next)
		;
	*at = e->next;
	pinned_drop(p->keep, e);
	p->nr--;
	p->bytes -= entry_bytes(e->len);
	free(e);
}

void paths_free(struct paths *p)
{
	struct path *e, *next;

	for (size_t i = 0; i < p->nr_buckets; i++) {
		for (e = p->buckets[i]; e; e = next) {
			next = e->next;
			free(e);
		}
	}
	free(p->buckets);
	*p = (struct paths){0};
}
