/* SPDX-License-Identifier: MIT */
/*
 * Finds names for the addresses of a dump and makes SYMBOLS of them. The caller provides the source
 * of the files: the recorded machine (collect_live.h) or directories of debug files. Function names
 * of all files come before source lines, so that a stopped search still gives the more useful part.
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/symbols/symbol_file.h"
#include "dump/view/symbols/symbols_writer.h"

#include <stdio.h>

struct err;
struct kallsyms;

/* The source of names; each function may set `err` to the reason of a failure. */
struct collect_source {
	/* Opens the file of image `i` (FILE), or its debug file with `opt->segments` set; fills in
	 * the fields of `opt` that it knows. 0 or -errno. */
	int (*open)(void *ctx, size_t i, struct elf **e, struct symbol_file_options *opt,
		    struct err *err);
	/* The kernel's symbols, borrowed; `slide` added to them gives the addresses in the dump. */
	int (*kernel)(void *ctx, const struct kallsyms **k, uint64_t *slide, struct fmt_image *f,
		      struct err *err);
	/* The perf map of the process of image `i` (TASK); the caller closes it. */
	int (*jit)(void *ctx, size_t i, FILE **in, struct err *err);
	void *ctx;
};

struct collect_options {
	const struct addresses *hits;
	struct collect_source source;
	/* False: this place already has its name or, with `source`, its line. NULL: none has. */
	bool (*wanted)(void *ctx, const struct addresses_place *p, bool source);
	void *ctx;
	uint64_t max_dwarf_bytes;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; no new work starts after it; 0: none */
};

/* The result for an image, by its index in `hits`. */
struct collect_result {
	size_t nr_wanted, nr_named; /* places */
	char origin[256];	    /* source of the names; "": none found */
	char note[600];		    /* why some places have no name; "": all have one */
};

/* `results` has room for all images, zeroed. 0, or the -errno of `put`. */
int collect(const struct collect_options *opt, struct symbols_writer *put,
	    struct collect_result *results);
