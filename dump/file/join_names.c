// SPDX-License-Identifier: MIT
/*
 * Adds the older dump's processes, mappings and symbols to a joined dump; see join.h. Called by
 * join.c. Task keys are local to a dump: a task in both (same thread id and start) gets the newer
 * dump's key, and items that are in both are not repeated.
 */
#include "dump/file/join_impl.h"

#include "dump/base/err.h"
#include "dump/file/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int join_items(struct reader *r, uint16_t section, int (*block)(void *ctx, struct err *err),
	       int (*take)(void *ctx, uint16_t kind, struct bytes item, struct err *err), void *ctx,
	       struct err *err)
{
	struct buf payload = {0};
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(r) && !rc; i++) {
		struct bytes rest, item;
		bool broken = false;
		uint16_t kind;

		if (reader_block(r, i)->h.section != section)
			continue;
		rc = reader_load(r, i, &payload, err);
		if (!rc && block)
			rc = block(ctx, err);
		rest = (struct bytes){payload.p, payload.len};
		while (!rc && reader_next_item(&rest, &kind, &item, &broken))
			rc = take(ctx, kind, item, err);
	}
	buf_free(&payload);
	return rc;
}

/* ---- sets and tables ---- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Hashes of the newer dump's items; sorted when complete. */
static int seen_add(struct buf *seen, uint64_t hash, struct err *err)
{
	return buf_put(seen, &hash, sizeof(hash)) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static void seen_sort(struct buf *seen)
{
	if (seen->len)
		qsort(seen->p, seen->len / sizeof(uint64_t), sizeof(uint64_t), compare_u64);
}

static bool seen_has(const struct buf *seen, uint64_t hash)
{
	return seen->len &&
	       bsearch(&hash, seen->p, seen->len / sizeof(uint64_t), sizeof(uint64_t), compare_u64);
}

/* A task: by (tid, start) in the newer dump, by key in the older one. */
struct join_task {
	uint64_t by[2];
	uint32_t key;
	bool both;
};

static int compare_named(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct join_task *)a)->by));
}

static struct join_task *named_find(const struct buf *v, uint64_t a, uint64_t b)
{
	struct join_task n = {.by = {a, b}};

	return v->len ? bsearch(&n, v->p, v->len / sizeof(n), sizeof(n), compare_named) : NULL;
}

static void named_sort(struct buf *v)
{
	if (v->len)
		qsort(v->p, v->len / sizeof(struct join_task), sizeof(struct join_task),
		      compare_named);
}

struct join_names {
	struct writer *w;
	struct buf tasks; /* of the newer dump */
	struct buf keys;  /* of the older dump */
	struct buf seen;
	uint32_t last_key;
	struct buf images; /* hashes of the images of the block being read */
};

/* Maps a key of the older dump to one of the newer; 0: unknown. */
static uint32_t key_of(const struct join_names *n, uint32_t key, bool *both)
{
	const struct join_task *at = named_find(&n->keys, key, 0);

	if (both)
		*both = at && at->both;
	return at ? at->key : 0;
}

/* ---- the ledger ---- */

static uint64_t ledger_hash(uint16_t kind, uint32_t key, uint64_t a, uint64_t b)
{
	uint64_t v[] = {kind, key, a, b};

	return block_hash(v, sizeof(v), 0);
}

/* Identifies an item of a task by its key and (a, b); false for other items. */
static bool ledger_sign(uint16_t kind, struct bytes item, uint32_t *key, uint64_t *a, uint64_t *b)
{
	struct fmt_comm comm;
	struct fmt_map map;
	struct fmt_stay stay;

	*b = 0;
	switch (kind) {
	case FMT_LEDGER_COMM:
		bytes_get_grown(item, &comm, sizeof(comm));
		*key = comm.key;
		*a = comm.ns;
		return true;
	case FMT_LEDGER_MAP:
		bytes_get_grown(item, &map, sizeof(map));
		*key = map.key;
		*a = map.start;
		*b = map.ns;
		return true;
	case FMT_LEDGER_TASK_NS:
	case FMT_LEDGER_TASK_CGROUP:
		bytes_get_grown(item, &stay, sizeof(stay));
		*key = stay.key;
		*a = stay.ns;
		return true;
	default:
		return false;
	}
}

static int see_ledger(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join_names *n = ctx;
	struct fmt_ksym sym;
	struct fmt_task t;
	uint32_t key;
	uint64_t a, b;

	if (kind == FMT_LEDGER_TASK) {
		struct join_task one;

		bytes_get_grown(item, &t, sizeof(t));
		one = (struct join_task){.by = {t.tid, t.start_ns}, .key = t.key};
		if (t.key > n->last_key)
			n->last_key = t.key;
		return buf_put(&n->tasks, &one, sizeof(one))
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	}
	if (kind == FMT_LEDGER_KSYM) {
		bytes_get_grown(item, &sym, sizeof(sym));
		return seen_add(&n->seen, ledger_hash(kind, 0, sym.addr, sym.ns), err);
	}
	return ledger_sign(kind, item, &key, &a, &b)
		       ? seen_add(&n->seen, ledger_hash(kind, key, a, b), err)
		       : 0;
}

/* Assigns a key to each task of the older dump. */
static int key_older(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join_names *n = ctx;
	const struct join_task *same;
	struct join_task one;
	struct fmt_task t;

	if (kind != FMT_LEDGER_TASK)
		return 0;
	bytes_get_grown(item, &t, sizeof(t));
	same = named_find(&n->tasks, t.tid, t.start_ns);
	one = (struct join_task){
		.by = {t.key, 0}, .key = same ? same->key : ++n->last_key, .both = same != NULL};
	return buf_put(&n->keys, &one, sizeof(one)) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Writes an item with its first field, the key, replaced. */
static int put_keyed(struct join_names *n, uint16_t kind, uint32_t key, struct bytes item,
		     struct err *err)
{
	return writer_item(n->w, kind, &key, sizeof(key), item.p + sizeof(key),
			   item.len - sizeof(key), NULL);
}

static int put_ledger(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join_names *n = ctx;
	struct fmt_ksym sym;
	uint64_t a, b;
	uint32_t key;
	bool both;

	switch (kind) {
	case FMT_LEDGER_PATH:
	case FMT_LEDGER_NAMESPACES:
		return writer_item(n->w, kind, item.p, item.len, NULL, 0, NULL);
	case FMT_LEDGER_KSYM:
		bytes_get_grown(item, &sym, sizeof(sym));
		return seen_has(&n->seen, ledger_hash(kind, 0, sym.addr, sym.ns))
			       ? 0
			       : writer_item(n->w, kind, item.p, item.len, NULL, 0, NULL);
	case FMT_LEDGER_TASK:
	case FMT_LEDGER_CMDLINE:
		if (item.len < sizeof(key))
			return 0;
		memcpy(&key, item.p, sizeof(key));
		key = key_of(n, key, &both);
		return both || !key ? 0 : put_keyed(n, kind, key, item, err);
	default:
		if (item.len < sizeof(key) || !ledger_sign(kind, item, &key, &a, &b))
			return 0;
		key = key_of(n, key, NULL);
		if (!key || seen_has(&n->seen, ledger_hash(kind, key, a, b)))
			return 0;
		return put_keyed(n, kind, key, item, err);
	}
}

/* Path ids are local to a block: blocks are written with the same boundaries. */
static int begin_block(void *ctx, struct err *err)
{
	struct join_names *n = ctx;

	n->images.len = 0;
	return n->w ? writer_flush(n->w) : 0;
}

/* ---- symbols ---- */

/* Hashes an image without its id in the block; `key` is that of the newer dump. */
static int note_image(struct join_names *n, struct bytes item, uint32_t key, struct err *err)
{
	uint64_t hash = key;

	hash ^= block_hash(item.p + sizeof(uint32_t), offsetof(struct fmt_image, key) - 4, 0);
	hash ^= block_hash(item.p + offsetof(struct fmt_image, ino),
			   item.len - offsetof(struct fmt_image, ino), 1);
	return seen_add(&n->images, hash, err);
}

/* Hashes an item and the image that it belongs to. */
static bool symbol_hash(const struct join_names *n, uint16_t kind, struct bytes item,
			uint64_t *hash)
{
	uint64_t v[2] = {kind};
	uint32_t image;

	if (item.len < sizeof(image))
		return false;
	memcpy(&image, item.p, sizeof(image));
	if (image >= n->images.len / sizeof(uint64_t))
		return false;
	memcpy(&v[1], n->images.p + image * sizeof(uint64_t), sizeof(uint64_t));
	*hash = block_hash(v, sizeof(v), 0) ^
		block_hash(item.p + sizeof(image), item.len - sizeof(image), 2);
	return true;
}

static int see_symbol(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join_names *n = ctx;
	struct fmt_image f;
	uint64_t hash;

	if (kind == FMT_SYM_IMAGE) {
		if (item.len < sizeof(f))
			return 0;
		memcpy(&f, item.p, sizeof(f));
		return note_image(n, item, f.key, err);
	}
	return symbol_hash(n, kind, item, &hash) ? seen_add(&n->seen, hash, err) : 0;
}

static int put_symbol(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join_names *n = ctx;
	struct fmt_image f;
	uint64_t hash;
	int rc;

	if (kind != FMT_SYM_IMAGE) {
		if (!symbol_hash(n, kind, item, &hash) || seen_has(&n->seen, hash))
			return 0;
		return writer_item(n->w, kind, item.p, item.len, NULL, 0, NULL);
	}
	if (item.len < sizeof(f))
		return 0;
	memcpy(&f, item.p, sizeof(f));
	if (f.kind == FMT_IMAGE_TASK)
		f.key = key_of(n, f.key, NULL);
	rc = note_image(n, item, f.key, err);
	return rc ? rc
		  : writer_item(n->w, kind, &f, sizeof(f), item.p + sizeof(f), item.len - sizeof(f),
				NULL);
}

/* ---- entry points ---- */

static int add_ledger(struct join_names *n, struct reader *older, struct reader *newer,
		      struct err *err)
{
	int rc = join_items(newer, FMT_LEDGER, NULL, see_ledger, n, err);

	named_sort(&n->tasks);
	seen_sort(&n->seen);
	if (!rc)
		rc = join_items(older, FMT_LEDGER, NULL, key_older, n, err);
	named_sort(&n->keys);
	writer_section(n->w, FMT_LEDGER);
	return rc ? rc : join_items(older, FMT_LEDGER, begin_block, put_ledger, n, err);
}

static int add_symbols(struct join_names *n, struct reader *older, struct reader *newer,
		       struct err *err)
{
	int rc;

	writer_section(n->w, FMT_SYMBOLS);
	n->seen.len = 0;
	rc = join_items(newer, FMT_SYMBOLS, begin_block, see_symbol, n, err);
	seen_sort(&n->seen);
	return rc ? rc : join_items(older, FMT_SYMBOLS, begin_block, put_symbol, n, err);
}

int join_add_names(struct reader *older, struct reader *newer, struct writer *w, struct err *err)
{
	struct join_names n = {.w = w};
	int rc = add_ledger(&n, older, newer, err);

	if (!rc)
		rc = add_symbols(&n, older, newer, err);
	buf_free(&n.tasks);
	buf_free(&n.keys);
	buf_free(&n.seen);
	buf_free(&n.images);
	return rc;
}
