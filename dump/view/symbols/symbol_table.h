/* SPDX-License-Identifier: MIT */
/*
 * A sorted table of what code is called: filled from ELF files or lists of kernel symbols, sorted
 * once, then asked. Of several names of one place the one that people use is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;
struct symtab;

struct symtab_function {
	uint64_t start, bytes;
	const char *name; /* borrowed until symtab_free() */
};

/* NULL: out of memory. */
struct symtab *symtab_new(void);
void symtab_free(struct symtab *t);

/* In the order of preference among names of one place. */
enum symtab_rank {
	SYMTAB_LABEL, /* names a place in code */
	SYMTAB_WEAK,
	SYMTAB_LOCAL,
	SYMTAB_GLOBAL,
};

/* `bytes` 0: up to the next. `name` is copied. 0 or -ENOMEM. */
int symtab_add(struct symtab *t, uint64_t start, uint64_t bytes, enum symtab_rank rank,
	       const char *name);
/* All that .symtab and .dynsym name; a name's version (@V) is left out. 0 or -ENOMEM. */
int symtab_add_elf(struct symtab *t, struct elf *e);
/* name@plt for the stubs of the procedure linkage table. 0 or -ENOMEM. */
int symtab_add_stubs(struct symtab *t, struct elf *e);

/* No more are added after this. What has no size ends at the next, or at `end`. */
void symtab_sort(struct symtab *t, uint64_t end);
/* The function that holds `value`. */
bool symtab_find(const struct symtab *t, uint64_t value, struct symtab_function *out);
