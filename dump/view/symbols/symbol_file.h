/* SPDX-License-Identifier: MIT */
/*
 * Names for places in one file, from all sources: its symbol tables, its MiniDebugInfo, its
 * separate debug file, and DWARF for lines and inlined functions. Files are not trusted; dwarf.h
 * says where to call this.
 */
#pragma once

#include "dump/view/symbols/dwarf.h"
#include "dump/base/elf.h"
#include "dump/view/symbols/symbol_table.h"

struct symbol_file;

#define SYMFILE_MAX_SEGMENTS 64

struct symbol_file_options {
	const char *path; /* path of the file, to resolve its .gnu_debuglink; NULL: unknown */
	/* Directories to search for .build-id/xx/yyyy.debug and for the file that .gnu_debuglink
	 * names. */
	const char *const *dirs;
	size_t nr_dirs;
	/* Another source for the debug file with this build-id: a descriptor, or -errno. May be
	 * NULL. */
	int (*find)(void *ctx, const uint8_t *id, size_t bytes);
	void *ctx;
	/* Segments of the original file, if the opened file is its debug file; nr 0: those of the
	 * opened file. */
	const struct elf_segment *segments;
	size_t nr_segments;
	uint64_t max_dwarf_bytes; /* larger DWARF is not read; 0: no DWARF */
};

/* Takes ownership of `e`, also on failure. 0 or -ENOMEM. */
int symbol_file_open(struct elf *e, const struct symbol_file_options *opt, struct symbol_file **out,
		     struct err *err);
void symbol_file_close(struct symbol_file *f);

/* The function at `offset` in the file; its start is an offset too. */
bool symbol_file_find(const struct symbol_file *f, uint64_t offset,
		      struct symbol_table_function *out);
bool symbol_file_has_source(const struct symbol_file *f);
/* As dwarf_places(). */
size_t symbol_file_places(struct symbol_file *f, uint64_t offset, struct dwarf_place *places,
			  size_t max);

/* The source of the names, as text for people: ".symtab", ".dynsym", or the debug file's path. */
const char *symbol_file_origin(const struct symbol_file *f);
size_t symbol_file_segments(const struct symbol_file *f, const struct elf_segment **out);
