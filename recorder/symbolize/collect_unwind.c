// SPDX-License-Identifier: MIT
/*
 * Unwinds samples when the dump is made; see collect_unwind.h. Called by collect_live.c.
 *
 *	sample ──▶ unwind ──▶ callers ──▶ hits
 *	             │ ▲
 *	     mapping ▼ │ rule, kept by image
 *	           file ──▶ rulefile
 */
#include "recorder/symbolize/collect_unwind.h"

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/view/symbols/call_sites.h"
#include "dump/base/elf.h"
#include "dump/base/hash.h"
#include "dump/view/cfi/elf_rules.h"
#include "dump/view/symbols/symbol_notes.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define NR_NONE	  4096 /* slots for places without a rule, a power of two */
#define MAX_OPEN  32
#define MAX_TRIES 4
#define NO_IMAGE  UINT32_MAX
#define MAX_DATA  SYMNOTES_MAX_DATA

#define MAX_CONCLUDED	10000
#define MAX_FRAME_BYTES 8192
#define MIN_CODE	4096

/* A file with one identity; its index is the group of its rules. */
struct unwind_image {
	struct addresses_image h; /* mappings[0]: of the process of the last request */
	unsigned nr_tries;	  /* attempts to open it, each for another process */
	uint64_t used;
	struct elf *elf; /* NULL: not open */
	struct elf_rules *file;
	struct call_sites *calls; /* NULL: not loaded yet, or none */
	struct elf_segment data[MAX_DATA];
	size_t nr_data;
};

struct unwind_place {
	uint32_t image;	   /* +1; 0: free */
	uint32_t nr_tries; /* attempts to derive a rule */
	uint64_t at;
};

struct collect_unwind {
	const struct collect_unwind_options *opt;
	struct buf images; /* struct unwind_image[] */
	struct hash by_image;
	struct unwind_rules *rules;
	struct unwind_place none[NR_NONE];
	uint64_t nr_asked;
	unsigned nr_open;
	size_t nr_concluded;
};

static struct unwind_image *image_at(const struct collect_unwind *u, size_t i)
{
	return (struct unwind_image *)u->images.p + i;
}

/* ---- files ---- */

static void close_image(struct collect_unwind *u, struct unwind_image *i)
{
	if (!i->file)
		return;
	call_sites_free(i->calls);
	elf_rules_close(i->file);
	elf_close(i->elf);
	i->file = NULL;
	i->elf = NULL;
	i->calls = NULL;
	u->nr_open--;
}

static void close_oldest(struct collect_unwind *u)
{
	struct unwind_image *oldest = NULL;

	for (size_t i = 0; i < u->by_image.nr; i++) {
		struct unwind_image *v = image_at(u, i);

		if (v->file && (!oldest || v->used < oldest->used))
			oldest = v;
	}
	if (oldest)
		close_image(u, oldest);
}

/* Tries again for another process, since the path may be missing or another file for this one. */
static bool open_image(struct collect_unwind *u, struct unwind_image *i,
		       const struct history_map *map)
{
	struct addresses_mapping *m = &i->h.mappings[0];

	i->used = ++u->nr_asked;
	if (i->file)
		return true;
	if (i->nr_tries >= MAX_TRIES || (i->nr_tries && m->key == map->f.key))
		return false;
	*m = (struct addresses_mapping){map->f.key, map->f.start, map->f.end};
	if (u->nr_open >= MAX_OPEN)
		close_oldest(u);
	if (u->opt->open(u->opt->ctx, &i->h, &i->elf)) {
		i->nr_tries++;
		return false;
	}
	if (elf_rules_open(i->elf, &i->file)) {
		elf_close(i->elf);
		i->nr_tries = MAX_TRIES;
		return false;
	}
	i->nr_data = elf_data_segments(i->elf, i->data, MAX_DATA);
	u->nr_open++;
	i->nr_tries = 0;
	m->key = 0;
	if (!i->h.f.build_id_bytes)
		i->h.f.build_id_bytes = (uint8_t)elf_build_id(i->elf, i->h.f.build_id);
	return true;
}

/* ---- images ---- */

static bool is_of(const struct unwind_image *i, const struct history_map *map)
{
	const struct fmt_image *f = &i->h.f;

	return i->h.path == map->path && f->ino == map->f.ino && f->maj == map->f.maj &&
	       f->min == map->f.min &&
	       (!map->build_id_bytes || !memcmp(f->build_id, map->build_id, map->build_id_bytes));
}

static uint32_t image_of(struct collect_unwind *u, const struct history_map *map)
{
	uint64_t hash = hash_mix((uintptr_t)map->path, map->f.ino);
	struct unwind_image new = {.h = {.path = map->path, .nr_mappings = 1}};
	uint32_t at = 0, i;

	while (hash_next(&u->by_image, hash, &at, &i))
		if (is_of(image_at(u, i), map))
			return i;
	new.h.f = (struct fmt_image){.kind = FMT_IMAGE_FILE,
				     .build_id_bytes = map->build_id_bytes,
				     .ino = map->f.ino,
				     .maj = map->f.maj,
				     .min = map->f.min};
	if (map->build_id_bytes)
		memcpy(new.h.f.build_id, map->build_id, map->build_id_bytes);
	if (buf_reserve(&u->images, sizeof(new)) || hash_add(&u->by_image, hash))
		return NO_IMAGE;
	buf_put(&u->images, &new, sizeof(new));
	return u->by_image.nr - 1;
}

/* ---- rules from files ---- */

static struct unwind_place *none_at(struct collect_unwind *u, uint32_t image, uint64_t at)
{
	return &u->none[hash_mix(at, (uint64_t)image << 40) & (NR_NONE - 1)];
}

static const struct unwind_rule *find(void *ctx, const struct history_map *map, uint64_t at)
{
	struct collect_unwind *u = ctx;
	uint32_t image = image_of(u, map);
	const struct unwind_rule *r;
	struct cfi_rule found;
	struct unwind_place *none;

	if (image == NO_IMAGE)
		return NULL;
	r = unwind_rules_find(u->rules, image, at);
	none = none_at(u, image, at);
	if (r || (none->image == image + 1 && none->at == at) ||
	    !open_image(u, image_at(u, image), map))
		return r;
	if (elf_rules_find(image_at(u, image)->file, at, &found) &&
	    !unwind_rules_add(u->rules, image, &found, &r))
		return r;
	*none = (struct unwind_place){.image = image + 1, .at = at};
	return NULL;
}

/* ---- places without a rule in a file ---- */

/* The image's calls. May close other images that are not in use. */
static const struct call_sites *calls_of(struct collect_unwind *u, uint32_t image,
					 const struct history_map *map)
{
	struct unwind_image *i = image_at(u, image);

	if (!open_image(u, i, map))
		return NULL;
	if (!i->calls)
		i->calls = call_sites_new(i->elf);
	return i->calls;
}

struct unwind_callee {
	struct collect_unwind *u;
	const struct unwind_top *top;
	const struct history_map *map;
	uint32_t image;
	uint64_t place;
};

/* True at a place where the kernel makes signal handlers return to; it has no call before it. */
static bool ends_handler(struct collect_unwind *u, const struct history_map *map, uint64_t place)
{
	const struct unwind_rule *r = place ? find(u, map, place - 1) : NULL;

	return r && r->r.flags & CFI_SIGNAL && place == r->r.start + 1;
}

/* Whether the word at `off` of the stack is a return address from a call to this code. */
static enum call_sites_answer returns(const struct unwind_callee *c, uint64_t off)
{
	const struct call_sites *to, *from;
	struct history_map map;
	enum call_sites_answer answer;
	uint32_t image;
	uint64_t ip;

	if (!span_fits(off, sizeof(ip), c->top->stack.len))
		return CALLS_NO;
	memcpy(&ip, c->top->stack.p + off, sizeof(ip));
	if (ip < MIN_CODE || ip >> 63 || !c->top->where(c->top->arg, ip - 1, &map))
		return CALLS_NO;
	image = image_of(c->u, &map);
	to = calls_of(c->u, c->image, c->map);
	from = to && image != NO_IMAGE ? calls_of(c->u, image, &map) : NULL;
	if (!from)
		return CALLS_NO;
	ip += map.f.pgoff - map.f.start;
	answer = call_sites_lead(from, ip, to, c->place);
	return answer == CALLS_NO && ends_handler(c->u, &map, ip) ? CALLS_MAYBE : answer;
}

/* Adds a rule: the return address is `off` bytes up the stack. It is valid for this place only,
 * since the stack depth differs at other places of the function. */
static const struct unwind_rule *put_concluded(const struct unwind_callee *c, uint64_t off)
{
	uint8_t program[8] = {0x0c, 7, (uint8_t)((off + 8) | 0x80), (uint8_t)((off + 8) >> 7),
			      0x90, 1};
	const struct cfi_rule r = {.start = c->place,
				   .bytes = 1,
				   .code_align = 1,
				   .data_align = -8,
				   .return_register = 16,
				   .initial = {program, 6}};
	const struct unwind_rule *out = NULL;

	if (c->u->nr_concluded < MAX_CONCLUDED &&
	    !unwind_rules_add(c->u->rules, c->image, &r, &out))
		c->u->nr_concluded++;
	return out;
}

/*
 * Finds the first word on the stack that is proven to be a return address from a call to this code.
 * Gives up if a possible one precedes it, since return addresses of earlier calls are still on the
 * stack. Not needed for code with frame pointers, which are valid at all its places.
 */
static const struct unwind_rule *scan(const struct unwind_callee *c, const struct call_sites *to)
{
	bool asked = false;

	for (uint64_t off = 0; off < MAX_FRAME_BYTES && off < c->top->stack.len; off += 8) {
		switch (returns(c, off)) {
		case CALLS_NO:
			break;
		case CALLS_YES:
			return put_concluded(c, off);
		case CALLS_MAYBE:
			if (!asked && call_sites_by_pointer(to, c->place))
				return NULL;
			asked = true;
			break;
		}
	}
	return NULL;
}

static const struct unwind_rule *conclude(void *ctx, const struct history_map *map, uint64_t place,
					  const struct unwind_top *top)
{
	struct collect_unwind *u = ctx;
	struct unwind_callee c = {u, top, map, image_of(u, map), place};
	struct unwind_place *none = c.image == NO_IMAGE ? NULL : none_at(u, c.image, place);
	const struct call_sites *to;

	if (!none || none->image != c.image + 1 || none->at != place ||
	    none->nr_tries++ >= MAX_TRIES)
		return NULL;
	to = calls_of(u, c.image, map);
	if (!to || (!(top->bp & 7) && returns(&c, top->bp + 8) == CALLS_YES))
		return NULL;
	return scan(&c, calls_of(u, c.image, map));
}

/* ---- entry point ---- */

static void add_chain(struct addresses *h, const struct timeline_record *rec,
		      const struct unwind_chain *c)
{
	for (size_t i = 0; i < c->nr; i++)
		addresses_add_user(h, rec->tid, rec->time_ns,
				   c->frames[i].ip - !c->frames[i].exact);
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
		      struct unwind *w, uint64_t channels, struct addresses *hits, struct err *err)
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

int collect_unwind(struct reader *r, const struct meta *m, const struct process_history *p,
		   const struct collect_unwind_options *opt, struct addresses *hits,
		   struct collect_unwind **out, struct err *err)
{
	struct collect_unwind *u = calloc(1, sizeof(*u));
	uint64_t channels = channels_of(m);
	struct unwind *w = NULL;
	int rc = -ENOMEM;

	if (u)
		u->rules = unwind_rules_new();
	if (!u || !u->rules) {
		err_set(err, rc, "out of memory to unwind stacks");
		goto fail;
	}
	u->opt = opt;
	rc = unwind_new(p, &(struct unwind_source){find, conclude, u}, &w, err);
	if (!rc && channels)
		rc = unwind_all(u, r, m, w, channels, hits, err);
	unwind_free(w);
	for (size_t i = 0; i < u->by_image.nr; i++)
		close_image(u, image_at(u, i));
	if (rc)
		goto fail;
	*out = u;
	return 0;
fail:
	collect_unwind_free(u);
	return rc;
}

static void put_image(const struct unwind_image *i, struct symbols_writer *put)
{
	symbols_writer_image(put, &i->h.f, i->h.path);
	for (size_t k = 0; k < i->nr_data; k++)
		symbols_writer_segment(put, FMT_SEGMENT_DATA, &i->data[k]);
}

void collect_unwind_put(const struct collect_unwind *u, struct symbols_writer *put)
{
	uint32_t last = NO_IMAGE;
	const struct unwind_rule *r;

	for (size_t i = 0; (r = unwind_rules_in_order(u->rules, i)); i++) {
		if (r->group != last)
			put_image(image_at(u, r->group), put);
		last = r->group;
		symbols_writer_rule(put, &r->r);
	}
}

void collect_unwind_free(struct collect_unwind *u)
{
	if (!u)
		return;
	unwind_rules_free(u->rules);
	buf_free(&u->images);
	hash_free(&u->by_image);
	free(u);
}
