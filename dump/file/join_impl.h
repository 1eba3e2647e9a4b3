/* SPDX-License-Identifier: MIT */
/* Shared by join.c and join_names.c. */
#pragma once

#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/file/writer.h"

/* Calls `take` for all items of a section, and `block` (may be NULL) before those of each block. A
 * result other than 0 ends the walk and is returned. */
int join_items(struct reader *r, uint16_t section, int (*block)(void *ctx, struct err *err),
	       int (*take)(void *ctx, uint16_t kind, struct bytes item, struct err *err), void *ctx,
	       struct err *err);

/* Adds items of the older dump's ledger and symbols that the newer dump lacks. */
int join_add_names(struct reader *older, struct reader *newer, struct writer *w, struct err *err);
