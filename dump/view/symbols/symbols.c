// SPDX-License-Identifier: MIT
/*
 * The SYMBOLS of a dump as sorted tables, and lookups in them; see symbols.h.
 *
 *	address ── history_where() ──▶ mapping ──▶ image ──▶ function that holds the place
 *	                                                └─▶ source places of exactly this place
 */
#include "dump/view/symbols/symbols.h"

#include "dump/base/err.h"
#include "dump/file/section_items.h"
#include "dump/view/print/demangle.h"
#include "dump/view/base/intern.h"

#include <errno.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Limit when unpacked, as for the ledger: the file's size does not bound it. */
#define MAX_SYMBOLS_BYTES (256ull << 20)
#define MAX_NAME	  1024

/* Limit on functions nested in another one. */
#define MAX_NESTED 16

/* Limit on the versions of one path to check. */
#define MAX_VERSIONS 64

/* An image in a block; entries for the same image in several blocks share `group`. */
struct symbols_image {
	struct fmt_image f;
	const char *path;
	uint32_t group;
};

/* `group`: one space of places, that is an image, or 0 for the kernel with all its modules. */
struct symbols_function {
	uint32_t group, image;
	uint64_t start, bytes;
	const char *name;
};

struct symbols_place {
	uint32_t group, depth, line;
	uint64_t at;
	const char *function, *file; /* NULL: unknown */
};

struct symbols {
	const struct process_history *history;
	struct intern texts;
	struct buf images, functions, places; /* of the structs above, sorted once loaded */
	struct unwind_rules *rules;
	struct symbols_counts nr;
};

struct symbols_loader {
	struct symbols *s;
	size_t first; /* image of this block */
};

static const struct symbols_image *image_at(const struct symbols *s, size_t i)
{
	return (const struct symbols_image *)s->images.p + i;
}

static const struct symbols_function *function_at(const struct symbols *s, size_t i)
{
	return (const struct symbols_function *)s->functions.p + i;
}

static const struct symbols_place *place_at(const struct symbols *s, size_t i)
{
	return (const struct symbols_place *)s->places.p + i;
}

/* ---- loading ---- */

static int take_image(struct symbols_loader *l, struct bytes item)
{
	struct symbols *s = l->s;
	struct symbols_image image = {0};
	int rc;

	if (!bytes_get(&item, &image.f, sizeof(image.f)) ||
	    image.f.build_id_bytes > sizeof(image.f.build_id) ||
	    image.f.id != s->nr.nr_images - l->first)
		return -EBADMSG;
	image.path = intern(&s->texts, item);
	if (!image.path)
		return -ENOMEM;
	rc = buf_put(&s->images, &image, sizeof(image));
	s->nr.nr_images += !rc;
	return rc;
}

/* The index of the block's image; false: unknown id. */
static bool resolve(const struct symbols_loader *l, uint32_t id, uint32_t *index)
{
	*index = (uint32_t)l->first + id;
	return id < l->s->nr.nr_images - l->first;
}

/* Demangles and interns a name; an empty one is no name. -ENOMEM. */
static int take_name(struct symbols *s, struct bytes text, const char **out)
{
	char nice[MAX_NAME];
	const char *raw = intern(&s->texts, text), *name;

	if (!raw)
		return -ENOMEM;
	name = raw[0] ? demangle(raw, nice, sizeof(nice)) : NULL;
	if (name == nice) {
		name = intern(&s->texts, (struct bytes){(const uint8_t *)nice, strlen(nice)});
		if (!name)
			return -ENOMEM;
	}
	*out = name;
	return 0;
}

static int take_function(struct symbols_loader *l, struct bytes item)
{
	struct symbols_function to = {0};
	struct fmt_function f;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)) || !resolve(l, f.image, &to.image) || !f.bytes ||
	    f.bytes > UINT64_MAX - f.start)
		return -EBADMSG;
	to.start = f.start;
	to.bytes = f.bytes;
	rc = take_name(l->s, item, &to.name);
	if (rc || !to.name)
		return rc ? rc : -EBADMSG;
	return buf_put(&l->s->functions, &to, sizeof(to));
}

static int take_place(struct symbols_loader *l, struct bytes item)
{
	struct symbols_place to = {0};
	struct fmt_place f;
	struct bytes name;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)) || !resolve(l, f.image, &to.group) ||
	    !bytes_take(&item, f.function_bytes, &name))
		return -EBADMSG;
	to.depth = f.depth;
	to.line = f.line;
	to.at = f.at;
	rc = take_name(l->s, name, &to.function);
	if (!rc && item.len && !(to.file = intern(&l->s->texts, item)))
		rc = -ENOMEM;
	return rc ? rc : buf_put(&l->s->places, &to, sizeof(to));
}

static int take_unwind(struct symbols_loader *l, struct bytes item)
{
	struct cfi_rule r = {0};
	struct fmt_unwind f;
	uint32_t image;
	int rc;

	if (!bytes_get(&item, &f, sizeof(f)) || !resolve(l, f.image, &image) ||
	    !bytes_take(&item, f.initial_bytes, &r.initial))
		return -EBADMSG;
	r.start = f.start;
	r.bytes = f.bytes;
	r.code_align = f.code_align;
	r.data_align = f.data_align;
	r.return_register = f.return_register;
	r.flags = f.flags & (CFI_SIGNAL | CFI_SWITCH); /* the same numbers */
	r.program = item;
	rc = unwind_rules_put(l->s->rules, image, &r);
	l->s->nr.nr_rules += !rc;
	return rc;
}

static int take_item(void *ctx, uint16_t kind, struct bytes item)
{
	struct symbols_loader *l = ctx;

	switch (kind) {
	case FMT_SYM_IMAGE:
		return take_image(l, item);
	case FMT_SYM_FUNCTION:
		return take_function(l, item);
	case FMT_SYM_PLACE:
		return take_place(l, item);
	case FMT_SYM_UNWIND:
		return take_unwind(l, item);
	default:
		return 0;
	}
}

static int take_block(void *ctx, struct bytes payload)
{
	struct symbols_loader *l = ctx;

	l->first = l->s->nr.nr_images;
	return section_items_walk(payload, take_item, l, &l->s->nr.nr_broken);
}

/* ---- order ---- */

static int compare_images(const void *a, const void *b)
{
	const struct symbols_image *x = a, *y = b;
	int way = strcmp(x->path, y->path);

	if (x->f.kind != y->f.kind)
		return x->f.kind < y->f.kind ? -1 : 1;
	if (x->f.key != y->f.key)
		return x->f.key < y->f.key ? -1 : 1;
	if (way)
		return way;
	/* Equal build-ids are one file, whether or not the kernel reported its inode. */
	way = memcmp(&x->f.build_id_bytes, &y->f.build_id_bytes, sizeof(x->f.build_id_bytes));
	if (!way)
		way = memcmp(x->f.build_id, y->f.build_id, sizeof(x->f.build_id));
	if (way || x->f.build_id_bytes)
		return way;
	return memcmp(&x->f.ino, &y->f.ino, sizeof(x->f) - offsetof(struct fmt_image, ino));
}

static int compare_functions(const void *a, const void *b)
{
	const struct symbols_function *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_places(const void *a, const void *b)
{
	const struct symbols_place *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* Rules refer to images by their index before sorting. */
static int sort_rules(struct symbols *s, const uint32_t *where)
{
	uint32_t *groups = calloc(s->nr.nr_images + 1, sizeof(*groups));

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < s->nr.nr_images; i++)
		groups[i] = image_at(s, where[i])->group;
	unwind_rules_sort(s->rules, groups);
	free(groups);
	return 0;
}

/* Sorts images and updates the references to them: *where has the new index of each. */
static void sort_images(struct symbols *s, uint32_t *where)
{
	struct symbols_image *images = (struct symbols_image *)s->images.p;
	uint32_t group = 0;

	/* The array's order replaces the id, which is not needed any more. */
	for (size_t i = 0; i < s->nr.nr_images; i++)
		images[i].f.id = (uint32_t)i;
	if (s->nr.nr_images)
		qsort(images, s->nr.nr_images, sizeof(*images), compare_images);
	for (size_t i = 0; i < s->nr.nr_images; i++) {
		if (images[i].f.kind != FMT_IMAGE_KERNEL &&
		    (!i || compare_images(&images[i - 1], &images[i])))
			group++;
		images[i].group = group;
		where[images[i].f.id] = (uint32_t)i;
	}
}

static int sort(struct symbols *s)
{
	uint32_t *where = calloc(s->nr.nr_images + 1, sizeof(*where));
	struct symbols_function *f = (struct symbols_function *)s->functions.p;
	struct symbols_place *p = (struct symbols_place *)s->places.p;
	int rc;

	if (!where)
		return -ENOMEM;
	sort_images(s, where);
	rc = sort_rules(s, where);
	s->nr.nr_functions = s->functions.len / sizeof(*f);
	s->nr.nr_places = s->places.len / sizeof(*p);
	for (size_t i = 0; i < s->nr.nr_functions; i++) {
		f[i].image = where[f[i].image];
		f[i].group = image_at(s, f[i].image)->group;
	}
	for (size_t i = 0; i < s->nr.nr_places; i++)
		p[i].group = image_at(s, where[p[i].group])->group;
	free(where);
	if (s->nr.nr_functions)
		qsort(f, s->nr.nr_functions, sizeof(*f), compare_functions);
	if (s->nr.nr_places)
		qsort(p, s->nr.nr_places, sizeof(*p), compare_places);
	return rc;
}

int symbols_load(struct reader *r, const struct process_history *p, struct symbols **out,
		 struct err *err)
{
	struct symbols *s = calloc(1, sizeof(*s));
	struct symbols_loader l = {.s = s};
	int rc = -ENOMEM;

	if (s)
		s->rules = unwind_rules_new();
	if (s && s->rules) {
		s->history = p;
		rc = section_items_load(r, FMT_SYMBOLS, MAX_SYMBOLS_BYTES, take_block, &l,
					&s->nr.nr_broken);
		if (!rc)
			rc = sort(s);
	}
	if (rc) {
		symbols_free(s);
		return err_set(err, rc,
			       rc == -E2BIG ? "the symbols of this dump are unreasonably large"
					    : "out of memory for the symbols of the dump");
	}
	*out = s;
	return 0;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	unwind_rules_free(s->rules);
	intern_free(&s->texts);
	buf_free(&s->images);
	buf_free(&s->functions);
	buf_free(&s->places);
	free(s);
}

void symbols_counts(const struct symbols *s, struct symbols_counts *out)
{
	*out = s->nr;
}

/* ---- lookups ---- */

/* The last function that begins at or before the place; SIZE_MAX: none. */
static size_t last_before(const struct symbols *s, uint32_t group, uint64_t at)
{
	size_t from = 0, to = s->nr.nr_functions;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct symbols_function *f = function_at(s, mid);

		if (f->group < group || (f->group == group && f->start <= at))
			from = mid + 1;
		else
			to = mid;
	}
	return from && function_at(s, from - 1)->group == group ? from - 1 : SIZE_MAX;
}

/* The function that contains the place; NULL: unknown. */
static const struct symbols_function *function_of(const struct symbols *s, uint32_t group,
						  uint64_t at)
{
	size_t i = last_before(s, group, at);

	/* Functions can be nested, like entry points in assembler. */
	for (int n = 0; n < MAX_NESTED && i != SIZE_MAX; n++, i--) {
		const struct symbols_function *f = function_at(s, i);

		if (f->group != group)
			break;
		if (at - f->start < f->bytes)
			return f;
	}
	return NULL;
}

static size_t first_place(const struct symbols *s, uint32_t group, uint64_t at)
{
	size_t from = 0, to = s->nr.nr_places;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct symbols_place *p = place_at(s, mid);

		if (p->group < group || (p->group == group && p->at < at))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static bool is_at(const struct symbols *s, size_t i, uint32_t group, uint64_t at)
{
	return i < s->nr.nr_places && place_at(s, i)->group == group && place_at(s, i)->at == at;
}

/* Adds the source to places[0], which comes from the symbol table; inserts inlined functions before
 * it. */
static size_t add_source(const struct symbols *s, uint32_t group, uint64_t at,
			 struct symbol_place *places, size_t max)
{
	const struct symbol_place whole = places[0];
	size_t i = first_place(s, group, at), nr = 0;

	for (; is_at(s, i, group, at) && nr < max && nr < SYMBOLS_MAX_DEPTH; i++, nr++) {
		const struct symbols_place *p = place_at(s, i);

		places[nr] = whole;
		places[nr].line = p->line;
		places[nr].file = p->file;
		places[nr].inlined = is_at(s, i + 1, group, at);
		if (places[nr].inlined || !whole.function)
			places[nr].function = p->function;
		if (places[nr].inlined)
			places[nr].function_off = 0;
	}
	return nr ? nr : 1;
}

static size_t describe(const struct symbols *s, uint32_t group, uint64_t at,
		       struct symbol_place *places, size_t max)
{
	const struct symbols_function *f = function_of(s, group, at);

	if (f) {
		places[0].function = f->name;
		places[0].function_off = at - f->start;
		if (!group)
			places[0].image = image_at(s, f->image)->path;
	}
	return add_source(s, group, at, places, max);
}

/* The first image that is not before (kind, key, path). */
static size_t first_image(const struct symbols *s, uint8_t kind, uint32_t key, const char *path)
{
	size_t from = 0, to = s->nr.nr_images;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct symbols_image *i = image_at(s, mid);

		if (i->f.kind < kind || (i->f.kind == kind && i->f.key < key) ||
		    (i->f.kind == kind && i->f.key == key && strcmp(i->path, path) < 0))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Compares build-ids if both are known, else inodes if both are known. */
static bool is_of(const struct symbols_image *i, const struct history_map *map)
{
	if (i->f.build_id_bytes && map->build_id_bytes)
		return i->f.build_id_bytes == map->build_id_bytes &&
		       !memcmp(i->f.build_id, map->build_id, map->build_id_bytes);
	if (i->f.ino && map->f.ino)
		return i->f.ino == map->f.ino && i->f.maj == map->f.maj && i->f.min == map->f.min;
	return true;
}

static uint32_t group_of_file(const struct symbols *s, const struct history_map *map)
{
	size_t i = first_image(s, FMT_IMAGE_FILE, 0, map->path);

	for (size_t n = 0; i < s->nr.nr_images && n < MAX_VERSIONS; i++, n++) {
		const struct symbols_image *image = image_at(s, i);

		if (image->f.kind != FMT_IMAGE_FILE || strcmp(image->path, map->path))
			break;
		if (is_of(image, map))
			return image->group;
	}
	return UINT32_MAX;
}

/* Looks up code generated by the process, in any mapping. False: address unknown. */
static bool made_by_task(const struct symbols *s, uint32_t key, uint64_t addr, uint32_t *group)
{
	for (size_t i = first_image(s, FMT_IMAGE_TASK, key, ""); i < s->nr.nr_images; i++) {
		const struct symbols_image *image = image_at(s, i);

		if (image->f.kind != FMT_IMAGE_TASK || image->f.key != key)
			break;
		*group = image->group;
		if (function_of(s, image->group, addr))
			return true;
	}
	return false;
}

/* The task key of the process of `tid`; 0: unknown. */
static uint32_t process_of(const struct symbols *s, uint32_t tid, uint64_t ns)
{
	const struct fmt_task *t = history_task(s->history, tid, ns);

	if (t && t->pid != t->tid)
		t = history_task(s->history, t->pid, ns);
	return t ? t->key : 0;
}

size_t symbols_user(const struct symbols *s, uint32_t tid, uint64_t ns, uint64_t addr,
		    struct symbol_place *places, size_t max, struct history_span *span)
{
	struct history_span own = {0, UINT64_MAX};
	struct history_map map;
	uint32_t group;
	bool mapped;

	if (!span)
		span = &own;
	*span = own;
	places[0] = (struct symbol_place){.image_off = addr};
	mapped = history_where(s->history, tid, ns, addr, &map, span);
	if (made_by_task(s, mapped ? map.f.key : process_of(s, tid, ns), addr, &group)) {
		if (!mapped)
			*span = (struct history_span){ns, ns};
		places[0].image = mapped ? map.path : NULL;
		return describe(s, group, addr, places, max);
	}
	if (!mapped)
		return 1;
	places[0].image = map.path;
	places[0].image_off = addr - map.f.start + map.f.pgoff;
	places[0].build_id = map.build_id;
	places[0].build_id_bytes = map.build_id_bytes;
	group = group_of_file(s, &map);
	return group == UINT32_MAX ? 1 : describe(s, group, places[0].image_off, places, max);
}

size_t symbols_kernel(const struct symbols *s, uint64_t ns, uint64_t addr,
		      struct symbol_place *places, size_t max, struct history_span *span)
{
	struct history_span own;
	struct history_ksym k;

	places[0] = (struct symbol_place){.image = "[kernel]", .image_off = addr};
	/* The history knows the time: another program may be at this address now. */
	if (history_ksym(s->history, ns, addr, &k, span ? span : &own)) {
		if (k.f.type == PERF_RECORD_KSYMBOL_TYPE_BPF)
			places[0].image = "[bpf]";
		places[0].function = k.name;
		places[0].function_off = addr - k.f.addr;
		return 1;
	}
	return describe(s, 0, addr, places, max);
}

bool symbols_kernel_part(const struct symbols *s, size_t *at, struct symbol_place *first,
			 uint64_t *end)
{
	const struct symbols_function *f = (const struct symbols_function *)s->functions.p;
	const struct symbols_image *image;
	size_t i = *at;

	if (i >= s->nr.nr_functions || f[i].group)
		return false;
	image = image_at(s, f[i].image);
	*first = (struct symbol_place){
		.function = f[i].name,
		.image = image->path,
		.image_off = f[i].start,
		.build_id = image->f.build_id,
		.build_id_bytes = image->f.build_id_bytes,
	};
	/* An image may be in several blocks; equal texts are equal pointers. */
	for (; i < s->nr.nr_functions && !f[i].group; i++) {
		if (image_at(s, f[i].image)->path != first->image)
			break;
		*end = f[i].start + f[i].bytes;
	}
	*at = i;
	return true;
}

const struct unwind_rules *symbols_rules(const struct symbols *s)
{
	return s->rules;
}

const struct unwind_rule *symbols_rule(const struct symbols *s, const struct history_map *map,
				       uint64_t place)
{
	uint32_t group = unwind_rules_nr(s->rules) ? group_of_file(s, map) : UINT32_MAX;

	return group == UINT32_MAX ? NULL : unwind_rules_find(s->rules, group, place);
}
