// SPDX-License-Identifier: MIT
/*
 * Finds blocks without a directory, for truncated or damaged files; called by reader.c.
 *
 * Steps from header to header and, where there is none, searches at multiples of 8. The hash of a
 * header is seeded with the dump's id, so that bytes inside a payload do not pass for one. Each
 * byte is read at most twice, one chunk is in memory at a time.
 */
#include "dump/file/reader_impl.h"

#include "dump/base/err.h"
#include "dump/file/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (256u << 10)
#define SECTOR	    4096u /* skipped after a read error */

/* True when there is a block with a valid header at `off` that ends within the file. */
static bool header_at(const struct reader *r, uint64_t off, struct fmt_block *h)
{
	return !input_read(&r->in, off, h, sizeof(*h)) && block_header_valid(h, r->seed) &&
	       span_fits(off, block_file_bytes(h), r->in.size);
}

/* Offset of the first block header in the `n` bytes at `off`; SIZE_MAX when there is none. */
static size_t search_chunk(const struct reader *r, const uint8_t *p, size_t n, uint64_t off,
			   struct fmt_block *h)
{
	for (size_t i = 0; i + sizeof(*h) <= n; i += 8) {
		uint32_t magic;

		memcpy(&magic, p + i, sizeof(magic));
		if (magic != FMT_BLOCK_MAGIC)
			continue;
		memcpy(h, p + i, sizeof(*h));
		if (block_header_valid(h, r->seed) &&
		    span_fits(off + i, block_file_bytes(h), r->in.size))
			return i;
	}
	return SIZE_MAX;
}

/* Sets *off to the next block at or after it; false when there is none. */
static bool search(const struct reader *r, uint8_t *chunk, uint64_t *off, struct fmt_block *h)
{
	uint64_t at = *off;

	while (span_fits(at, sizeof(*h), r->in.size)) {
		uint64_t left = r->in.size - at;
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES, i;

		if (input_read(&r->in, at, chunk, n)) {
			n = n < SECTOR ? n : SECTOR;
			if (n < sizeof(*h) || input_read(&r->in, at, chunk, n)) {
				at += SECTOR;
				continue;
			}
		}
		i = search_chunk(r, chunk, n, at, h);
		if (i != SIZE_MAX) {
			*off = at + i;
			return true;
		}
		/* A header may begin in the last bytes of this chunk: read them again. */
		at += (n - sizeof(*h)) / 8 * 8 + 8;
	}
	return false;
}

int reader_scan(struct reader *r, struct err *err)
{
	uint64_t off = sizeof(struct fmt_header);
	uint8_t *chunk = malloc(CHUNK_BYTES);
	struct reader_block b;
	int rc = 0;

	if (!chunk)
		return err_set(err, -ENOMEM, "out of memory for searching a dump");
	while (r->found.nr < FMT_MAX_BLOCKS) {
		if (!header_at(r, off, &b.h) && !search(r, chunk, &off, &b.h))
			break;
		b.offset = off;
		off += block_file_bytes(&b.h);
		if (b.h.section == FMT_FOOTER) {
			r->footer = b;
			r->has_footer = true;
			continue;
		}
		rc = block_list_add(&r->found, &b);
		if (rc) {
			err_set(err, rc, "out of memory for a dump's directory");
			break;
		}
	}
	free(chunk);
	return rc;
}
