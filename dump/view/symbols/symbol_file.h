/* SPDX-License-Identifier: MIT */
/*
 * Names for places of one file, from all sources: its symbol tables, its MiniDebugInfo, its separate
 * debug file, and DWARF for lines and inlined functions. Files are not trusted; dwarf.h says where
 * to call this.
 */
#pragma once

#include "dump/view/symbols/dwarf.h"
#include "dump/base/elf.h"
#include "dump/view/symbols/symbol_table.h"

struct symbol_file;

#define SYMFILE_MAX_SEGMENTS 64

struct symbol_file_options {
	const char *path; /* where the file was, for its .gnu_debuglink; NULL: unknown */
	/* Directories with .build-id/xx/yyyy.debug and the files that .gnu_debuglink names. */
	const char *const *dirs;
	size_t nr_dirs;
	/* Where else a debug file with this build-id is: a descriptor, or -errno. May be NULL. */
	int (*find)(void *ctx, const uint8_t *id, size_t bytes);
	void *ctx;
	/* Of the file itself, when what is opened is its debug file only; nr 0: as it says. */
	const struct elf_segment *segments;
	size_t nr_segments;
	uint64_t max_dwarf_bytes; /* more than that is left alone; 0: no DWARF */
};

/* `e` is the symfile's from here on, also when this fails. 0 or -ENOMEM. */
int symbol_file_open(struct elf *e, const struct symbol_file_options *opt, struct symbol_file **out,
		     struct err *err);
void symbol_file_close(struct symbol_file *f);

/* The function at `offset` of the file; its start is an offset too. */
bool symbol_file_find(const struct symbol_file *f, uint64_t offset,
		      struct symbol_table_function *out);
bool symbol_file_has_source(const struct symbol_file *f);
/* As dwarf_places(). */
size_t symbol_file_places(struct symbol_file *f, uint64_t offset, struct dwarf_place *places,
			  size_t max);

/* Where its names come from: ".symtab", ".dynsym", or the debug file's path; as text for people. */
const char *symbol_file_origin(const struct symbol_file *f);
size_t symbol_file_segments(const struct symbol_file *f, const struct elf_segment **out);
