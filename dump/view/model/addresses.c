// SPDX-License-Identifier: MIT
/*
 * The set of addresses of a dump; see addresses.h. Called by whatever collects symbols.
 *
 *	record ─▶ address, thread, time ─▶ cache ─▶ history_where() ─▶ image, place ─▶ hash table
 *
 * Records repeat addresses, so the cache maps a thread and an address to its place, for as long as
 * the ledger's answer holds.
 */
#include "dump/view/model/addresses.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "dump/file/meta.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define NR_SLOTS   8192 /* a power of two */
#define MAX_IMAGES 16384
#define NOWHERE	   UINT32_MAX

/* Cache: the place of a thread's address, and the time for which it holds. */
struct address_slot {
	struct history_span span;
	uint64_t addr;
	uint32_t tid;
	uint32_t place; /* its index + 1; 0: free */
};

struct addresses {
	const struct process_history *history;
	struct address_slot *slots;
	struct buf images, places; /* addresses_image[], addresses_place[] */
	struct hash by_image, by_place;
	size_t max_places;
	uint64_t nr_dropped;
};

static struct addresses_image *image_at(const struct addresses *h, size_t i)
{
	return (struct addresses_image *)h->images.p + i;
}

static struct addresses_place *place_at(const struct addresses *h, size_t i)
{
	return (struct addresses_place *)h->places.p + i;
}

int addresses_new(const struct process_history *p, size_t max_places, struct addresses **out,
		  struct err *err)
{
	struct addresses *h = calloc(1, sizeof(*h));

	if (h)
		h->slots = calloc(NR_SLOTS, sizeof(*h->slots));
	if (!h || !h->slots) {
		addresses_free(h);
		return err_set(err, -ENOMEM, "out of memory for the addresses of the dump");
	}
	h->history = p;
	h->max_places = max_places < UINT32_MAX ? max_places : UINT32_MAX - 1;
	*out = h;
	return 0;
}

void addresses_free(struct addresses *h)
{
	if (!h)
		return;
	free(h->slots);
	hash_free(&h->by_image);
	hash_free(&h->by_place);
	buf_free(&h->images);
	buf_free(&h->places);
	free(h);
}

/* ---- tables ---- */

static uint64_t hash_image(const struct addresses_image *i)
{
	uint64_t hash = hash_mix(i->f.kind, i->f.key), part = 0;

	hash = hash_mix(hash, i->f.ino);
	hash = hash_mix(hash, (uint64_t)i->f.maj << 32 | i->f.min);
	memcpy(&part, i->f.build_id, sizeof(part));
	/* Interned: equal texts are equal pointers. */
	return hash_mix(hash_mix(hash, part), (uintptr_t)i->path);
}

static bool same_image(const struct addresses_image *x, const struct addresses_image *y)
{
	return x->path == y->path && x->f.kind == y->f.kind && x->f.key == y->f.key &&
	       x->f.ino == y->f.ino && x->f.maj == y->f.maj && x->f.min == y->f.min &&
	       x->f.ino_generation == y->f.ino_generation &&
	       x->f.build_id_bytes == y->f.build_id_bytes &&
	       !memcmp(x->f.build_id, y->f.build_id, sizeof(x->f.build_id));
}

/* ---- adding ---- */

static uint32_t intern_image(struct addresses *h, struct addresses_image *like)
{
	uint64_t hash = hash_image(like);
	uint32_t at = 0, i;

	while (hash_next(&h->by_image, hash, &at, &i))
		if (same_image(image_at(h, i), like))
			return i;
	like->f.id = h->by_image.nr;
	if (like->f.id == MAX_IMAGES || buf_reserve(&h->images, sizeof(*like)) ||
	    hash_add(&h->by_image, hash))
		return NOWHERE;
	buf_put(&h->images, like, sizeof(*like));
	return like->f.id;
}

/* The index + 1 of the place; 0: dropped. */
static uint32_t intern_place(struct addresses *h, const struct addresses_place *like)
{
	uint64_t hash = hash_mix(hash_mix(0, like->image), like->at);
	uint32_t at = 0, i;

	if (like->image == NOWHERE)
		return 0;
	while (hash_next(&h->by_place, hash, &at, &i))
		if (place_at(h, i)->image == like->image && place_at(h, i)->at == like->at)
			return i + 1;
	if (h->by_place.nr >= h->max_places || buf_reserve(&h->places, sizeof(*like)) ||
	    hash_add(&h->by_place, hash))
		return 0;
	buf_put(&h->places, like, sizeof(*like));
	return h->by_place.nr;
}

static void count(struct addresses *h, uint32_t place)
{
	if (place)
		place_at(h, place - 1)->nr++;
	else
		h->nr_dropped++;
}

static void note_mapping(struct addresses_image *i, const struct fmt_map *m)
{
	uint32_t n = i->nr_mappings;

	if (m->end_ns && m->end_ns != UINT64_MAX)
		return;
	for (uint32_t k = 0; k < n; k++)
		if (i->mappings[k].key == m->key && i->mappings[k].start == m->start)
			return;
	if (n < HITS_MAX_MAPPINGS) {
		i->mappings[n] = (struct addresses_mapping){m->key, m->start, m->end};
		i->nr_mappings++;
	}
}

bool addresses_is_file(const char *path)
{
	return !strcmp(path, "[vdso]") ||
	       (path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) &&
		strncmp(path, "/dev/zero", 9) && strncmp(path, "/SYSV", 5));
}

static uint32_t image_of_file(struct addresses *h, const struct history_map *map)
{
	struct addresses_image like = {.path = map->path};
	uint32_t i;

	like.f.kind = FMT_IMAGE_FILE;
	like.f.ino = map->f.ino;
	like.f.ino_generation = map->f.ino_generation;
	like.f.maj = map->f.maj;
	like.f.min = map->f.min;
	like.f.build_id_bytes = map->build_id_bytes;
	if (map->build_id_bytes)
		memcpy(like.f.build_id, map->build_id, map->build_id_bytes);
	i = intern_image(h, &like);
	if (i != NOWHERE)
		note_mapping(image_at(h, i), &map->f);
	return i;
}

static uint32_t image_of_task(struct addresses *h, uint32_t key)
{
	struct addresses_image like = {.path = ""};

	like.f.kind = FMT_IMAGE_TASK;
	like.f.key = key;
	return intern_image(h, &like);
}

/* The key of the process of `tid`; 0: unknown. */
static uint32_t process_of(const struct addresses *h, uint32_t tid, uint64_t ns)
{
	const struct fmt_task *t = history_task(h->history, tid, ns);

	if (t && t->pid != t->tid)
		t = history_task(h->history, t->pid, ns);
	return t ? t->key : 0;
}

static uint32_t find_user(struct addresses *h, uint32_t tid, uint64_t ns, uint64_t addr,
			  struct history_span *span)
{
	struct addresses_place like = {.at = addr, .addr = addr, .ns = ns, .tid = tid};
	struct history_map map;

	if (!history_where(h->history, tid, ns, addr, &map, span)) {
		like.image = image_of_task(h, process_of(h, tid, ns));
	} else if (addresses_is_file(map.path)) {
		like.image = image_of_file(h, &map);
		like.at = addr - map.f.start + map.f.pgoff;
	} else {
		like.image = image_of_task(h, map.f.key);
	}
	return intern_place(h, &like);
}

static struct address_slot *slot_of(const struct addresses *h, uint64_t addr, uint32_t tid)
{
	return &h->slots[hash_mix(hash_mix(0, addr), tid) >> 32 & (NR_SLOTS - 1)];
}

void addresses_add_user(struct addresses *h, uint32_t tid, uint64_t ns, uint64_t addr)
{
	struct address_slot *k = slot_of(h, addr, tid);

	if (!k->place || k->addr != addr || k->tid != tid || k->span.from_ns > ns ||
	    ns > k->span.to_ns) {
		*k = (struct address_slot){.addr = addr, .tid = tid};
		k->place = find_user(h, tid, ns, addr, &k->span);
	}
	count(h, k->place);
}

void addresses_add_kernel(struct addresses *h, uint64_t ns, uint64_t addr)
{
	struct address_slot *k = slot_of(h, addr, UINT32_MAX);
	struct addresses_image image = {.path = "[kernel.kallsyms]"};
	struct addresses_place like = {.at = addr, .addr = addr, .ns = ns, .tid = UINT32_MAX};

	if (!k->place || k->addr != addr || k->tid != UINT32_MAX) {
		*k = (struct address_slot){.addr = addr, .tid = UINT32_MAX};
		image.f.kind = FMT_IMAGE_KERNEL;
		like.image = intern_image(h, &image);
		k->place = intern_place(h, &like);
	}
	count(h, k->place);
}

/* ---- records ---- */

static void add(struct addresses *h, const struct timeline_record *rec, uint64_t addr, bool kernel)
{
	if (kernel)
		addresses_add_kernel(h, rec->time_ns, addr);
	else if (rec->tid != UINT32_MAX)
		addresses_add_user(h, rec->tid, rec->time_ns, addr);
}

/* Adds the addresses in one record. */
static void add_record(struct addresses *h, const struct timeline_record *rec)
{
	struct record_walk w = {0};

	if (rec->s.have & PERF_SAMPLE_IP)
		add(h, rec, rec->s.ip, record_kernel_address(rec->s.ip));
	while (record_next_ip(&rec->s, &w))
		add(h, rec, w.ip - (w.ip && w.caller), w.kernel);
}

/* The channels with addresses in their samples, as a bit mask; 0: none. */
static uint64_t channels_with_addresses(const struct meta *m)
{
	const uint64_t want = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER;
	uint64_t set = 0;

	for (size_t i = 0; i < m->nr_channels && i < 64; i++)
		if (m->channels[i].f.sample_type & want)
			set |= 1ull << i;
	return set;
}

int addresses_read(struct addresses *h, struct reader *r, const struct meta *m, struct err *err)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t;
	int rc;

	opt.channels = channels_with_addresses(m);
	if (!opt.channels)
		return 0;
	rc = timeline_open(r, m, &opt, &t, err);
	if (rc)
		return rc;
	while ((rc = timeline_next(t, &rec, err)) > 0)
		add_record(h, &rec);
	timeline_close(t);
	return rc;
}

/* ---- order ---- */

static int compare_images(const void *a, const void *b)
{
	const struct addresses_image *x = a, *y = b;

	if (x->nr_hits != y->nr_hits)
		return x->nr_hits > y->nr_hits ? -1 : 1;
	return x->f.id < y->f.id ? -1 : x->f.id > y->f.id;
}

static int compare_places(const void *a, const void *b)
{
	const struct addresses_place *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void addresses_sort(struct addresses *h)
{
	struct addresses_place *p = (struct addresses_place *)h->places.p;
	struct addresses_image *v = (struct addresses_image *)h->images.p;

	if (h->by_place.nr)
		qsort(p, h->by_place.nr, sizeof(*p), compare_places);
	for (size_t i = 0; i < h->by_place.nr; i++) {
		struct addresses_image *of = &v[p[i].image];

		if (!of->nr)
			of->first = i;
		of->nr++;
		of->nr_hits += p[i].nr;
	}
	if (h->by_image.nr)
		qsort(v, h->by_image.nr, sizeof(*v), compare_images);
}

size_t addresses_nr_images(const struct addresses *h)
{
	return h->by_image.nr;
}

const struct addresses_image *addresses_image(const struct addresses *h, size_t i)
{
	return image_at(h, i);
}

const struct addresses_place *addresses_places(const struct addresses *h,
					       const struct addresses_image *image)
{
	return place_at(h, image->first);
}

uint64_t addresses_nr_dropped(const struct addresses *h)
{
	return h->nr_dropped;
}
