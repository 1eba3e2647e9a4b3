/* SPDX-License-Identifier: MIT */
/*
 * What the SYMBOLS of a dump say of files besides names: which file it was, where its code lies,
 * why names are missing. For whoever completes a dump later.
 */
#pragma once

#include "dump/base/elf.h"
#include "dump/view/model/addresses.h"

struct reader;
struct symnotes;

#define SYMNOTES_MAX_SEGMENTS 16
#define SYMNOTES_MAX_DATA     4

struct symnotes_image {
	struct fmt_image f; /* with the build-id, also when the ledger has none */
	const char *path;
	const char *note;				    /* why names are missing; "" */
	struct elf_segment segments[SYMNOTES_MAX_SEGMENTS]; /* with code */
	size_t nr_segments;
	struct elf_segment data[SYMNOTES_MAX_DATA]; /* FMT_SEGMENT_DATA */
	size_t nr_data;
};

/* Blocks that are damaged are passed over. 0, -ENOMEM, -E2BIG. */
int symnotes_load(struct reader *r, struct symnotes **out, struct err *err);
void symnotes_free(struct symnotes *n);

/* What is said of an image of the hits; NULL: nothing. Borrowed. */
const struct symnotes_image *symnotes_find(const struct symnotes *n, const struct hits_image *i);
/* By number from 0; NULL: there are no more. */
const struct symnotes_image *symnotes_nth(const struct symnotes *n, size_t i);
