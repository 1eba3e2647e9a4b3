/* SPDX-License-Identifier: MIT */
/*
 * The symbols of an existing dump: counts how many addresses have a name, says why others have
 * none, and adds names from debug files. Files are matched by build-id only.
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

/* A file, or another source of code addresses. The kernel reports the build-id of some mappings of
 * a file and the inode of others; those of the same build are merged here. */
struct added_symbols_image {
	const struct addresses_image *image;   /* the one with most hits */
	const struct symbol_notes_image *says; /* the dump's note on it; NULL: none */
	uint64_t nr_hits, nr_named;	       /* hits, and how many of them have a name */
	uint64_t nr_lines;		       /* ... and a source line */
	const char *note;		       /* why some have no name; "": all do */
};
size_t added_symbols_nr(const struct added_symbols *c);
/* Image `i` from 0, ordered by hits; texts are borrowed. */
void added_symbols_image(const struct added_symbols *c, size_t i, struct added_symbols_image *out);

/* Looks for missing names in `dirs` (NULL: none), on this machine and through
 * `debuginfod_fd` (debuginfod_find()). *found: there are new SYMBOLS, kept until added_symbols_write(). */
int added_symbols_find(struct added_symbols *c, struct debug_dirs *dirs, int debuginfod_fd,
		       bool *found, struct err *err);

/* Writes the dump with the new symbols to an empty file. 0 or -errno. */
int added_symbols_write(struct added_symbols *c, int fd, struct err *err);
