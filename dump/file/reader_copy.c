// SPDX-License-Identifier: MIT
/*
 * A second reader of an open file for another thread; see reader_copy(). Shares the open file, but
 * has its own directory, since a reader stores the headers of loaded blocks in it.
 */
#include "dump/file/reader_impl.h"

#include "dump/base/err.h"
#include "dump/file/block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int copy_list(const struct block_list *from, struct block_list *to)
{
	int rc = 0;

	for (size_t i = 0; i < from->nr && !rc; i++)
		rc = block_list_add(to, &from->v[i]);
	return rc;
}

static int copy_all(const struct reader *r, struct reader *twin)
{
	int rc;

	twin->in = (struct input){.fd = -1, .mem = r->in.mem, .size = r->in.size};
	twin->damaged_mode = r->damaged_mode;
	twin->header = r->header;
	twin->header_ok = r->header_ok;
	twin->trailer = r->trailer;
	twin->trailer_ok = r->trailer_ok;
	twin->seed = r->seed;
	twin->footer = r->footer;
	twin->has_footer = r->has_footer;
	twin->dir_ok = r->dir_ok;
	twin->name = strdup(r->name);
	if (!twin->name)
		return -ENOMEM;
	rc = copy_list(&r->dir, &twin->dir);
	if (!rc)
		rc = copy_list(&r->found, &twin->found);
	if (!rc)
		rc = block_unpacker_new(&twin->unpacker, NULL);
	if (!rc)
		block_unpacker_thorough(twin->unpacker, false);
	if (rc || r->in.fd < 0)
		return rc;
	/* All reads are pread(): the shared file position does not matter. */
	twin->in.fd = fcntl(r->in.fd, F_DUPFD_CLOEXEC, 0);
	return twin->in.fd < 0 ? -errno : 0;
}

int reader_copy(const struct reader *r, struct reader **out, struct err *err)
{
	struct reader *twin = calloc(1, sizeof(*twin));
	int rc = -ENOMEM;

	if (twin) {
		twin->in.fd = -1;
		rc = copy_all(r, twin);
	}
	if (rc) {
		reader_close(twin);
		return err_sys(err, rc, "cannot open '%s' a second time", r->name);
	}
	*out = twin;
	return 0;
}
