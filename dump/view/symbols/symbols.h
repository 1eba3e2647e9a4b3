/* SPDX-License-Identifier: MIT */
/*
 * Function, file and line of an address in a dump, from its SYMBOLS and its ledger. Read-only once
 * loaded, so threads may share it. Results are borrowed until symbols_free() or history_free().
 * Within a dump, equal functions and images are equal pointers: compare these. Texts are demangled,
 * but not escaped for a terminal.
 */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/cfi/unwind_rules.h"

struct err;
struct reader;
struct symbols;

/* Limit of inlining depth; the places in between are omitted. */
#define SYMBOLS_MAX_DEPTH 16

struct symbol_place {
	const char *function;  /* NULL: unknown */
	uint64_t function_off; /* from its start; 0 when unknown or inlined */
	/* A path as in the ledger, "[vdso]", "[kernel.kallsyms]", "[ext4]"; NULL: unknown. */
	const char *image;
	uint64_t image_off; /* in the file; without a file, the address */
	const uint8_t *build_id;
	uint8_t build_id_bytes; /* 0: unknown */
	bool inlined;		/* into the next place */
	uint32_t line;		/* 0: unknown */
	const char *file;	/* source file; NULL: unknown */
};

struct symbols_counts {
	size_t nr_images, nr_functions, nr_places, nr_rules;
	size_t nr_broken; /* unreadable blocks or items */
};

/* `p` must outlive the result. Damaged blocks are counted in nr_broken and skipped. 0, -ENOMEM,
 * -E2BIG. */
int symbols_load(struct reader *r, const struct process_history *p, struct symbols **out,
		 struct err *err);
void symbols_free(struct symbols *s);
void symbols_counts(const struct symbols *s, struct symbols_counts *out);

/*
 * The place of `addr` in the process of `tid` at `ns`; with inlined functions several, innermost
 * first. Sets at most `max` (at least 1) and returns their number, at least 1: for an unknown
 * address, image_off is the address. For a return address, pass the byte before it. *span (may be
 * NULL) becomes a time around `ns` for which the answer holds.
 */
size_t symbols_user(const struct symbols *s, uint32_t tid, uint64_t ns, uint64_t addr,
		    struct symbol_place *places, size_t max, struct history_span *span);
/* As symbols_user(), for a kernel address. */
size_t symbols_kernel(const struct symbols *s, uint64_t ns, uint64_t addr,
		      struct symbol_place *places, size_t max, struct history_span *span);

/*
 * Iterates over the kernel and its modules that have names, by address; start with *at 0. `first`
 * is the first named function of each, image_off its start. For the kernel it is usually _text,
 * which gives the offset to move a symbol list from elsewhere to this kernel's addresses. *end is
 * the end of the last function. False: the end.
 */
bool symbols_kernel_part(const struct symbols *s, size_t *at, struct symbol_place *first,
			 uint64_t *end);

/* The unwind rules of the dump; and the rule for a place in a mapping, NULL: none. */
const struct unwind_rules *symbols_rules(const struct symbols *s);
const struct unwind_rule *symbols_rule(const struct symbols *s, const struct history_map *map,
				       uint64_t place);
