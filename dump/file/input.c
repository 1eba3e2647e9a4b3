// SPDX-License-Identifier: MIT
/* A reader's bytes; see input.h. */
#include "dump/file/input.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_open(const char *path, int code, struct err *err)
{
	err_sys(err, code, "cannot open '%s'", path);
	if (code == -EACCES || code == -EPERM)
		err_hint(err,
			 "dumps belong to the user that recorded them: read it with sudo, or take "
			 "it over with sudo chown $USER");
	else if (code == -ENOENT || code == -ENOTDIR)
		err_hint(err, "ringback record -o DIR writes dumps to DIR/ringback-*.rbd");
	return code;
}

int input_open(const char *path, struct input *out, struct err *err)
{
	struct input in = {.fd = -1};
	struct stat st;
	int rc;

	/* O_NONBLOCK: opening a FIFO without a writer would block. */
	in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (in.fd < 0)
		return cannot_open(path, -errno, err);
	if (fstat(in.fd, &st)) {
		rc = err_sys(err, -errno, "cannot examine '%s'", path);
		goto fail;
	}
	if (S_ISDIR(st.st_mode)) {
		rc = err_set(err, -EISDIR, "'%s' is a directory", path);
		err_hint(err, "name one of the *.rbd files in it");
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = err_set(err, -EINVAL, "'%s' is not a regular file", path);
		err_hint(err, "a dump is not read in order: copy it to a file first");
		goto fail;
	}
	in.size = (uint64_t)st.st_size;
	*out = in;
	return 0;
fail:
	close(in.fd);
	return rc;
}

void input_close(struct input *in)
{
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}

int input_read(const struct input *in, uint64_t off, void *dst, size_t n)
{
	uint8_t *p = dst;

	if (!span_fits(off, n, in->size))
		return -EBADMSG;
	if (in->fd < 0) {
		if (n)
			memcpy(dst, in->mem.p + off, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(in->fd, p, n, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG;
		p += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}
