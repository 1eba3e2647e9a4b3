// SPDX-License-Identifier: MIT
/*
 * Adds names to a dump; see added_symbols.h. Called by cmd_symbols.c.
 *
 *	dump ─▶ hits ─▶ without a name? ─▶ file of that build-id ─▶ payloads ─▶ a new file
 */
#include "recorder/symbolize/added_symbols.h"

#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/symbols/symbol_notes.h"
#include "dump/file/writer.h"
#include "recorder/symbolize/collect.h"
#include "recorder/symbolize/debuginfod.h"
#include "recorder/symbolize/live_files.h"
#include "recorder/symbolize/debug_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_DWARF_BYTES (4ull << 30)

static const char *const debug_dirs[] = {"/usr/lib/debug"};

/* The images of one build of a file. */
struct added_file {
	uint32_t first, last; /* by image */
	uint64_t nr_hits;
	const uint8_t *id; /* the build-id */
	size_t id_bytes;   /* 0: unknown */
};

struct added_symbols {
	struct reader *r;
	struct process_history *history;
	struct symbols *symbols;
	struct symbol_notes *notes;
	struct addresses *hits;
	struct collect_result *results;
	struct added_file *files; /* ordered by hits */
	size_t nr_files;
	uint32_t *next; /* by image: the next one of the same file; 0: none */
	/* Used during the search. */
	struct debug_dirs *dirs;
	int debuginfod_fd;
	struct buf payloads; /* uint32_t length, payload; repeated */
};

/* ---- known symbols ---- */

/* The build-id of an image, from the ledger or from the search when the dump was made. */
static size_t id_of(const struct added_symbols *c, const struct addresses_image *i,
		    const uint8_t **id)
{
	const struct symbol_notes_image *says = symbol_notes_find(c->notes, i);

	*id = i->f.build_id_bytes || !says ? i->f.build_id : says->f.build_id;
	return i->f.build_id_bytes ? i->f.build_id_bytes : says ? says->f.build_id_bytes : 0;
}

static bool same_file(const struct added_symbols *c, const struct added_file *x,
		      const struct added_file *y)
{
	const struct addresses_image *a = addresses_image(c->hits, x->first);
	const struct addresses_image *b = addresses_image(c->hits, y->first);

	/* Equal paths share one text. */
	return a->f.kind == FMT_IMAGE_FILE && b->f.kind == FMT_IMAGE_FILE && a->path == b->path &&
	       x->id_bytes && x->id_bytes == y->id_bytes && !memcmp(x->id, y->id, x->id_bytes);
}

static int more_first(const void *a, const void *b)
{
	const struct added_file *x = a, *y = b;

	if (x->nr_hits != y->nr_hits)
		return x->nr_hits > y->nr_hits ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static int find_files(struct added_symbols *c, struct err *err)
{
	size_t nr = addresses_nr_images(c->hits), k;

	c->results = calloc(nr + 1, sizeof(*c->results));
	c->files = calloc(nr + 1, sizeof(*c->files));
	c->next = calloc(nr + 1, sizeof(*c->next));
	if (!c->results || !c->files || !c->next)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		const struct addresses_image *image = addresses_image(c->hits, i);
		struct added_file f = {(uint32_t)i, (uint32_t)i, image->nr_hits, NULL, 0};

		f.id_bytes = id_of(c, image, &f.id);
		for (k = 0; k < c->nr_files && !same_file(c, &c->files[k], &f); k++)
			;
		if (k == c->nr_files) {
			c->files[c->nr_files++] = f;
			continue;
		}
		c->next[c->files[k].last] = f.last;
		c->files[k].last = f.last;
		c->files[k].nr_hits += f.nr_hits;
	}
	qsort(c->files, c->nr_files, sizeof(*c->files), more_first);
	return 0;
}

int added_symbols_open(struct reader *r, const struct meta *m, struct added_symbols **out,
		       struct err *err)
{
	struct added_symbols *c = calloc(1, sizeof(*c));
	int rc = c ? history_load(r, &c->history, err) : err_set(err, -ENOMEM, "out of memory");

	if (c)
		c->r = r;
	if (!rc)
		rc = symbols_load(r, c->history, &c->symbols, err);
	if (!rc)
		rc = symbol_notes_load(r, &c->notes, err);
	if (!rc)
		rc = addresses_new(c->history, HITS_MAX_PLACES, &c->hits, err);
	if (!rc)
		rc = addresses_read(c->hits, r, m, err);
	if (!rc) {
		addresses_sort(c->hits);
		rc = find_files(c, err);
	}
	if (rc) {
		added_symbols_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void added_symbols_close(struct added_symbols *c)
{
	if (!c)
		return;
	buf_free(&c->payloads);
	free(c->results);
	free(c->files);
	free(c->next);
	addresses_free(c->hits);
	symbol_notes_free(c->notes);
	symbols_free(c->symbols);
	history_free(c->history);
	free(c);
}

static void look_up(const struct added_symbols *c, const struct addresses_place *p, bool *named,
		    bool *line)
{
	struct symbol_place places[SYMBOLS_MAX_DEPTH];
	size_t nr;

	if (p->tid == UINT32_MAX)
		nr = symbols_kernel(c->symbols, p->ns, p->addr, places, SYMBOLS_MAX_DEPTH, NULL);
	else
		nr = symbols_user(c->symbols, p->tid, p->ns, p->addr, places, SYMBOLS_MAX_DEPTH,
				  NULL);
	*named = places[nr - 1].function;
	*line = places[nr - 1].file || places[nr - 1].line;
}

size_t added_symbols_nr(const struct added_symbols *c)
{
	return c->nr_files;
}

static void add_image(const struct added_symbols *c, const struct addresses_image *image,
		      struct added_symbols_image *out)
{
	const struct symbol_notes_image *says = symbol_notes_find(c->notes, image);
	const struct addresses_place *p = addresses_places(c->hits, image);

	if (!out->says)
		out->says = says;
	if (says && !*out->note)
		out->note = says->note;
	for (size_t k = 0; k < image->nr; k++) {
		bool named, line;

		look_up(c, &p[k], &named, &line);
		out->nr_hits += p[k].nr;
		out->nr_named += named ? p[k].nr : 0;
		out->nr_lines += line ? p[k].nr : 0;
	}
}

void added_symbols_image(const struct added_symbols *c, size_t i, struct added_symbols_image *out)
{
	uint32_t at = c->files[i].first;

	*out = (struct added_symbols_image){.image = addresses_image(c->hits, at), .note = ""};
	add_image(c, out->image, out);
	while ((at = c->next[at]))
		add_image(c, addresses_image(c->hits, at), out);
}

/* ---- search ---- */

static bool is_missing(void *ctx, const struct addresses_place *p, bool source)
{
	bool named, line;

	look_up(ctx, p, &named, &line);
	return source ? !line : !named;
}

static bool has_code(struct elf *e)
{
	struct bytes text;

	return elf_section(e, ".text", &text);
}

/* Finds this build-id in the directories: the binary, else a debug file. */
static int open_from_dirs(const struct added_symbols *c, const uint8_t *id, size_t bytes,
			  bool debug, struct elf **out, const char **path)
{
	for (size_t n = 0; c->dirs && bytes; n++) {
		*path = debug_dirs_find(c->dirs, id, bytes, n);
		if (!*path)
			break;
		if (elf_open(*path, out, NULL))
			continue;
		if (has_code(*out) != debug)
			return 0;
		elf_close(*out);
	}
	return -ENOENT;
}

/* Finds the debug file of a binary that was found. */
static int find_debug(void *ctx, const uint8_t *id, size_t bytes)
{
	struct added_symbols *c = ctx;
	const char *path;
	struct elf *e;

	if (!open_from_dirs(c, id, bytes, true, &e, &path)) {
		elf_close(e);
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	return debuginfod_find(c->debuginfod_fd, id, bytes, true);
}

/* Opens the binary on this machine if its build-id matches. */
static int open_here(struct added_symbols *c, size_t i, struct elf **e,
		     struct symbol_file_options *opt)
{
	const struct addresses_image *image = addresses_image(c->hits, i);
	int fd;

	if (image->path[0] != '/')
		return -ENOENT;
	fd = live_file_open(image, NULL, 0, NULL, NULL);
	opt->path = image->path;
	return fd < 0 ? fd : elf_open_fd(fd, image->path, e, NULL);
}

/* Opens a debug file without its binary: the segments stored in the dump map addresses to
 * offsets. */
static int open_debug(struct added_symbols *c, const uint8_t *id, size_t bytes,
		      const struct symbol_notes_image *says, struct elf **e,
		      struct symbol_file_options *opt)
{
	const char *path;
	int fd;

	if (!says || !says->nr_segments)
		return -ENOENT;
	opt->segments = says->segments;
	opt->nr_segments = says->nr_segments;
	if (!open_from_dirs(c, id, bytes, true, e, &path))
		return 0;
	fd = debuginfod_find(c->debuginfod_fd, id, bytes, true);
	return fd < 0 ? fd : elf_open_fd(fd, "a debug file of its build-id", e, NULL);
}

static int open_file(void *ctx, size_t i, struct elf **e, struct symbol_file_options *opt,
		     struct err *err)
{
	struct added_symbols *c = ctx;
	const struct addresses_image *image = addresses_image(c->hits, i);
	const uint8_t *id;
	size_t bytes = id_of(c, image, &id);
	const char *path;
	int fd;

	*opt = (struct symbol_file_options){
		.dirs = debug_dirs, .nr_dirs = 1, .find = find_debug, .ctx = c};
	if (!open_from_dirs(c, id, bytes, false, e, &path))
		return 0;
	if (!open_here(c, i, e, opt))
		return 0;
	if (!open_debug(c, id, bytes, symbol_notes_find(c->notes, image), e, opt))
		return 0;
	fd = debuginfod_find(c->debuginfod_fd, id, bytes, false);
	if (fd >= 0)
		return elf_open_fd(fd, image->path, e, err);
	if (!bytes)
		return err_set(err, -ENOENT, "its build-id is not known");
	return err_set(err, -ENOENT, "no file with its build-id was found");
}

static int keep(void *ctx, struct bytes payload)
{
	struct added_symbols *c = ctx;
	uint32_t n = (uint32_t)payload.len;
	int rc = buf_put(&c->payloads, &n, sizeof(n));

	return rc ? rc : buf_put(&c->payloads, payload.p, payload.len);
}

int added_symbols_find(struct added_symbols *c, struct debug_dirs *dirs, int debuginfod_fd,
		       bool *found, struct err *err)
{
	struct symbols_writer put = {.out = keep, .ctx = c};
	struct collect_options opt = {
		.hits = c->hits,
		.source = {.open = open_file, .ctx = c},
		.wanted = is_missing,
		.ctx = c,
		.max_dwarf_bytes = MAX_DWARF_BYTES,
	};
	int rc;

	c->dirs = dirs;
	c->debuginfod_fd = debuginfod_fd;
	rc = collect(&opt, &put, c->results);
	symbols_writer_free(&put);
	if (rc)
		return err_set(err, rc, "out of memory for names of functions");
	*found = c->payloads.len;
	return 0;
}

/* ---- writing ---- */

static int put_all(void *ctx, struct writer *w, struct err *err)
{
	struct added_symbols *c = ctx;
	struct bytes b = {c->payloads.p, c->payloads.len}, payload, item;
	uint16_t kind;
	bool broken = false;
	uint32_t n;

	writer_section(w, FMT_SYMBOLS);
	while (bytes_u32(&b, &n) && bytes_take(&b, n, &payload)) {
		while (reader_next_item(&payload, &kind, &item, &broken))
			writer_item(w, kind, item.p, item.len, NULL, 0, NULL);
		writer_flush(w);
	}
	return 0;
}

int added_symbols_write(struct added_symbols *c, int fd, struct err *err)
{
	return reader_extend_fd(c->r, fd, put_all, c, err);
}
