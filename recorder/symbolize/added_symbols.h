/* SPDX-License-Identifier: MIT */
/*
 * A dump and what is known of its names: how many of the addresses have one, why others have not,
 * and completing it from debug files. Every file is taken by its build-id only.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/model/addresses.h"

struct err;
struct reader;
struct meta;
struct debug_dirs;
struct symbol_notes_image;

struct added_symbols;

/* `r` and `m` must outlive it. 0 or -errno. */
int added_symbols_open(struct reader *r, const struct meta *m, struct added_symbols **out,
		       struct err *err);
void added_symbols_close(struct added_symbols *c);

/*
 * What is known of a file, or of what else has addresses. The kernel tells the build-id of some
 * mappings of a file and the inode of others: these are one here when they are of one build.
 */
struct added_symbols_image {
	const struct addresses_image *image;   /* the one of them that was hit most */
	const struct symbol_notes_image *says; /* NULL: the dump says nothing of it */
	uint64_t nr_hits, nr_named;	       /* times that it was hit, and of these with a name */
	uint64_t nr_lines;		       /* ... with a source line */
	const char *note;		       /* why some have none; "" */
};
size_t added_symbols_nr(const struct added_symbols *c);
/* The i-th, counted from 0, by how often it was hit; borrowed texts. */
void added_symbols_image(const struct added_symbols *c, size_t i, struct added_symbols_image *out);

/*
 * Looks for what is missing in `dirs` (NULL: none), on this machine, and where DEBUGINFOD_URLS
 * says. *found: SYMBOLS were made, kept until added_symbols_write().
 */
int added_symbols_find(struct added_symbols *c, struct debug_dirs *dirs, bool *found,
		       struct err *err);

/* Writes the dump with what was found as `out_path`, 0600; `replace`: over what is there, which
 * stays whole until the new one is. 0, -EEXIST, -errno. */
int added_symbols_write(struct added_symbols *c, const char *out_path, bool replace,
			struct err *err);
