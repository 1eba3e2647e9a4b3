/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a dump's samples with a copied stack where the files that were mapped still are: their
 * callers join the addresses that get names, and the rules that it took become part of the dump.
 * Called before the names are looked for.
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/symbols/symbols_writer.h"

struct collect_unwind;
struct elf;
struct meta;
struct reader;

struct collect_unwind_options {
	/* Opens the file of an image that is mapped as mappings[0] says. 0 or -errno. */
	int (*open)(void *ctx, const struct addresses_image *image, struct elf **e);
	void *ctx;
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC: samples after it are left; 0: never */
};

/* All of the dump; `p` must outlive the result. 0, -ENOMEM. */
int collect_unwind(struct reader *r, const struct meta *m, const struct process_history *p,
		   const struct collect_unwind_options *opt, struct addresses *hits,
		   struct collect_unwind **out, struct err *err);
/* The rules; errors are in put->rc. */
void collect_unwind_put(const struct collect_unwind *u, struct symbols_writer *put);
void collect_unwind_free(struct collect_unwind *u);
