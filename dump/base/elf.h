/* SPDX-License-Identifier: MIT */
/*
 * ELF files: symbols, file offsets, build-ids. The only user of libelf. Reads with pread and never
 * maps: truncating a mapped file kills its reader. Files are untrusted: invalid parts are an error
 * or are skipped.
 */
#pragma once

#include "dump/base/bytes.h"

struct cfi_sections;
struct elf;
struct err;

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
/* As elf_open on a descriptor of a regular file. Takes ownership of `fd`, also on failure; `name`
 * is for messages. */
int elf_open_fd(int fd, const char *name, struct elf **out, struct err *err);
/* As elf_open on bytes; takes ownership of them likewise. */
int elf_open_memory(struct buf *memory, const char *name, struct elf **out, struct err *err);
void elf_close(struct elf *e);

/* Calls `each` for the functions of .symtab and then .dynsym until it returns non-zero, and returns
 * that. A name may come more than once. Tables that are damaged are skipped. */
int elf_each_function(struct elf *e, int (*each)(void *ctx, const struct elf_symbol *s), void *ctx);

/* The file offset of virtual address `value`, by the program headers of an executable or shared
 * object. -ENXIO when no loaded segment contains it. */
int elf_file_offset(struct elf *e, uint64_t value, uint64_t *offset, struct err *err);

/*
 * The function `name` (a global one before a weak one before a local one): where it starts in the
 * file, and its size. -ENOENT with the nearest names in the hint; -ENOTUNIQ when several local
 * functions have the name.
 */
int elf_function(struct elf *e, const char *name, uint64_t *offset, uint64_t *bytes,
		 struct err *err);

/* The variable `name`: its virtual address as linked, and its size. Excludes
 * thread-local variables. Errors as elf_function(); the nearest names include functions. */
int elf_variable(struct elf *e, const char *name, uint64_t *value, uint64_t *bytes,
		 struct err *err);

/* A segment that is loaded from the file. */
struct elf_segment {
	uint64_t value;	 /* virtual address as linked */
	uint64_t offset; /* in the file */
	uint64_t bytes;
};

/* The executable segments, at most `max`; returns their number. */
size_t elf_code_segments(struct elf *e, struct elf_segment *v, size_t max);
/* The other segments, likewise. */
size_t elf_data_segments(struct elf *e, struct elf_segment *v, size_t max);

/* The GNU build-id, at most ELF_BUILD_ID_MAX bytes of it; its length, 0 when there is none. */
size_t elf_build_id(struct elf *e, uint8_t id[ELF_BUILD_ID_MAX]);

/* ---- code, for looking addresses up (elf_code.c) ---- */

struct elf_code {
	const char *name; /* borrowed until elf_close() */
	uint64_t value;
	uint64_t bytes; /* 0: unknown */
	uint8_t bind;	/* as in elf_symbol */
	bool function;	/* typed as one; else a label in code */
};

/* Calls `each` for the defined code symbols of .symtab and .dynsym until it returns non-zero, and
 * returns that. */
int elf_each_code(struct elf *e, int (*each)(void *ctx, const struct elf_code *c), void *ctx);
/* The same for PLT stubs; `name` is the called function's. */
int elf_each_stub(struct elf *e, int (*each)(void *ctx, const struct elf_code *c), void *ctx);

/* The raw bytes of section `name`, borrowed; false: there is no such section, or it is empty. */
bool elf_section(struct elf *e, const char *name, struct bytes *out);
/* The total size of the sections with this name prefix, by their headers. */
uint64_t elf_sections_bytes(struct elf *e, const char *prefix);

/* ---- for unwinding (elf_cfi.c) ---- */

/* .eh_frame and .debug_frame, decompressed, borrowed until elf_close(); false: there is neither. */
bool elf_frames(struct elf *e, struct cfi_sections *out);
/* Reads up to `n` bytes of the file; returns how many. */
size_t elf_read(struct elf *e, uint64_t offset, void *dst, size_t n);
