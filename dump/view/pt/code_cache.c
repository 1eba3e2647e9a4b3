// SPDX-License-Identifier: MIT
/* See code_cache.h. Called by pt_trace.c, and by whoever makes SYMBOLS of what was met. */
#include "dump/view/pt/code_cache.h"

#include "dump/base/array.h"
#include "dump/base/elf.h"
#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "dump/file/section_items.h"
#include "dump/format/record.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/base/intern.h"
#include "dump/view/symbols/symbols_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	       4096u
#define CHUNK	       (256u << 10) /* read of a file at once */
#define MAX_CODE       (1ull << 30)
#define MAX_CODE_BYTES (256ull << 20) /* of SYMBOLS */
#define MAX_PAGES      (256u << 10)
#define MAX_IMAGES     16384
#define MAX_CHUNKS     (1u << 20)
/* What a dump says to have: images in all, and how many of them may be one of those that ran. */
#define MAX_KEPT  (256u << 10)
#define MAX_TWINS 4096u

/* Bytes of an image that are in the store. */
struct run {
	uint32_t kept; /* index of struct stored_image */
	uint64_t start, bytes, at;
};

/* An image as the dump's SYMBOLS have it. */
struct stored_image {
	struct fmt_image f;
	const char *path;
	bool has_code;
};

/* A kept image by what it is called; path NULL: the kernel. Paths are those of `texts`. */
struct named {
	const char *path;
	uint32_t kind, key;
	const struct stored_image *kept;
};

/* What a piece of a file is, once it was asked for. */
struct chunk {
	uint64_t at;
	uint32_t bytes; /* 0: it can't be had */
	bool asked;
};

/* What code lies in: a file with one identity, the kernel, what a process made. */
struct image {
	struct addresses_image h;
	struct buf matches; /* uint32_t[]: kept images that it is */
	struct elf *elf;
	bool opened;
};

struct code_cache {
	const struct process_history *history;
	struct code_cache_options opt;
	struct pt_store *store;
	bool own_store;
	struct intern texts;
	struct buf kept, runs; /* struct stored_image[], struct run[] by kept and start */
	struct named *named;   /* nr_kept, sorted */
	size_t nr_kept, nr_runs, nr_broken;
	size_t block; /* the first image of the block that is being read */
	uint64_t kept_bytes;
	pthread_mutex_t lock;	/* over what follows */
	struct buf images;	/* struct image *[] */
	struct hash by_image;	/* of images */
	struct pair_ids places; /* image, number: of chunks */
	struct buf chunks;	/* struct chunk[], by `places` */
	struct pair_ids pages;	/* image, page: that the flow was in */
	uint32_t nr_put;	/* of these, the first */
};

/* ---- what the dump has ---- */

static struct stored_image *kept_at(const struct code_cache *b, size_t i)
{
	return (struct stored_image *)b->kept.p + i;
}

static int take_image(struct code_cache *b, struct bytes item)
{
	struct stored_image k = {0};
	int rc;

	if (!bytes_get(&item, &k.f, sizeof(k.f)) || k.f.build_id_bytes > sizeof(k.f.build_id) ||
	    k.f.id != b->nr_kept - b->block || b->nr_kept >= MAX_KEPT)
		return -EBADMSG;
	k.path = intern(&b->texts, item);
	rc = k.path ? buf_put(&b->kept, &k, sizeof(k)) : -ENOMEM;
	b->nr_kept += !rc;
	return rc;
}

static int take_code(struct code_cache *b, struct bytes item)
{
	struct fmt_code f;
	struct run r;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)) || f.image >= b->nr_kept - b->block || !item.len ||
	    !span_fits(f.start, item.len, UINT64_MAX))
		return -EBADMSG;
	r = (struct run){(uint32_t)(b->block + f.image), f.start, item.len, 0};
	rc = pt_store_put(b->store, item, &r.at, NULL);
	if (rc == -ENOSPC)
		return 0;
	rc = rc ? rc : buf_put(&b->runs, &r, sizeof(r));
	if (rc)
		return rc;
	kept_at(b, r.kept)->has_code = true;
	b->kept_bytes += r.bytes;
	b->nr_runs++;
	return 0;
}

static int take_item(void *ctx, uint16_t kind, struct bytes item)
{
	return kind == FMT_SYM_IMAGE  ? take_image(ctx, item)
	       : kind == FMT_SYM_CODE ? take_code(ctx, item)
				      : 0;
}

static int take_block(void *ctx, struct bytes payload)
{
	struct code_cache *b = ctx;

	b->block = b->nr_kept;
	return section_items_walk(payload, take_item, b, &b->nr_broken);
}

static int compare_runs(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	if (a->kept != b->kept)
		return a->kept < b->kept ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_named(const void *x, const void *y)
{
	const struct named *a = x, *b = y;

	if (a->path != b->path)
		return (uintptr_t)a->path < (uintptr_t)b->path ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int compare_kept(const void *x, const void *y)
{
	const struct fmt_image *a = &((const struct named *)x)->kept->f;
	const struct fmt_image *b = &((const struct named *)y)->kept->f;
	int order = compare_named(x, y);

	if (order || a->ino != b->ino)
		return order ? order : a->ino < b->ino ? -1 : 1;
	return memcmp(a->build_id, b->build_id, sizeof(a->build_id));
}

static struct named name_of(struct code_cache *b, const struct fmt_image *f, const char *path)
{
	const struct bytes text = {(const uint8_t *)path, strlen(path)};

	return (struct named){.path = f->kind == FMT_IMAGE_KERNEL ? NULL : intern(&b->texts, text),
			      .kind = f->kind,
			      .key = f->key};
}

static int sort_kept(struct code_cache *b)
{
	b->named = calloc(b->nr_kept + 1, sizeof(*b->named));
	if (!b->named)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->nr_kept; i++) {
		b->named[i] = name_of(b, &kept_at(b, i)->f, kept_at(b, i)->path);
		b->named[i].kept = kept_at(b, i);
	}
	qsort(b->named, b->nr_kept, sizeof(*b->named), compare_kept);
	if (b->nr_runs)
		qsort(b->runs.p, b->nr_runs, sizeof(struct run), compare_runs);
	return 0;
}

int code_cache_new(struct reader *r, const struct process_history *p,
		   const struct code_cache_options *opt, struct code_cache **out, struct err *err)
{
	struct code_cache *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return err_sys(err, -ENOMEM, "code of the dump");
	b->history = p;
	b->opt = *opt;
	pthread_mutex_init(&b->lock, NULL);
	b->store = opt->store;
	b->own_store = !opt->store;
	rc = b->own_store ? pt_store_new(MAX_CODE, &b->store, err) : 0;
	if (!rc) {
		rc = section_items_load(r, FMT_SYMBOLS, MAX_CODE_BYTES, take_block, b,
					&b->nr_broken);
		rc = rc == -E2BIG ? 0 : rc;
		rc = rc ? rc : sort_kept(b);
		if (rc)
			err_sys(err, rc, "code of the dump");
	}
	if (rc) {
		code_cache_free(b);
		return rc;
	}
	*out = b;
	return 0;
}

static size_t nr_images(const struct code_cache *b)
{
	return b->images.len / sizeof(struct image *);
}

static struct image *image_at(const struct code_cache *b, size_t i)
{
	return ((struct image **)b->images.p)[i];
}

void code_cache_free(struct code_cache *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < nr_images(b); i++) {
		struct image *m = image_at(b, i);

		elf_close(m->elf);
		buf_free(&m->matches);
		free(m);
	}
	buf_free(&b->images);
	hash_free(&b->by_image);
	pair_ids_free(&b->places);
	buf_free(&b->chunks);
	free(b->named);
	buf_free(&b->kept);
	buf_free(&b->runs);
	intern_free(&b->texts);
	pair_ids_free(&b->pages);
	if (b->own_store)
		pt_store_free(b->store);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* Those that have code; the same image may stand in several blocks. */
static size_t count_kept(const struct code_cache *b)
{
	const struct named *last = NULL;
	size_t nr = 0;

	for (const struct named *n = b->named; n < b->named + b->nr_kept; n++) {
		if (!n->kept->has_code)
			continue;
		nr += !last || compare_kept(last, n) != 0;
		last = n;
	}
	return nr;
}

void code_cache_counts(const struct code_cache *b, struct code_cache_counts *out)
{
	*out = (struct code_cache_counts){.nr_images = nr_images(b),
					  .nr_pages = pair_ids_nr(&b->pages),
					  .kept_bytes = b->kept_bytes,
					  .nr_kept = count_kept(b)};
}

/* ---- images ---- */

/* Of the same name: where both know a build-id, that decides; else the inode. */
static bool is_of(const struct stored_image *k, const struct addresses_image *h)
{
	if (h->f.kind == FMT_IMAGE_KERNEL)
		return true;
	if (k->f.build_id_bytes && h->f.build_id_bytes)
		return k->f.build_id_bytes == h->f.build_id_bytes &&
		       !memcmp(k->f.build_id, h->f.build_id, h->f.build_id_bytes);
	return k->f.ino == h->f.ino && k->f.maj == h->f.maj && k->f.min == h->f.min;
}

static void find_matches(struct code_cache *b, struct image *m)
{
	const struct named name = name_of(b, &m->h.f, m->h.path);
	size_t from = 0, to = b->nr_kept;

	for (size_t mid; from < to;) {
		mid = from + (to - from) / 2;
		if (compare_named(&b->named[mid], &name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	for (size_t n = from; n < b->nr_kept && n - from < MAX_TWINS; n++) {
		const struct stored_image *k = b->named[n].kept;
		uint32_t i = (uint32_t)(k - kept_at(b, 0));

		if (compare_named(&b->named[n], &name))
			break;
		if (!is_of(k, &m->h))
			continue;
		if (!m->h.f.build_id_bytes && k->f.build_id_bytes) {
			m->h.f.build_id_bytes = k->f.build_id_bytes;
			memcpy(m->h.f.build_id, k->f.build_id, sizeof(k->f.build_id));
		}
		if (k->has_code)
			buf_put(&m->matches, &i, sizeof(i));
	}
}

static bool same_image(const struct image *m, const struct addresses_image *h)
{
	const struct fmt_image *x = &m->h.f, *y = &h->f;

	return m->h.path == h->path && x->kind == y->kind && x->key == y->key && x->ino == y->ino &&
	       x->maj == y->maj && x->min == y->min &&
	       (!y->build_id_bytes || !memcmp(x->build_id, y->build_id, y->build_id_bytes));
}

static uint64_t hash_of(const struct addresses_image *h)
{
	uint64_t hash =
		hash_mix((uintptr_t)h->path, h->f.ino ^ (uint64_t)h->f.key << 32 ^ h->f.kind);

	hash = hash_mix(hash, (uint64_t)h->f.maj << 32 | h->f.min);
	return hash_bytes(hash, h->f.build_id, h->f.build_id_bytes);
}

/* Its index; -1: too many. */
static int64_t image_of(struct code_cache *b, const struct addresses_image *h)
{
	uint64_t hash = hash_of(h);
	uint32_t at = 0, i;
	struct image *m;

	while (hash_next(&b->by_image, hash, &at, &i))
		if (same_image(image_at(b, i), h))
			return i;
	m = nr_images(b) < MAX_IMAGES ? calloc(1, sizeof(*m)) : NULL;
	if (!m || buf_reserve(&b->images, sizeof(m)) || hash_add(&b->by_image, hash)) {
		free(m);
		return -1;
	}
	m->h = *h;
	buf_put(&b->images, &m, sizeof(m));
	find_matches(b, m);
	return (int64_t)nr_images(b) - 1;
}

/* Where an address lies. */
struct spot {
	int64_t image;
	uint64_t off;	   /* in the image, as SYMBOLS count it */
	uint64_t from, to; /* of the mapping, in the image */
	struct history_span span;
};

static bool find_spot(struct code_cache *b, uint32_t tid, uint64_t ns, uint64_t address,
		      struct spot *s)
{
	struct addresses_image h = {.nr_mappings = 1};
	struct history_map map;

	*s = (struct spot){.off = address, .to = UINT64_MAX, .span = {0, UINT64_MAX}};
	if (record_kernel_address(address)) {
		h.f.kind = FMT_IMAGE_KERNEL;
		h.path = "[kernel.kallsyms]";
		s->from = 1ull << 63;
		s->image = image_of(b, &h);
		return s->image >= 0;
	}
	if (!history_where(b->history, tid, ns, address, &map, &s->span))
		return false;
	if (map.f.pgoff > UINT64_MAX - (map.f.end - map.f.start))
		return false;
	h.mappings[0] = (struct addresses_mapping){map.f.key, map.f.start, map.f.end};
	h.path = map.path;
	s->from = map.f.start;
	s->to = map.f.end;
	if (addresses_is_file(map.path)) {
		h.f.kind = FMT_IMAGE_FILE;
		h.f.ino = map.f.ino;
		h.f.ino_generation = map.f.ino_generation;
		h.f.maj = map.f.maj;
		h.f.min = map.f.min;
		h.f.build_id_bytes = map.build_id_bytes;
		if (map.build_id_bytes)
			memcpy(h.f.build_id, map.build_id, map.build_id_bytes);
		s->off = address - map.f.start + map.f.pgoff;
		s->from = map.f.pgoff;
		s->to = map.f.pgoff + (map.f.end - map.f.start);
	} else {
		h.f.kind = FMT_IMAGE_TASK;
		h.f.key = map.f.key;
		h.path = "";
	}
	s->image = image_of(b, &h);
	return s->image >= 0;
}

/* ---- code ---- */

/* What the dump has at `off`; NULL: nothing. */
static const struct run *find_run(const struct code_cache *b, uint32_t kept, uint64_t off)
{
	const struct run *v = (const struct run *)b->runs.p;
	size_t nr = array_bisect(i, b->nr_runs,
				 v[i].kept < kept || (v[i].kept == kept && v[i].start <= off));

	if (!nr || v[nr - 1].kept != kept || off - v[nr - 1].start >= v[nr - 1].bytes)
		return NULL;
	return &v[nr - 1];
}

static const struct run *run_of(const struct code_cache *b, const struct image *m, uint64_t off)
{
	const uint32_t *v = (const uint32_t *)m->matches.p;
	const struct run *r = NULL;

	for (size_t i = 0; i < m->matches.len / sizeof(*v) && !r; i++)
		r = find_run(b, v[i], off);
	return r;
}

/* The file itself, on this machine, when it is of the same build. */
static int open_by_path(const struct addresses_image *h, struct elf **e)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	int rc;

	if (!h->f.build_id_bytes || h->path[0] != '/')
		return -ENOENT;
	rc = elf_open(h->path, e, NULL);
	if (rc)
		return rc;
	if (elf_build_id(*e, id) == h->f.build_id_bytes &&
	    !memcmp(id, h->f.build_id, h->f.build_id_bytes))
		return 0;
	elf_close(*e);
	*e = NULL;
	return -ESTALE;
}

static void open_image(struct code_cache *b, struct image *m)
{
	if (m->opened)
		return;
	m->opened = true;
	if ((b->opt.open ? b->opt.open(b->opt.ctx, &m->h, &m->elf)
			 : open_by_path(&m->h, &m->elf)) != 0)
		m->elf = NULL;
}

static size_t read_image(struct code_cache *b, struct image *m, uint64_t off, void *dst, size_t n)
{
	if (m->h.f.kind != FMT_IMAGE_FILE)
		return b->opt.read ? b->opt.read(b->opt.ctx, m->h.f.key, off, dst, n) : 0;
	open_image(b, m);
	return m->elf ? elf_read(m->elf, off, dst, n) : 0;
}

/* NULL: too many, or out of memory. */
static struct chunk *chunk_at(struct code_cache *b, uint64_t image, uint64_t nr)
{
	static const struct chunk unknown;
	uint32_t id = pair_ids_nr(&b->places) < MAX_CHUNKS
			      ? pair_ids_add(&b->places, image, nr, NULL)
			      : 0;

	if (!id || (b->chunks.len / sizeof(unknown) < id &&
		    buf_put(&b->chunks, &unknown, sizeof(unknown))))
		return NULL;
	return (struct chunk *)b->chunks.p + (id - 1);
}

static const struct chunk *chunk_of(struct code_cache *b, uint64_t image, uint64_t off)
{
	struct image *m = image_at(b, image);
	struct chunk *c;
	uint8_t *bytes;

	if (m->h.f.kind == FMT_IMAGE_FILE ? m->opened && !m->elf : !b->opt.read)
		return NULL;
	c = chunk_at(b, image, off / CHUNK);

	if (!c || c->asked)
		return c;
	c->asked = true;
	bytes = malloc(CHUNK);
	c->bytes = bytes ? (uint32_t)read_image(b, m, off / CHUNK * CHUNK, bytes, CHUNK) : 0;
	if (c->bytes && pt_store_put(b->store, (struct bytes){bytes, c->bytes}, &c->at, NULL))
		c->bytes = 0;
	free(bytes);
	return c;
}

/* The part of [start, start + bytes) in the mapping, as a piece at its address. */
static void piece_of(const struct spot *s, uint64_t address, uint64_t start, uint64_t bytes,
		     uint64_t at, struct pt_flow_piece *out)
{
	uint64_t from = start > s->from ? start : s->from;
	uint64_t to = bytes < s->to - start ? start + bytes : s->to;

	*out = (struct pt_flow_piece){.address = address - (s->off - from),
				      .bytes = to - from,
				      .at = at + (from - start),
				      .from_ns = s->span.from_ns,
				      .to_ns = s->span.to_ns};
}

static bool find_locked(struct code_cache *b, const struct pt_flow_who *who, uint64_t address,
			struct pt_flow_piece *out)
{
	const struct chunk *c;
	const struct run *r;
	struct image *m;
	struct spot s;

	if (!find_spot(b, who->tid, who->ns, address, &s))
		return false;
	m = image_at(b, (size_t)s.image);
	r = run_of(b, m, s.off);
	if (r) {
		piece_of(&s, address, r->start, r->bytes, r->at, out);
		return true;
	}
	c = chunk_of(b, (uint64_t)s.image, s.off);
	if (!c || s.off % CHUNK >= c->bytes)
		return false;
	piece_of(&s, address, s.off / CHUNK * CHUNK, c->bytes, c->at, out);
	return true;
}

static bool find(void *ctx, const struct pt_flow_who *who, uint64_t address,
		 struct pt_flow_piece *out)
{
	struct code_cache *b = ctx;
	bool found;

	pthread_mutex_lock(&b->lock);
	found = find_locked(b, who, address, out);
	pthread_mutex_unlock(&b->lock);
	return found;
}

static void touch(void *ctx, const struct pt_flow_who *who, uint64_t address)
{
	struct code_cache *b = ctx;
	struct spot s;

	pthread_mutex_lock(&b->lock);
	if (find_spot(b, who->tid, who->ns, address, &s) && pair_ids_nr(&b->pages) < MAX_PAGES)
		pair_ids_add(&b->pages, (uint64_t)s.image, s.off / PAGE, NULL);
	pthread_mutex_unlock(&b->lock);
}

void code_cache_source(struct code_cache *b, struct pt_flow_source *out)
{
	out->store = b->store;
	out->find = find;
	out->touch = touch;
	out->ctx = b;
}

void code_cache_who(const struct code_cache *b, uint32_t tid, uint64_t ns, struct pt_flow_who *out)
{
	const struct fmt_task *t = history_task(b->history, tid, ns);

	if (t && t->pid != t->tid)
		t = history_task(b->history, t->pid, ns);
	out->tid = tid;
	out->key = t ? t->key : 0;
}

bool code_cache_has(const struct code_cache *b, uint32_t tid, uint64_t ns, uint64_t address)
{
	struct history_map map;

	return record_kernel_address(address) || history_map(b->history, tid, ns, address, &map);
}

/* ---- what was met, for the dump ---- */

struct code_page {
	uint64_t image, nr;
};

static int compare_pages(const void *x, const void *y)
{
	const struct code_page *a = x, *b = y;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

/* Pages that follow each other. */
static void put_pages(struct code_cache *b, struct image *m, uint64_t first, size_t nr,
		      struct symbols_writer *put)
{
	uint8_t bytes[16 * PAGE];

	for (size_t i = 0; i < nr; i += 16) {
		size_t want = (nr - i < 16 ? nr - i : 16) * PAGE;
		size_t n = read_image(b, m, (first + i) * PAGE, bytes, want);

		if (n)
			symbols_writer_code(put, (first + i) * PAGE, (struct bytes){bytes, n});
	}
}

static void put_all(struct code_cache *b, const struct code_page *v, size_t nr,
		    struct symbols_writer *put)
{
	uint64_t last = UINT64_MAX;

	for (size_t i = 0, n; i < nr; i += n) {
		struct image *m = image_at(b, (size_t)v[i].image);

		for (n = 1;
		     i + n < nr && v[i + n].image == v[i].image && v[i + n].nr == v[i].nr + n;)
			n++;
		if (v[i].image != last) {
			/* The file's own build-id, where the ledger has none. */
			if (m->elf && !m->h.f.build_id_bytes)
				m->h.f.build_id_bytes =
					(uint8_t)elf_build_id(m->elf, m->h.f.build_id);
			symbols_writer_image(put, &m->h.f, m->h.path);
		}
		last = v[i].image;
		put_pages(b, m, v[i].nr, n, put);
	}
}

void code_cache_put(struct code_cache *b, struct symbols_writer *put)
{
	uint32_t nr = pair_ids_nr(&b->pages) - b->nr_put;
	struct code_page *v = calloc(nr + 1, sizeof(*v));

	if (!v) {
		put->rc = put->rc ? put->rc : -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		pair_ids_get(&b->pages, b->nr_put + i + 1, &v[i].image, &v[i].nr);
	qsort(v, nr, sizeof(*v), compare_pages);
	put_all(b, v, nr, put);
	b->nr_put += nr;
	free(v);
}
