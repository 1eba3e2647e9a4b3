/* SPDX-License-Identifier: MIT */
/* The SYMBOLS of a dump about files, besides names: the file's identity, its code segments, why
 * names are missing. Used to add names to a dump later. */
#pragma once

#include "dump/base/elf.h"
#include "dump/view/model/addresses.h"

struct reader;
struct symbol_notes;

#define SYMNOTES_MAX_SEGMENTS 16
#define SYMNOTES_MAX_DATA     4

struct symbol_notes_image {
	struct fmt_image f; /* has the build-id even if the ledger has none */
	const char *path;
	const char *note;				    /* why names are missing; "" */
	struct elf_segment segments[SYMNOTES_MAX_SEGMENTS]; /* with code */
	size_t nr_segments;
	struct elf_segment data[SYMNOTES_MAX_DATA]; /* FMT_SEGMENT_DATA */
	size_t nr_data;
};

/* Damaged blocks are skipped. 0, -ENOMEM, -E2BIG. */
int symbol_notes_load(struct reader *r, struct symbol_notes **out, struct err *err);
void symbol_notes_free(struct symbol_notes *n);

/* The notes for an image of `addresses`; NULL: none. Borrowed. */
const struct symbol_notes_image *symbol_notes_find(const struct symbol_notes *n,
						   const struct addresses_image *i);
/* By number from 0; NULL: the end. */
const struct symbol_notes_image *symbol_notes_nth(const struct symbol_notes *n, size_t i);
