/* SPDX-License-Identifier: MIT */
/*
 * Going through all items of a section, for whoever makes tables of them. What is damaged is
 * counted and left out.
 */
#pragma once

#include "dump/base/bytes.h"

struct reader;

/*
 * Loads the section's blocks one after the other; `take(ctx, payload)` gets each, borrowed. At most
 * `max_bytes` of payloads: LZ4 makes 255 bytes of one, so the file's length is no bound. 0,
 * -ENOMEM, -E2BIG, or what `take` returned that is not 0.
 */
int section_items_load(struct reader *r, uint16_t section, uint64_t max_bytes,
		       int (*take)(void *ctx, struct bytes payload), void *ctx, size_t *nr_broken);

/* Hands the items of one payload to `take`: -EBADMSG: it is a broken one, which is counted; any
 * other error ends it and is returned. */
int section_items_walk(struct bytes payload,
		       int (*take)(void *ctx, uint16_t kind, struct bytes item), void *ctx,
		       size_t *nr_broken);
