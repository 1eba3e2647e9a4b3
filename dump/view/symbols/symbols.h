/* SPDX-License-Identifier: MIT */
/*
 * Function, file and line of an address in a dump, from its SYMBOLS and its ledger. Read-only once
 * loaded, so threads may share it. Everything returned is borrowed until symbols_free() or
 * history_free(). Within a dump, equal functions and images are equal pointers: count and compare
 * by these. Texts are demangled, but not safe for a terminal.
 */
#pragma once

#include "dump/view/model/process_history.h"
#include "dump/view/cfi/unwind_rules.h"

struct err;
struct reader;
struct symbols;

/* No address is inlined deeper than this here; what is in between is left out. */
#define SYMBOLS_MAX_DEPTH 16

struct symbol_place {
	const char *function;  /* NULL: unknown */
	uint64_t function_off; /* from its start; 0 when unknown or inlined */
	/* A path as in the ledger, "[vdso]", "[kernel.kallsyms]", "[ext4]"; NULL: unknown. */
	const char *image;
	uint64_t image_off; /* in the file; where there is no file, the address */
	const uint8_t *build_id;
	uint8_t build_id_bytes; /* 0: unknown */
	bool inlined;		/* into the next place */
	uint32_t line;		/* 0: unknown */
	const char *file;	/* of the source; NULL: unknown */
};

struct symbols_counts {
	size_t nr_images, nr_functions, nr_places, nr_rules;
	size_t nr_broken; /* blocks or items that could not be read */
};

/* `p` must outlive the result. Blocks that are damaged are counted in nr_broken, not fatal. 0,
 * -ENOMEM, -E2BIG. */
int symbols_load(struct reader *r, const struct process_history *p, struct symbols **out,
		 struct err *err);
void symbols_free(struct symbols *s);
void symbols_counts(const struct symbols *s, struct symbols_counts *out);

/*
 * Where `addr` is in the process of `tid` at `ns`: one place, or with inlined functions several,
 * innermost first. At most `max` (at least 1) are set; their number is returned, at least 1: when
 * nothing is known, image_off is the address. Of a return address ask for the byte before it.
 * *span (may be NULL) becomes a time around `ns` for which the answer holds.
 */
size_t symbols_user(const struct symbols *s, uint32_t tid, uint64_t ns, uint64_t addr,
		    struct symbol_place *places, size_t max, struct history_span *span);
/* The same for an address of the kernel. */
size_t symbols_kernel(const struct symbols *s, uint64_t ns, uint64_t addr,
		      struct symbol_place *places, size_t max, struct history_span *span);

/*
 * The kernel and its modules, by address, each of which something has a name: begin with *at 0.
 * `first` is its first named function, image_off where that begins; of the kernel it is _text as a
 * rule, by which a list of symbols from elsewhere is moved to where the kernel was. *end is where
 * the last one ends. False when there is none left.
 */
bool symbols_kernel_part(const struct symbols *s, size_t *at, struct symbol_place *first,
			 uint64_t *end);

/* The unwind rules of the dump; and that for a place in a mapping, NULL: there is none. */
const struct unwind_rules *symbols_rules(const struct symbols *s);
const struct unwind_rule *symbols_rule(const struct symbols *s, const struct history_map *map,
				       uint64_t place);
