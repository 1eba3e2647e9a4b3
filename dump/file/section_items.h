/* SPDX-License-Identifier: MIT */
/*
 * Steps through all items of a section. Counts and skips damaged blocks and items.
 */
#pragma once

#include "dump/base/bytes.h"

struct reader;

/*
 * Loads the section's blocks one after the other and calls `take(ctx, payload)` for each; the
 * payload is borrowed. At most `max_bytes` of payloads: the file's length does not bound them, since
 * LZ4 expands one byte to up to 255. 0, -ENOMEM, -E2BIG, or the first result of `take` other than 0.
 */
int section_items_load(struct reader *r, uint16_t section, uint64_t max_bytes,
		       int (*take)(void *ctx, struct bytes payload), void *ctx, size_t *nr_broken);

/* Calls `take` for each item of a payload. A result of -EBADMSG counts the item as broken; any other
 * error ends the walk and is returned. */
int section_items_walk(struct bytes payload,
		       int (*take)(void *ctx, uint16_t kind, struct bytes item), void *ctx,
		       size_t *nr_broken);
