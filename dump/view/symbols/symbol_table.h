/* SPDX-License-Identifier: MIT */
/* A table of function names: filled from ELF files or lists of kernel symbols, sorted once, then
 * searched. Keeps the preferred one of several names for one place. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;
struct symbol_table;

struct symbol_table_function {
	uint64_t start, bytes;
	const char *name; /* borrowed until symbol_table_free() */
};

/* NULL: out of memory. */
struct symbol_table *symbol_table_new(void);
void symbol_table_free(struct symbol_table *t);

/* Ascending preference among names of one place. */
enum symbol_table_rank {
	SYMTAB_LABEL, /* names a place in code */
	SYMTAB_WEAK,
	SYMTAB_LOCAL,
	SYMTAB_GLOBAL,
};

/* `bytes` 0: up to the next name. `name` is copied. 0 or -ENOMEM. */
int symbol_table_add(struct symbol_table *t, uint64_t start, uint64_t bytes,
		     enum symbol_table_rank rank, const char *name);
/* Adds all names of .symtab and .dynsym, without versions (@V). 0 or -ENOMEM. */
int symbol_table_add_elf(struct symbol_table *t, struct elf *e);
/* Adds name@plt for the stubs of the procedure linkage table. 0 or -ENOMEM. */
int symbol_table_add_stubs(struct symbol_table *t, struct elf *e);

/* Call after the last name was added. A name without a size ends at the next one, or at `end`. */
void symbol_table_sort(struct symbol_table *t, uint64_t end);
/* The function that contains `value`. */
bool symbol_table_find(const struct symbol_table *t, uint64_t value,
		       struct symbol_table_function *out);
