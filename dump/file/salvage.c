// SPDX-License-Identifier: MIT
/*
 * Saves the intact blocks of a damaged dump; see reader_salvage_fd() in reader.h. Copies the stored
 * bytes, keeps the id of the damaged dump (the seed of its hashes), renumbers the blocks, and adds
 * a STATS item about what was missing.
 */
#include "dump/file/reader_impl.h"

#include "dump/base/err.h"
#include "dump/file/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies all intact blocks; *nr is their number. */
static int copy_blocks(struct reader *r, struct writer *w, size_t *nr, struct err *err)
{
	struct buf payload = {0};
	size_t copied = 0;
	int rc = 0;

	for (size_t i = 0; i < r->found.nr && !rc; i++) {
		struct bytes stored;

		rc = reader_verify(r, i, &payload, err);
		if (rc) {
			if (rc != -ENOMEM)
				rc = 0;
			continue;
		}
		stored = (struct bytes){r->stored.p, r->stored.len};
		writer_copy(w, &r->found.v[i].h, stored);
		rc = writer_error(w, err);
		copied++;
	}
	buf_free(&payload);
	if (!rc)
		*nr = copied;
	return rc;
}

static void note_losses(struct reader *r, struct writer *w, const struct reader_verdict *v)
{
	struct fmt_salvage s = {
		.nr_bad_blocks = v->nr_bad_blocks,
		.unclaimed_bytes = v->unclaimed_bytes,
		.file_bytes = r->in.size,
	};

	writer_section(w, FMT_STATS);
	writer_item(w, FMT_STATS_SALVAGE, &s, sizeof(s), NULL, 0, NULL);
}

int reader_salvage_fd(struct reader *r, int fd, struct reader_verdict *v, struct err *err)
{
	struct writer_options opt = {.max_blocks = (uint32_t)r->found.nr + 1};
	struct reader_verdict got;
	struct writer *w = NULL;
	uint64_t file_bytes;
	size_t copied = 0;
	bool whole;
	int rc = reader_check_open(r, &got, NULL, NULL, err);

	if (rc && rc != -EBADMSG)
		return rc;
	whole = !rc;
	if (opt.max_blocks > FMT_MAX_BLOCKS)
		opt.max_blocks = FMT_MAX_BLOCKS;
	rc = writer_new(&opt, &w, err);
	if (!rc)
		rc = writer_begin_as(w, fd, r->header.id, r->header.created_real_ns, err);
	/* The new file has to pass check. */
	block_unpacker_thorough(r->unpacker, true);
	if (!rc)
		rc = copy_blocks(r, w, &copied, err);
	block_unpacker_thorough(r->unpacker, false);
	if (!rc && !copied)
		rc = err_set(err, -ENODATA, "'%s' has no intact block: there is nothing to save",
			     r->name);
	/* Without room for one more block, the STATS item is left out. */
	if (!rc && !whole && copied < opt.max_blocks)
		note_losses(r, w, &got);
	if (!rc)
		rc = writer_finish(w, &file_bytes, err);
	if (!rc && fsync(fd))
		rc = err_sys(err, -errno, "cannot write the dump to disk");
	writer_free(w);
	if (!rc)
		*v = got;
	return rc;
}
