// SPDX-License-Identifier: MIT
/*
 * Mappings of data; see export_perf.h. perf unwinds stack copies by tables of the file, and finds
 * them through the mappings of the process; the ledger has only mappings of code. So an export with
 * stack copies adds mappings of the file's other segments. The loader maps all of them at one
 * distance:
 *
 *	   file │ tables │ code │ tables │ variables │
 *	        └─────┐  └────┐ └────┐   └──────┐
 *	 memory       │ tables │ code │ tables │ variables │
 */
#include "dump/view/export/export_perf.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/view/symbols/symbol_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
/* At most this many files of one path are compared. */
#define MAX_VERSIONS 64
/* Longer than any file. */
#define MAX_BYTES (4ull << 30)

struct perf_data {
	struct symbol_notes *notes;
	const struct symbol_notes_image **v; /* images with data segments, by path */
	size_t nr;
};

static int compare_paths(const void *a, const void *b)
{
	const struct symbol_notes_image *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static bool has_stacks(const struct perf_export *p)
{
	for (size_t i = 0; i < p->nr_evsels; i++)
		if (p->evsels[i].attr.sample_type & PERF_SAMPLE_STACK_USER)
			return true;
	return false;
}

int perf_data_new(const struct perf_export *p, struct perf_data **out, struct err *err)
{
	struct perf_data *d;
	const struct symbol_notes_image *i;
	size_t nr = 0;
	int rc;

	if (!has_stacks(p))
		return 0;
	d = calloc(1, sizeof(*d));
	rc = d ? symbol_notes_load(p->x->a.r, &d->notes, err)
	       : err_set(err, -ENOMEM, "out of memory");
	if (rc) {
		perf_data_free(d);
		return rc;
	}
	while (symbol_notes_nth(d->notes, nr))
		nr++;
	d->v = calloc(nr + 1, sizeof(*d->v));
	if (!d->v) {
		perf_data_free(d);
		return err_set(err, -ENOMEM, "out of memory for the files of the dump");
	}
	for (size_t k = 0; (i = symbol_notes_nth(d->notes, k)); k++)
		if (i->f.kind == FMT_IMAGE_FILE && i->nr_segments && i->nr_data)
			d->v[d->nr++] = i;
	qsort(d->v, d->nr, sizeof(*d->v), compare_paths);
	*out = d;
	return 0;
}

void perf_data_free(struct perf_data *d)
{
	if (!d)
		return;
	symbol_notes_free(d->notes);
	free(d->v);
	free(d);
}

static bool is_of(const struct symbol_notes_image *i, const struct history_map *m)
{
	if (i->f.build_id_bytes && m->build_id_bytes)
		return i->f.build_id_bytes == m->build_id_bytes &&
		       !memcmp(i->f.build_id, m->build_id, m->build_id_bytes);
	return i->f.ino == m->f.ino && i->f.maj == m->f.maj && i->f.min == m->f.min;
}

static const struct symbol_notes_image *image_of(const struct perf_data *d,
						 const struct history_map *m)
{
	size_t from = array_bisect(i, d->nr, strcmp(d->v[i]->path, m->path) < 0);

	for (size_t n = 0; from < d->nr && n < MAX_VERSIONS; from++, n++) {
		if (strcmp(d->v[from]->path, m->path))
			break;
		if (is_of(d->v[from], m))
			return d->v[from];
	}
	return NULL;
}

static uint64_t page_of(uint64_t addr)
{
	return addr - addr % PAGE_BYTES;
}

size_t perf_data_maps(const struct perf_data *d, const struct history_map *code,
		      struct history_map out[PERF_MAX_DATA])
{
	const struct symbol_notes_image *i = d ? image_of(d, code) : NULL;
	size_t nr = 0;

	/* Once for a file: with its first code segment. */
	if (!i || page_of(i->segments[0].offset) != code->f.pgoff)
		return 0;
	for (size_t k = 0; k < i->nr_data && nr < PERF_MAX_DATA; k++) {
		const struct elf_segment *s = &i->data[k];
		uint64_t start = code->f.start + page_of(s->value) - page_of(i->segments[0].value);
		uint64_t bytes = align_up(s->value % PAGE_BYTES + s->bytes, PAGE_BYTES);

		if (s->bytes > MAX_BYTES || s->value > INT64_MAX || start > INT64_MAX)
			continue;
		out[nr] = *code;
		out[nr].f.start = start;
		out[nr].f.end = start + bytes;
		out[nr].f.pgoff = page_of(s->offset);
		out[nr++].f.prot = PROT_READ;
	}
	return nr;
}
