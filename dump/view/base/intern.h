/* SPDX-License-Identifier: MIT */
/*
 * Texts that are kept once: the same bytes give the same pointer, so that names can be compared and
 * counted by pointer. Used while a dump is loaded, by people and symbols.
 */
#pragma once

#include "dump/base/bytes.h"

struct intern {
	struct intern_chunk *chunks;
	const char **slots; /* nr_slots of them, a power of two; NULL: free */
	size_t nr_slots, nr;
};

/* `text` up to its first NUL, terminated; lives until intern_free(). NULL: out of memory. */
const char *intern(struct intern *in, struct bytes text);
/* Zero-initialised is empty. */
void intern_free(struct intern *in);
