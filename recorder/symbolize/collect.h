/* SPDX-License-Identifier: MIT */
/*
 * Finds names for the addresses of a dump and makes SYMBOLS of them. Where files come from is the
 * caller's: the machine that was recorded (collect_live.h), or directories of debug files. Names of
 * functions of all files come first, then source lines: whoever ends it early has the more useful
 * part.
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/symbols/symbol_file.h"
#include "dump/view/symbols/symbols_writer.h"

#include <stdio.h>

struct err;
struct kallsyms;

/* Where names come from; each may leave an error that says why not. */
struct collect_source {
	/*
	 * Opens the file of image `i` (FILE), or its debug file with `opt->segments` set; fills
	 * `opt` as far as it knows. 0 or -errno.
	 */
	int (*open)(void *ctx, size_t i, struct elf **e, struct symbol_file_options *opt,
		    struct err *err);
	/* The kernel's symbols, borrowed; `slide`: what to add to them to get addresses of the
	 * dump. */
	int (*kernel)(void *ctx, const struct kallsyms **k, uint64_t *slide, struct fmt_image *f,
		      struct err *err);
	/* What the process of image `i` (TASK) says of code that it made; the caller closes it. */
	int (*jit)(void *ctx, size_t i, FILE **in, struct err *err);
	void *ctx;
};

struct collect_options {
	const struct addresses *hits;
	struct collect_source source;
	/* False: this place has its name already, or with `source` its line. NULL: none has. */
	bool (*wanted)(void *ctx, const struct addresses_place *p, bool source);
	void *ctx;
	uint64_t max_dwarf_bytes;
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC: what is not begun then is left; 0: never */
};

/* What came of an image, by its number in `hits`. */
struct collect_result {
	size_t nr_wanted, nr_named; /* places */
	char origin[256];	    /* where names came from; "" nowhere */
	char note[600];		    /* why some have none; "" they have */
};

/* `results` has room for all images, zeroed. 0, or the -errno of `put`. */
int collect(const struct collect_options *opt, struct symbols_writer *put,
	    struct collect_result *results);
