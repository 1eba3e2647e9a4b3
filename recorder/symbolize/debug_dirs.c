// SPDX-License-Identifier: MIT
/* Files by build-id; see debug_dirs.h. Called by cmd_symbols.c. */
#include "recorder/symbolize/debug_dirs.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/elf.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILES 1000000

struct debug_file {
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_bytes;
	char *path;
};

struct debug_dirs {
	struct buf files; /* struct debug_file[] */
	size_t nr;
	bool sorted;
};

int debug_dirs_new(struct debug_dirs **out, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static struct debug_file *files_of(const struct debug_dirs *d)
{
	return (struct debug_file *)d->files.p;
}

void debug_dirs_free(struct debug_dirs *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nr; i++)
		free(files_of(d)[i].path);
	buf_free(&d->files);
	free(d);
}

static int add_file(struct debug_dirs *d, const char *path, struct err *err)
{
	struct debug_file f = {.id_bytes = 0};
	struct elf *e;

	if (elf_open(path, &e, NULL))
		return 0;
	f.id_bytes = elf_build_id(e, f.id);
	elf_close(e);
	if (!f.id_bytes)
		return 0;
	if (d->nr == MAX_FILES)
		return err_set(err, -E2BIG, "there are more than %d files with a build-id",
			       MAX_FILES);
	f.path = strdup(path);
	if (!f.path || buf_put(&d->files, &f, sizeof(f))) {
		free(f.path);
		return err_set(err, -ENOMEM, "out of memory for the list of debug files");
	}
	d->nr++;
	d->sorted = false;
	return 0;
}

int debug_dirs_add(struct debug_dirs *d, const char *dir, struct err *err)
{
	char *paths[] = {strdup(dir), NULL};
	struct stat st;
	FTSENT *at;
	FTS *walk;
	int rc = 0;

	if (!paths[0] || stat(dir, &st)) {
		rc = paths[0] ? err_sys(err, -errno, "can't look into %s", dir)
			      : err_set(err, -ENOMEM, "out of memory");
		free(paths[0]);
		return rc;
	}
	walk = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	while (walk && !rc && (at = fts_read(walk)))
		/* Many entries in .build-id directories are links to files elsewhere. */
		if (at->fts_info == FTS_F ||
		    (at->fts_info == FTS_SL && !stat(at->fts_path, &st) && S_ISREG(st.st_mode)))
			rc = add_file(d, at->fts_path, err);
	if (walk)
		fts_close(walk);
	free(paths[0]);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct debug_file *x = a, *y = b;
	int way;

	if (x->id_bytes != y->id_bytes)
		return x->id_bytes < y->id_bytes ? -1 : 1;
	way = memcmp(x->id, y->id, x->id_bytes);
	return way ? way : strcmp(x->path, y->path);
}

static bool has_id(const struct debug_file *f, const uint8_t *id, size_t bytes)
{
	return f->id_bytes == bytes && !memcmp(f->id, id, bytes);
}

const char *debug_dirs_find(struct debug_dirs *d, const uint8_t *id, size_t bytes, size_t n)
{
	size_t from = 0, to = d->nr;

	if (!d->sorted && d->nr)
		qsort(d->files.p, d->nr, sizeof(struct debug_file), compare);
	d->sorted = true;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct debug_file *f = &files_of(d)[mid];

		if (f->id_bytes < bytes || (f->id_bytes == bytes && memcmp(f->id, id, bytes) < 0))
			from = mid + 1;
		else
			to = mid;
	}
	from += n;
	return from < d->nr && has_id(&files_of(d)[from], id, bytes) ? files_of(d)[from].path
								     : NULL;
}
