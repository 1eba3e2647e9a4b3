// SPDX-License-Identifier: MIT
/*
 * Writes a copy of a dump with added items; see reader_extend_fd() in reader.h. Copies the stored
 * blocks and keeps the id.
 */
#include "dump/file/reader_impl.h"

#include "dump/base/err.h"
#include "dump/file/writer.h"

#include <errno.h>
#include <unistd.h>

static int copy_blocks(struct reader *r, struct writer *w, struct err *err)
{
	struct buf payload = {0};
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(r) && !rc; i++) {
		struct reader_block b = *reader_block(r, i);

		rc = reader_load_at(r, &b, &payload, err);
		if (!rc && writer_copy(w, &b.h, (struct bytes){r->stored.p, r->stored.len}))
			break;
	}
	buf_free(&payload);
	return rc;
}

int reader_extend_fd(struct reader *r, int fd,
		     int (*add)(void *ctx, struct writer *w, struct err *err), void *ctx,
		     struct err *err)
{
	struct writer_options opt = {.max_blocks = FMT_MAX_BLOCKS, .level = BLOCK_HIGH};
	struct writer *w = NULL;
	uint64_t file_bytes;
	int rc;

	if (!reader_committed(r))
		return reader_damaged(r, err, "is not complete");
	rc = writer_new(&opt, &w, err);
	if (!rc)
		rc = writer_begin_as(w, fd, r->header.id, r->header.created_real_ns, err);
	if (!rc)
		rc = copy_blocks(r, w, err);
	if (!rc)
		rc = add(ctx, w, err);
	if (rc && w)
		writer_error(w, err);
	if (!rc)
		rc = writer_finish(w, &file_bytes, err);
	if (!rc && fsync(fd))
		rc = err_sys(err, -errno, "cannot write the dump to disk");
	writer_free(w);
	return rc;
}
