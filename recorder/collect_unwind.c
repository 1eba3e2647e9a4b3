// SPDX-License-Identifier: MIT
/*
 * Samples to callers at the time of the dump; see collect_unwind.h. Called by collect_live.c.
 *
 *	sample ──▶ unwind ──▶ callers ──▶ hits
 *	             │ ▲
 *	     mapping ▼ │ rule, kept by image
 *	           file ──▶ rulefile
 */
#include "recorder/collect_unwind.h"

#include "dump/base/err.h"
#include "dump/meta.h"
#include "dump/view/elf.h"
#include "dump/view/rulefile.h"
#include "dump/view/timeline.h"
#include "dump/view/unwind.h"
#include "recorder/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define NR_SLOTS  1024 /* of images, a power of two */
#define NR_NONE	  4096 /* places known to have no rule, a power of two */
#define MAX_OPEN  32
#define MAX_TRIES 4
#define NO_IMAGE  UINT32_MAX

/* A file with one identity; its number is the rules' group. */
struct image {
	struct hits_image h; /* mappings[0]: of whom asked last */
	uint32_t next;	     /* in its slot */
	unsigned nr_tries;   /* to open it, each for another process */
	uint64_t used;
	struct elf *elf, *debug; /* NULL: not open */
	struct rulefile *file;
};

struct place {
	uint32_t image; /* +1; 0: free */
	uint64_t at;
};

struct collect_unwind {
	const struct collect_unwind_options *opt;
	struct buf images; /* struct image[] */
	size_t nr;
	uint32_t slots[NR_SLOTS];
	struct rules *rules;
	struct place none[NR_NONE];
	uint64_t nr_asked;
	unsigned nr_open;
};

static struct image *image_at(const struct collect_unwind *u, size_t i)
{
	return (struct image *)u->images.p + i;
}

/* ---- files ---- */

static void close_image(struct collect_unwind *u, struct image *i)
{
	if (!i->file)
		return;
	rulefile_close(i->file);
	elf_close(i->debug);
	elf_close(i->elf);
	i->file = NULL;
	i->elf = i->debug = NULL;
	u->nr_open--;
}

static void close_oldest(struct collect_unwind *u)
{
	struct image *oldest = NULL;

	for (size_t i = 0; i < u->nr; i++) {
		struct image *v = image_at(u, i);

		if (v->file && (!oldest || v->used < oldest->used))
			oldest = v;
	}
	if (oldest)
		close_image(u, oldest);
}

/* What is there may be another file for another process, or none. */
static bool open_image(struct collect_unwind *u, struct image *i, const struct people_map *map)
{
	struct hits_mapping *m = &i->h.mappings[0];

	i->used = ++u->nr_asked;
	if (i->file)
		return true;
	if (i->nr_tries >= MAX_TRIES || (i->nr_tries && m->key == map->f.key))
		return false;
	*m = (struct hits_mapping){map->f.key, map->f.start, map->f.end};
	if (u->nr_open >= MAX_OPEN)
		close_oldest(u);
	if (u->opt->open(u->opt->ctx, &i->h, &i->elf, &i->debug)) {
		i->nr_tries++;
		return false;
	}
	if (rulefile_open(i->elf, i->debug, &i->file)) {
		elf_close(i->debug);
		elf_close(i->elf);
		i->nr_tries = MAX_TRIES;
		return false;
	}
	u->nr_open++;
	i->nr_tries = 0;
	m->key = 0;
	if (!i->h.f.build_id_bytes)
		i->h.f.build_id_bytes = (uint8_t)elf_build_id(i->elf, i->h.f.build_id);
	return true;
}

/* ---- images ---- */

static uint32_t *slot_of(struct collect_unwind *u, const struct people_map *map)
{
	uint64_t hash = ((uintptr_t)map->path >> 3 ^ map->f.ino) * 0x9e3779b97f4a7c15ull;

	return &u->slots[hash >> 32 & (NR_SLOTS - 1)];
}

static bool is_of(const struct image *i, const struct people_map *map)
{
	const struct fmt_image *f = &i->h.f;

	return i->h.path == map->path && f->ino == map->f.ino && f->maj == map->f.maj &&
	       f->min == map->f.min &&
	       (!map->build_id_bytes || !memcmp(f->build_id, map->build_id, map->build_id_bytes));
}

static uint32_t image_of(struct collect_unwind *u, const struct people_map *map)
{
	uint32_t *slot = slot_of(u, map);
	struct image new = {.h = {.path = map->path, .nr_mappings = 1}, .next = *slot};

	for (uint32_t i = *slot; i != NO_IMAGE; i = image_at(u, i)->next)
		if (is_of(image_at(u, i), map))
			return i;
	new.h.f = (struct fmt_image){.kind = FMT_IMAGE_FILE,
				     .build_id_bytes = map->build_id_bytes,
				     .ino = map->f.ino,
				     .maj = map->f.maj,
				     .min = map->f.min};
	if (map->build_id_bytes)
		memcpy(new.h.f.build_id, map->build_id, map->build_id_bytes);
	if (buf_put(&u->images, &new, sizeof(new)))
		return NO_IMAGE;
	*slot = (uint32_t)u->nr++;
	return *slot;
}

/* ---- rules ---- */

static struct place *none_at(struct collect_unwind *u, uint32_t image, uint64_t at)
{
	uint64_t hash = (at ^ (uint64_t)image << 40) * 0x9e3779b97f4a7c15ull;

	return &u->none[hash >> 32 & (NR_NONE - 1)];
}

static const struct rule *find(void *ctx, const struct people_map *map, uint64_t at)
{
	struct collect_unwind *u = ctx;
	uint32_t image = image_of(u, map);
	const struct rule *r;
	struct cfi_rule found;
	struct place *none;

	if (image == NO_IMAGE)
		return NULL;
	r = rules_find(u->rules, image, at);
	none = none_at(u, image, at);
	if (r || (none->image == image + 1 && none->at == at) ||
	    !open_image(u, image_at(u, image), map))
		return r;
	if (rulefile_find(image_at(u, image)->file, at, &found) &&
	    !rules_add(u->rules, image, &found, &r))
		return r;
	*none = (struct place){image + 1, at};
	return NULL;
}

/* ---- all samples ---- */

static void add_chain(struct hits *h, const struct timeline_record *rec,
		      const struct unwind_chain *c)
{
	for (size_t i = 0; i < c->nr; i++)
		hits_add_user(h, rec->tid, rec->time_ns, c->frames[i].ip - !c->frames[i].exact);
}

static uint64_t channels_of(const struct meta *m)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	uint64_t channels = 0;

	for (size_t i = 0; i < m->nr_channels && i < 64; i++)
		if ((m->channels[i].f.sample_type & both) == both)
			channels |= 1ull << i;
	return channels;
}

static int unwind_all(struct collect_unwind *u, struct reader *r, const struct meta *m,
		      struct unwind *w, uint64_t channels, struct hits *hits, struct err *err)
{
	const struct timeline_options opt = {.to_ns = UINT64_MAX, .channels = channels, .cpu = -1};
	struct timeline *t;
	struct timeline_record rec;
	int rc = timeline_open(r, m, &opt, &t, err);

	if (rc)
		return rc;
	while ((rc = timeline_next(t, &rec, err)) > 0) {
		struct unwind_chain c;

		if (u->opt->deadline_ns && clock_ns() >= u->opt->deadline_ns) {
			rc = 0;
			break;
		}
		if (!unwind_has(&rec))
			continue;
		unwind_sample(w, &rec, &c);
		add_chain(hits, &rec, &c);
	}
	timeline_close(t);
	return rc;
}

int collect_unwind(struct reader *r, const struct meta *m, const struct people *p,
		   const struct collect_unwind_options *opt, struct hits *hits,
		   struct collect_unwind **out, struct err *err)
{
	struct collect_unwind *u = calloc(1, sizeof(*u));
	uint64_t channels = channels_of(m);
	struct unwind *w = NULL;
	int rc = -ENOMEM;

	if (u)
		u->rules = rules_new();
	if (!u || !u->rules) {
		err_set(err, rc, "out of memory to unwind stacks");
		goto fail;
	}
	u->opt = opt;
	for (size_t i = 0; i < NR_SLOTS; i++)
		u->slots[i] = NO_IMAGE;
	rc = unwind_new(p, &(struct unwind_source){u->rules, find, u}, &w, err);
	if (!rc && channels)
		rc = unwind_all(u, r, m, w, channels, hits, err);
	unwind_free(w);
	for (size_t i = 0; i < u->nr; i++)
		close_image(u, image_at(u, i));
	if (rc)
		goto fail;
	*out = u;
	return 0;
fail:
	collect_unwind_free(u);
	return rc;
}

void collect_unwind_put(const struct collect_unwind *u, struct symput *put)
{
	uint32_t last = NO_IMAGE;
	const struct rule *r;

	for (size_t i = 0; (r = rules_in_order(u->rules, i)); i++) {
		const struct hits_image *h = &image_at(u, r->group)->h;

		if (r->group != last)
			symput_image(put, &h->f, h->path);
		last = r->group;
		symput_rule(put, &r->r);
	}
}

void collect_unwind_free(struct collect_unwind *u)
{
	if (!u)
		return;
	rules_free(u->rules);
	buf_free(&u->images);
	free(u);
}
