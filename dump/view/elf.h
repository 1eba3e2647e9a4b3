/* SPDX-License-Identifier: MIT */
/*
 * ELF files: symbols, file offsets, build-ids. The only user of libelf. The file is read with pread
 * and never mapped, because a file that is cut while it is mapped kills its reader. Files are not
 * trusted: whatever does not fit is an error or is skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct elf;

#define ELF_BUILD_ID_MAX 20

struct elf_symbol {
	const char *name; /* borrowed until elf_close() */
	uint64_t value;	  /* virtual address as linked */
	uint64_t bytes;	  /* 0: unknown */
	uint8_t bind;	  /* STB_LOCAL 0, STB_GLOBAL 1, STB_WEAK 2 */
	bool defined;	  /* false: imported from another file */
	bool superseded;  /* an old version of a library's function (name@VERS, not name@@VERS) */
};

/* Regular files only. -ENOEXEC when it is no ELF file; -errno of open. */
int elf_open(const char *path, struct elf **out, struct err *err);
void elf_close(struct elf *e);

/* Calls `each` for the functions of .symtab and then .dynsym until it returns non-zero, and returns
 * that. A name may come more than once. Tables that are damaged are skipped. */
int elf_each_function(struct elf *e, int (*each)(void *ctx, const struct elf_symbol *s), void *ctx);

/* Where the byte at virtual address `value` lies in the file, by the program headers of executables
 * and shared objects. -ENXIO when no loaded segment of the file has it. */
int elf_file_offset(struct elf *e, uint64_t value, uint64_t *offset, struct err *err);

/*
 * The function `name` (a global one before a weak one before a local one): where it starts in the
 * file, and its size. -ENOENT with the nearest names in the hint; -ENOTUNIQ when several local
 * functions have the name.
 */
int elf_function(struct elf *e, const char *name, uint64_t *offset, uint64_t *bytes,
		 struct err *err);

/* The GNU build-id, at most ELF_BUILD_ID_MAX bytes of it; its length, 0 when there is none. */
size_t elf_build_id(struct elf *e, uint8_t id[ELF_BUILD_ID_MAX]);
