// SPDX-License-Identifier: MIT
/*
 * From hit addresses to SYMBOLS; see collect.h. Called by collect_live.c and cmd_symbols.c.
 *
 *	images ─▶ groups: the same file under several identities (build-id, inode)
 *	             │
 *	             ├─ pass 1  names of functions, written once for each identity
 *	             └─ pass 2  source lines, where the file or its debug file has DWARF
 */
#include "recorder/symbolize/collect.h"

#include "dump/base/err.h"
#include "dump/view/symbols/kallsyms.h"
#include "dump/view/symbols/perf_map.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16
/* Results are flushed at this interval, so that a stopped search has passed them on. */
#define FLUSH_NS 100000000ull

struct collected_file {
	uint8_t id[ELF_BUILD_ID_MAX]; /* from the file, else from the ledger */
	size_t id_bytes;
	bool opens;
	size_t group; /* index of the group's first image */
};

struct symbol_collector {
	const struct collect_options *opt;
	struct symbols_writer *put;
	struct collect_result *results;
	struct collected_file *files; /* by image */
	size_t nr;
	struct buf found; /* struct symbol_table_function[] of one group */
	uint64_t flushed_ns;
};

static const struct addresses_image *image_at(const struct symbol_collector *c, size_t i)
{
	return addresses_image(c->opt->hits, i);
}

static bool late(const struct symbol_collector *c)
{
	return c->opt->deadline_ns && clock_ns() >= c->opt->deadline_ns;
}

static bool wanted(const struct symbol_collector *c, const struct addresses_place *p)
{
	return !c->opt->wanted || c->opt->wanted(c->opt->ctx, p, false);
}

static bool source_wanted(const struct symbol_collector *c, const struct addresses_place *p)
{
	return !c->opt->wanted || c->opt->wanted(c->opt->ctx, p, true);
}

static void flush_old(struct symbol_collector *c)
{
	uint64_t now = clock_ns();

	if (now - c->flushed_ns < FLUSH_NS)
		return;
	c->flushed_ns = now;
	symbols_writer_flush(c->put);
}

static void note(struct symbol_collector *c, size_t i, const char *text)
{
	snprintf(c->results[i].note, sizeof(c->results[i].note), "%s", text);
}

/* ---- groups ---- */

/* Checks whether the file exists, and reads its build-id. */
static void look(struct symbol_collector *c, size_t i)
{
	const struct addresses_image *image = image_at(c, i);
	struct symbol_file_options so = {0};
	struct err err = ERR_INIT;
	struct collected_file *f = &c->files[i];
	struct elf *e;

	f->id_bytes = image->f.build_id_bytes;
	memcpy(f->id, image->f.build_id, sizeof(f->id));
	if (c->opt->source.open(c->opt->source.ctx, i, &e, &so, &err)) {
		note(c, i, err.what);
		return;
	}
	f->opens = true;
	if (!f->id_bytes)
		f->id_bytes = elf_build_id(e, f->id);
	elf_close(e);
}

static bool same_file(const struct symbol_collector *c, size_t i, size_t k)
{
	const struct collected_file *x = &c->files[i], *y = &c->files[k];

	return x->id_bytes && x->id_bytes == y->id_bytes && !memcmp(x->id, y->id, x->id_bytes) &&
	       image_at(c, i)->path == image_at(c, k)->path;
}

static void find_group(struct symbol_collector *c, size_t i)
{
	c->files[i].group = i;
	for (size_t k = 0; k < i; k++)
		if (image_at(c, k)->f.kind == FMT_IMAGE_FILE && c->files[k].group == k &&
		    same_file(c, i, k)) {
			c->files[i].group = k;
			return;
		}
}

/* Opens any file of the group: all have the same content. */
static int open_group(struct symbol_collector *c, size_t group, uint64_t max_dwarf_bytes,
		      struct symbol_file **out)
{
	for (size_t i = group; i < c->nr; i++) {
		struct symbol_file_options so = {0};
		struct elf *e;

		if (image_at(c, i)->f.kind != FMT_IMAGE_FILE || c->files[i].group != group ||
		    !c->files[i].opens)
			continue;
		if (c->opt->source.open(c->opt->source.ctx, i, &e, &so, NULL))
			continue;
		so.max_dwarf_bytes = max_dwarf_bytes;
		return symbol_file_open(e, &so, out, NULL);
	}
	return -ENOENT;
}

/* ---- identities ---- */

static bool same_inode(const struct fmt_image *x, const struct fmt_image *y)
{
	return x->ino == y->ino && x->maj == y->maj && x->min == y->min;
}

/* A file known only by its build-id is covered by any image with that build-id. */
static bool is_covered(const struct symbol_collector *c, size_t i)
{
	const struct fmt_image *f = &image_at(c, i)->f;

	for (size_t k = c->files[i].group; k < c->nr; k++) {
		const struct fmt_image *other = &image_at(c, k)->f;

		if (k == i || other->kind != FMT_IMAGE_FILE ||
		    c->files[k].group != c->files[i].group)
			continue;
		if (!f->ino && (other->ino || k < i))
			return true;
		if (f->ino && k < i && same_inode(f, other))
			return true;
	}
	return false;
}

/* The next image of the group, from `i` on, with a new identity; c->nr: none. */
static size_t next_identity(const struct symbol_collector *c, size_t group, size_t i)
{
	while (i < c->nr && (image_at(c, i)->f.kind != FMT_IMAGE_FILE ||
			     c->files[i].group != group || is_covered(c, i)))
		i++;
	return i;
}

static void put_identity(struct symbol_collector *c, size_t i)
{
	struct fmt_image f = image_at(c, i)->f;

	f.ino_generation = 0;
	f.build_id_bytes = (uint8_t)c->files[i].id_bytes;
	memcpy(f.build_id, c->files[i].id, sizeof(f.build_id));
	symbols_writer_image(c->put, &f, image_at(c, i)->path);
}

/* ---- functions of files ---- */

static int compare(const void *a, const void *b)
{
	const struct symbol_table_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void find_functions(struct symbol_collector *c, const struct symbol_file *f, size_t i)
{
	const struct addresses_image *image = image_at(c, i);
	const struct addresses_place *p = addresses_places(c->opt->hits, image);
	struct collect_result *r = &c->results[i];
	struct symbol_table_function found;

	for (size_t k = 0; k < image->nr; k++) {
		if (!wanted(c, &p[k]))
			continue;
		if (!symbol_file_find(f, p[k].at, &found))
			continue;
		r->nr_named++;
		if (buf_put(&c->found, &found, sizeof(found)))
			c->put->rc = -ENOMEM;
	}
	snprintf(r->origin, sizeof(r->origin), "%s", symbol_file_origin(f));
	if (r->nr_named < r->nr_wanted)
		note(c, i,
		     strcmp(r->origin, ".dynsym") ? "it has no names for some of its code"
						  : "it is stripped, and there is no debug file");
}

static void put_functions(struct symbol_collector *c)
{
	struct symbol_table_function *v = (struct symbol_table_function *)c->found.p;
	size_t nr = c->found.len / sizeof(*v);

	for (size_t i = 0; i < nr; i++)
		if (!i || v[i].start != v[i - 1].start)
			symbols_writer_function(c->put, v[i].start, v[i].bytes, v[i].name);
}

static void put_segments(struct symbol_collector *c, const struct symbol_file *f)
{
	const struct elf_segment *v;
	size_t nr = symbol_file_segments(f, &v);

	for (size_t i = 0; i < nr; i++)
		symbols_writer_segment(c->put, 0, &v[i]);
}

static bool group_wants(const struct symbol_collector *c, size_t group)
{
	for (size_t i = group; i < c->nr; i++)
		if (image_at(c, i)->f.kind == FMT_IMAGE_FILE && c->files[i].group == group &&
		    c->results[i].nr_wanted)
			return true;
	return false;
}

static void name_group(struct symbol_collector *c, size_t group)
{
	struct symbol_file *f;

	if (!group_wants(c, group) || open_group(c, group, 0, &f))
		return;
	c->found.len = 0;
	for (size_t i = group; i < c->nr; i++)
		if (image_at(c, i)->f.kind == FMT_IMAGE_FILE && c->files[i].group == group)
			find_functions(c, f, i);
	if (c->found.len)
		qsort(c->found.p, c->found.len / sizeof(struct symbol_table_function),
		      sizeof(struct symbol_table_function), compare);
	for (size_t i = next_identity(c, group, group); i < c->nr;
	     i = next_identity(c, group, i + 1)) {
		put_identity(c, i);
		if (!c->opt->wanted)
			put_segments(c, f);
		put_functions(c);
	}
	symbol_file_close(f);
	flush_old(c);
}

/* ---- source lines of files ---- */

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The wanted places of a group in ascending order, without duplicates from its images. */
static const uint64_t *places_of_group(struct symbol_collector *c, size_t group, size_t *nr)
{
	c->found.len = 0;
	for (size_t i = group; i < c->nr; i++) {
		const struct addresses_image *image = image_at(c, i);
		const struct addresses_place *p = addresses_places(c->opt->hits, image);

		if (image->f.kind != FMT_IMAGE_FILE || c->files[i].group != group)
			continue;
		for (size_t k = 0; k < image->nr; k++)
			if (source_wanted(c, &p[k]) &&
			    buf_put(&c->found, &p[k].at, sizeof(p[k].at)))
				c->put->rc = -ENOMEM;
	}
	*nr = c->found.len / sizeof(uint64_t);
	if (*nr)
		qsort(c->found.p, *nr, sizeof(uint64_t), compare_numbers);
	return (const uint64_t *)c->found.p;
}

static void put_places(struct symbol_collector *c, struct symbol_file *f, const uint64_t *at,
		       size_t nr_at)
{
	struct dwarf_place places[MAX_DEPTH];

	for (size_t k = 0; k < nr_at && !late(c); k++) {
		size_t nr = k && at[k] == at[k - 1]
				    ? 0
				    : symbol_file_places(f, at[k], places, MAX_DEPTH);

		for (size_t n = 0; n < nr; n++)
			symbols_writer_place(c->put, at[k], (uint32_t)n, places[n].function,
					     places[n].file, places[n].line);
	}
}

static void source_of_group(struct symbol_collector *c, size_t group)
{
	struct symbol_file *f;
	const uint64_t *at;
	size_t nr;

	at = places_of_group(c, group, &nr);
	if (!nr || open_group(c, group, c->opt->max_dwarf_bytes, &f))
		return;
	for (size_t i = next_identity(c, group, group); i < c->nr && symbol_file_has_source(f);
	     i = next_identity(c, group, i + 1)) {
		put_identity(c, i);
		put_places(c, f, at, nr);
	}
	symbol_file_close(f);
	flush_old(c);
}

static void each_group(struct symbol_collector *c,
		       void (*what)(struct symbol_collector *c, size_t group))
{
	for (size_t i = 0; i < c->nr && !late(c) && !c->put->rc; i++)
		if (image_at(c, i)->f.kind == FMT_IMAGE_FILE && c->files[i].group == i)
			what(c, i);
}

static void name_files(struct symbol_collector *c)
{
	for (size_t i = 0; i < c->nr && !late(c); i++) {
		if (image_at(c, i)->f.kind != FMT_IMAGE_FILE)
			continue;
		look(c, i);
		find_group(c, i);
	}
	each_group(c, name_group);
}

/* ---- the kernel ---- */

static void put_kernel_function(struct symbol_collector *c, const struct fmt_image *f,
				const struct kallsyms_function *k, uint64_t slide)
{
	struct fmt_image module = {.kind = FMT_IMAGE_KERNEL};
	char name[512];

	snprintf(name, sizeof(name), "%.*s", (int)k->name_bytes, k->name);
	symbols_writer_image(c->put, *k->module ? &module : f,
			     *k->module ? k->module : "[kernel.kallsyms]");
	symbols_writer_function(c->put, k->start + slide, k->bytes, name);
}

static void name_kernel(struct symbol_collector *c, size_t i)
{
	const struct addresses_image *image = image_at(c, i);
	const struct addresses_place *p = addresses_places(c->opt->hits, image);
	struct collect_result *r = &c->results[i];
	struct fmt_image f = {.kind = FMT_IMAGE_KERNEL};
	struct kallsyms_function k;
	const struct kallsyms *table;
	struct err err = ERR_INIT;
	uint64_t slide = 0, last = 0;

	if (c->opt->source.kernel(c->opt->source.ctx, &table, &slide, &f, &err)) {
		symbols_writer_image(c->put, &f, "[kernel.kallsyms]");
		symbols_writer_note(c->put, err.what);
		return;
	}
	/* The start of the text gives the slide of addresses in another symbol list or file of the
	 * same kernel. */
	if (kallsyms_text(table) && kallsyms_find(table, kallsyms_text(table), &k))
		put_kernel_function(c, &f, &k, slide);
	for (size_t n = 0; n < image->nr; n++) {
		if (!wanted(c, &p[n]))
			continue;
		if (!kallsyms_find(table, p[n].at - slide, &k))
			continue;
		r->nr_named++;
		if (k.start != last)
			put_kernel_function(c, &f, &k, slide);
		last = k.start;
	}
	strcpy(r->origin, "kallsyms");
	if (r->nr_named < r->nr_wanted)
		note(c, i, "code that the kernel has no names for any more");
	flush_old(c);
}

/* ---- JIT code ---- */

static void put_jit(void *ctx, uint64_t start, uint64_t bytes, const char *name)
{
	struct symbol_collector *c = ctx;

	symbols_writer_function(c->put, start, bytes, name);
}

/* `addrs`: the wanted places of image `i`. */
static void read_jit(struct symbol_collector *c, size_t i, const uint64_t *addrs, size_t nr)
{
	struct collect_result *r = &c->results[i];
	struct perf_map *m = NULL;
	struct err err = ERR_INIT;
	FILE *in = NULL;

	int rc = c->opt->source.jit(c->opt->source.ctx, i, &in, &err);

	if (rc) {
		/* Most processes have no JIT: an address outside all files comes from a
		 * broken chain. */
		if (rc != -ENOENT)
			note(c, i, err.what);
		return;
	}
	if (!perf_map_new(addrs, nr, &m) && !perf_map_read(m, in)) {
		symbols_writer_image(c->put, &image_at(c, i)->f, "perf map");
		perf_map_each(m, put_jit, c);
		for (size_t k = 0; k < nr; k++)
			r->nr_named += perf_map_has(m, k);
	}
	perf_map_free(m);
	fclose(in);
	strcpy(r->origin, "perf map");
	if (r->nr_named < r->nr_wanted)
		note(c, i, "its perf map does not name all of the code that it made");
}

static void name_task(struct symbol_collector *c, size_t i)
{
	const struct addresses_image *image = image_at(c, i);
	const struct addresses_place *p = addresses_places(c->opt->hits, image);
	uint64_t *addrs = calloc(image->nr + 1, sizeof(*addrs));
	size_t nr = 0;

	for (size_t k = 0; addrs && k < image->nr; k++)
		if (wanted(c, &p[k]))
			addrs[nr++] = p[k].at;
	if (nr && c->opt->source.jit)
		read_jit(c, i, addrs, nr);
	free(addrs);
	flush_old(c);
}

/* ---- entry point ---- */

static void put_notes(struct symbol_collector *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		const char *text = c->results[i].note;

		if (!*text)
			continue;
		if (image_at(c, i)->f.kind == FMT_IMAGE_FILE)
			put_identity(c, i);
		else
			symbols_writer_image(c->put, &image_at(c, i)->f, image_at(c, i)->path);
		symbols_writer_note(c->put, text);
	}
}

static void count_wanted(struct symbol_collector *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct addresses_image *image = image_at(c, i);
		const struct addresses_place *p = addresses_places(c->opt->hits, image);

		for (size_t k = 0; k < image->nr; k++)
			c->results[i].nr_wanted += wanted(c, &p[k]);
	}
}

static void of_kind(struct symbol_collector *c, uint8_t kind,
		    void (*name)(struct symbol_collector *c, size_t i))
{
	for (size_t i = 0; i < c->nr && !late(c) && !c->put->rc; i++)
		if (image_at(c, i)->f.kind == kind)
			name(c, i);
}

int collect(const struct collect_options *opt, struct symbols_writer *put,
	    struct collect_result *results)
{
	struct symbol_collector c = {.opt = opt,
				     .put = put,
				     .results = results,
				     .nr = addresses_nr_images(opt->hits),
				     .flushed_ns = clock_ns()};

	c.files = calloc(c.nr + 1, sizeof(*c.files));
	if (!c.files)
		return -ENOMEM;
	count_wanted(&c);
	of_kind(&c, FMT_IMAGE_TASK, name_task); /* first: these files may be deleted soon */
	name_files(&c);
	if (opt->source.kernel)
		of_kind(&c, FMT_IMAGE_KERNEL, name_kernel);
	if (!opt->wanted)
		put_notes(&c);
	symbols_writer_flush(put);
	if (opt->max_dwarf_bytes)
		each_group(&c, source_of_group);
	symbols_writer_flush(put);
	buf_free(&c.found);
	free(c.files);
	return put->rc;
}
