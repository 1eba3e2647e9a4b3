/* SPDX-License-Identifier: MIT */
/* What join.c and join_names.c share; nobody else includes it. */
#pragma once

#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/file/writer.h"

/* Hands all items of a section to `take`, and before those of each block calls `block`, where it
 * is not NULL. What one of them returns that is not 0 ends it and is returned. */
int history_items(struct reader *r, uint16_t section, int (*block)(void *ctx, struct err *err),
		  int (*take)(void *ctx, uint16_t kind, struct bytes item, struct err *err),
		  void *ctx, struct err *err);

/* Adds what the older dump's ledger and symbols have and the newer one's don't. */
int history_add_names(struct reader *older, struct reader *newer, struct writer *w,
		      struct err *err);
