// SPDX-License-Identifier: MIT
/* Walks over items; see section_items.h. Called by dump/view/ for ledger and symbols. */
#include "dump/file/section_items.h"

#include "dump/file/reader.h"

#include <errno.h>
#include <stdbool.h>

int section_items_load(struct reader *r, uint16_t section, uint64_t max_bytes,
		       int (*take)(void *ctx, struct bytes payload), void *ctx, size_t *nr_broken)
{
	struct buf payload = {0};
	uint64_t bytes = 0;
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(r) && !rc; i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;

		if (h->section != section)
			continue;
		bytes += h->payload_bytes;
		if (bytes > max_bytes) {
			rc = -E2BIG;
			break;
		}
		rc = h->encoding == FMT_ENC_ITEMS ? reader_load(r, i, &payload, NULL) : -EBADMSG;
		if (rc && rc != -ENOMEM) {
			++*nr_broken;
			rc = 0;
		} else if (!rc) {
			rc = take(ctx, (struct bytes){payload.p, payload.len});
		}
	}
	buf_free(&payload);
	return rc;
}

int section_items_walk(struct bytes payload,
		       int (*take)(void *ctx, uint16_t kind, struct bytes item), void *ctx,
		       size_t *nr_broken)
{
	struct bytes item;
	uint16_t kind;
	bool broken = false;
	int rc;

	while (reader_next_item(&payload, &kind, &item, &broken)) {
		rc = take(ctx, kind, item);
		if (rc == -EBADMSG)
			++*nr_broken;
		else if (rc)
			return rc;
	}
	*nr_broken += broken;
	return 0;
}
