// SPDX-License-Identifier: MIT
/*
 * Names of one file; see symbol_file.h. Called by collect.c of recorder/symbolize.
 *
 *	.symtab, .dynsym, stubs ─┐
 *	.gnu_debugdata (.xz)    ─┼─▶ symbol_table  of the file itself
 *	debug file's .symtab    ─┘                 when the file has no .symtab
 *	.debug_info ─▶ dwarf                       of the file, else of its debug file
 *
 * A debug file is one only when its build-id is the same; without build-ids, when its checksum is
 * what .gnu_debuglink says.
 */
#include "dump/view/symbols/symbol_file.h"

#include "dump/base/err.h"
#include "dump/view/base/xz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MINI_BYTES (256u << 20)
#define MAX_PATH       4096

struct symbol_file {
	struct elf *elf, *mini, *debug;
	struct dwarf *dwarf;
	struct symbol_table *table;
	struct elf_segment segments[SYMFILE_MAX_SEGMENTS];
	size_t nr_segments;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_bytes;
	char origin[MAX_PATH];
};

/* ---- the debug file ---- */

static bool has_id(struct elf *e, const uint8_t *id, size_t bytes)
{
	uint8_t own[ELF_BUILD_ID_MAX];

	return bytes && elf_build_id(e, own) == bytes && !memcmp(own, id, bytes);
}

/* Takes `e` if it is the debug file of `f`; closes it otherwise. */
static bool take_debug(struct symbol_file *f, struct elf *e, const char *origin)
{
	if (!has_id(e, f->id, f->id_bytes)) {
		elf_close(e);
		return false;
	}
	f->debug = e;
	snprintf(f->origin, sizeof(f->origin), "%s", origin);
	return true;
}

static bool debug_of_id(struct symbol_file *f, const char *dir)
{
	char path[MAX_PATH];
	struct elf *e;
	int n = snprintf(path, sizeof(path), "%s/.build-id/%02x/", dir, f->id[0]);

	for (size_t i = 1; i < f->id_bytes && n > 0 && (size_t)n < sizeof(path); i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", f->id[i]);
	if (n < 0 || (size_t)n + sizeof(".debug") > sizeof(path))
		return false;
	strcpy(path + n, ".debug");
	return !elf_open(path, &e, NULL) && take_debug(f, e, path);
}

static bool crc_of(const char *path, uint32_t *crc)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t piece[1 << 16];
	struct stat st;
	ssize_t n = -1;

	*crc = 0;
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		while ((n = read(fd, piece, sizeof(piece))) > 0)
			*crc = xz_crc32((struct bytes){piece, (size_t)n}, *crc);
	close(fd);
	return !n;
}

static bool debug_at(struct symbol_file *f, const char *path, uint32_t crc)
{
	uint32_t got;
	struct elf *e;

	if (elf_open(path, &e, NULL))
		return false;
	if (f->id_bytes)
		return take_debug(f, e, path);
	if (!crc_of(path, &got) || got != crc) {
		elf_close(e);
		return false;
	}
	f->debug = e;
	snprintf(f->origin, sizeof(f->origin), "%s", path);
	return true;
}

/* A file name, zeros up to a multiple of 4, the checksum. */
static bool read_link(struct elf *e, const char **name, uint32_t *crc)
{
	struct bytes b, part;
	size_t len;

	if (!elf_section(e, ".gnu_debuglink", &b))
		return false;
	len = strnlen((const char *)b.p, b.len);
	*name = (const char *)b.p;
	return len && !strchr(*name, '/') && len < 256 &&
	       bytes_take(&b, align_up(len + 1, 4), &part) && bytes_u32(&b, crc);
}

static bool debug_by_link(struct symbol_file *f, const struct symbol_file_options *opt)
{
	static const char *const beside[] = {"", ".debug/"};
	const char *name, *slash = opt->path ? strrchr(opt->path, '/') : NULL;
	int dir_len = slash ? (int)(slash - opt->path) : 0;
	char path[MAX_PATH];
	uint32_t crc;

	if (!slash || dir_len > MAX_PATH / 2 || !read_link(f->elf, &name, &crc))
		return false;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%.*s/%s%s", dir_len, opt->path, beside[i], name);
		if (strcmp(path, opt->path) && debug_at(f, path, crc))
			return true;
	}
	for (size_t i = 0; i < opt->nr_dirs; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s", opt->dirs[i], dir_len, opt->path, name);
		if (debug_at(f, path, crc))
			return true;
	}
	return false;
}

static bool debug_found(struct symbol_file *f, const struct symbol_file_options *opt)
{
	struct elf *e;
	int fd = opt->find ? opt->find(opt->ctx, f->id, f->id_bytes) : -ENOENT;

	return fd >= 0 && !elf_open_fd(fd, "debug file", &e, NULL) &&
	       take_debug(f, e, "a debug file of its build-id");
}

static void find_debug(struct symbol_file *f, const struct symbol_file_options *opt)
{
	for (size_t i = 0; i < opt->nr_dirs && f->id_bytes && !f->debug; i++)
		debug_of_id(f, opt->dirs[i]);
	if (!f->debug)
		debug_by_link(f, opt);
	if (!f->debug && f->id_bytes)
		debug_found(f, opt);
}

/* ---- names ---- */

/* MiniDebugInfo: an ELF file with the names that .dynsym lacks. */
static int add_mini(struct symbol_file *f)
{
	struct bytes packed;
	struct buf image = {0};
	int rc;

	if (!elf_section(f->elf, ".gnu_debugdata", &packed))
		return 0;
	rc = xz_unpack(packed, MAX_MINI_BYTES, &image);
	if (!rc)
		rc = elf_open_memory(&image, ".gnu_debugdata", &f->mini, NULL);
	buf_free(&image);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return 0; /* not usable */
	strcpy(f->origin, ".gnu_debugdata");
	return symbol_table_add_elf(f->table, f->mini);
}

static uint64_t end_of(const struct symbol_file *f)
{
	uint64_t end = 0;

	for (size_t i = 0; i < f->nr_segments; i++)
		if (f->segments[i].value + f->segments[i].bytes > end)
			end = f->segments[i].value + f->segments[i].bytes;
	return end;
}

static int fill(struct symbol_file *f, const struct symbol_file_options *opt)
{
	struct bytes symtab;
	bool whole = elf_section(f->elf, ".symtab", &symtab);
	int rc = symbol_table_add_elf(f->table, f->elf);

	strcpy(f->origin, whole ? ".symtab" : ".dynsym");
	if (!rc)
		rc = symbol_table_add_stubs(f->table, f->elf);
	if (!rc && !whole)
		rc = add_mini(f);
	if (!rc &&
	    (!whole || (opt->max_dwarf_bytes && !elf_section(f->elf, ".debug_info", &symtab))))
		find_debug(f, opt);
	if (!rc && f->debug)
		rc = symbol_table_add_elf(f->table, f->debug);
	symbol_table_sort(f->table, end_of(f));
	return rc;
}

static void open_dwarf(struct symbol_file *f, const struct symbol_file_options *opt)
{
	struct elf *from[] = {f->elf, f->debug};

	for (size_t i = 0; i < 2 && !f->dwarf; i++)
		if (from[i] && elf_sections_bytes(from[i], ".debug_") <= opt->max_dwarf_bytes)
			f->dwarf = dwarf_open(from[i]);
}

int symbol_file_open(struct elf *e, const struct symbol_file_options *opt, struct symbol_file **out,
		     struct err *err)
{
	struct symbol_file *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (!f) {
		elf_close(e);
		return err_set(err, rc, "out of memory for names of functions");
	}
	f->elf = e;
	f->table = symbol_table_new();
	f->id_bytes = elf_build_id(e, f->id);
	f->nr_segments = elf_code_segments(e, f->segments, SYMFILE_MAX_SEGMENTS);
	if (opt->nr_segments && opt->nr_segments <= SYMFILE_MAX_SEGMENTS) {
		memcpy(f->segments, opt->segments, opt->nr_segments * sizeof(f->segments[0]));
		f->nr_segments = opt->nr_segments;
	}
	if (f->table)
		rc = fill(f, opt);
	if (rc) {
		symbol_file_close(f);
		return err_set(err, rc, "out of memory for names of functions");
	}
	open_dwarf(f, opt);
	*out = f;
	return 0;
}

void symbol_file_close(struct symbol_file *f)
{
	if (!f)
		return;
	dwarf_close(f->dwarf);
	elf_close(f->mini);
	elf_close(f->debug);
	elf_close(f->elf);
	symbol_table_free(f->table);
	free(f);
}

/* ---- asking ---- */

/* The segment that holds an offset of the file. */
static const struct elf_segment *segment_of(const struct symbol_file *f, uint64_t offset)
{
	for (size_t i = 0; i < f->nr_segments; i++)
		if (offset >= f->segments[i].offset &&
		    offset - f->segments[i].offset < f->segments[i].bytes)
			return &f->segments[i];
	return NULL;
}

bool symbol_file_find(const struct symbol_file *f, uint64_t offset,
		      struct symbol_table_function *out)
{
	const struct elf_segment *s = segment_of(f, offset);
	struct symbol_table_function found;

	if (!s || !symbol_table_find(f->table, offset - s->offset + s->value, &found) ||
	    found.start < s->value)
		return false;
	*out = found;
	out->start = found.start - s->value + s->offset;
	return true;
}

bool symbol_file_has_source(const struct symbol_file *f)
{
	return f->dwarf;
}

size_t symbol_file_places(struct symbol_file *f, uint64_t offset, struct dwarf_place *places,
			  size_t max)
{
	const struct elf_segment *s = f->dwarf ? segment_of(f, offset) : NULL;

	return s ? dwarf_places(f->dwarf, offset - s->offset + s->value, places, max) : 0;
}

const char *symbol_file_origin(const struct symbol_file *f)
{
	return f->origin;
}

size_t symbol_file_segments(const struct symbol_file *f, const struct elf_segment **out)
{
	*out = f->segments;
	return f->nr_segments;
}
