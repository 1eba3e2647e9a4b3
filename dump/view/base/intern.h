/* SPDX-License-Identifier: MIT */
/* Interned texts: equal bytes give the same pointer, so names can be compared and counted by
 * pointer. Used for all names of a dump. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/base/hash.h"

/* Zero-initialise; intern_free() ends it. */
struct intern {
	struct intern_chunk *chunks;
	struct buf texts; /* const char *[] */
	struct hash index;
};

/* `text` up to its first NUL, terminated; lives until intern_free(). NULL: out of memory. */
const char *intern(struct intern *in, struct bytes text);
void intern_free(struct intern *in);
