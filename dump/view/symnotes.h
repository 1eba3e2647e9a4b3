/* SPDX-License-Identifier: MIT */
/*
 * What the SYMBOLS of a dump say of files besides names: which file it was, where its code lies,
 * why names are missing. For whoever completes a dump later.
 */
#pragma once

#include "dump/base/elf.h"
#include "dump/view/hits.h"

struct reader;
struct symnotes;

#define SYMNOTES_MAX_SEGMENTS 16

struct symnotes_image {
	struct fmt_image f; /* with the build-id, also when the ledger has none */
	const char *path;
	const char *note; /* why names are missing; "" */
	struct elf_segment segments[SYMNOTES_MAX_SEGMENTS];
	size_t nr_segments;
};

/* Blocks that are damaged are passed over. 0, -ENOMEM, -E2BIG. */
int symnotes_load(struct reader *r, struct symnotes **out, struct err *err);
void symnotes_free(struct symnotes *n);

/* What is said of an image of the hits; NULL: nothing. Borrowed. */
const struct symnotes_image *symnotes_find(const struct symnotes *n, const struct hits_image *i);
