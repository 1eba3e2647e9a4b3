/* SPDX-License-Identifier: MIT */
/*
 * Unwinds a dump's samples with copied stacks while the mapped files are still available. The
 * callers are added to the addresses to name, and the unwind rules used are stored in the dump.
 * Called before the search for names.
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/symbols/symbols_writer.h"

struct collect_unwind;
struct elf;
struct meta;
struct reader;

struct collect_unwind_options {
	/* Opens the file of an image that is mapped as in mappings[0]. 0 or -errno. */
	int (*open)(void *ctx, const struct addresses_image *image, struct elf **e);
	void *ctx;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; no sample is unwound after it; 0: none */
};

/* Unwinds the whole dump; `p` must outlive the result. 0, -ENOMEM. */
int collect_unwind(struct reader *r, const struct meta *m, const struct process_history *p,
		   const struct collect_unwind_options *opt, struct addresses *hits,
		   struct collect_unwind **out, struct err *err);
/* Passes the rules to `put`; errors are in put->rc. */
void collect_unwind_put(const struct collect_unwind *u, struct symbols_writer *put);
void collect_unwind_free(struct collect_unwind *u);
