// SPDX-License-Identifier: MIT
/*
 * Output files of commands; see output_file.h. Called by cmd_export.c.
 *
 * The file is made with O_TMPFILE, so that a killed program leaves nothing behind. On a file system
 * without O_TMPFILE it is a temporary file in the same directory.
 */
#include "recorder/base/output_file.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output_file {
	FILE *stream;
	char *path;
	char *temporary; /* its present name; NULL: none */
	bool direct;	 /* a pipe or a device */
	bool replace;
};

/* "DIR/.NAME.XXXXXX" in the directory of `path`. */
static char *temporary_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash + 1 - path) : 0;
	char *name = NULL;

	return asprintf(&name, "%.*s.%s.XXXXXX", dir, path, path + dir) < 0 ? NULL : name;
}

static int open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	free(dir);
	return fd;
}

static int open_new(struct output_file *o)
{
	int fd = open_nameless(o->path);

	if (fd >= 0)
		return fd;
	o->temporary = temporary_name(o->path);
	if (!o->temporary)
		return -ENOMEM;
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = -errno;
	free(o->temporary);
	o->temporary = NULL;
	return fd;
}

static int open_fd(struct output_file *o, struct err *err)
{
	struct stat st;
	int fd;

	if (stat(o->path, &st)) {
		fd = open_new(o);
	} else if (!S_ISREG(st.st_mode)) {
		o->direct = true;
		fd = open(o->path, O_WRONLY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
	} else if (!o->replace) {
		err_set(err, -EEXIST, "%s is there already", o->path);
		return -EEXIST;
	} else {
		fd = open_new(o);
	}
	return fd < 0 ? err_sys(err, fd, "%s can't be written", o->path) : fd;
}

int output_file_open(const char *path, bool replace, struct output_file **out, struct err *err)
{
	struct output_file *o = calloc(1, sizeof(*o));
	int fd, rc = -ENOMEM;

	if (!o || !(o->path = strdup(path))) {
		err_set(err, rc, "out of memory");
		goto fail;
	}
	o->replace = replace;
	rc = fd = open_fd(o, err);
	if (fd < 0)
		goto fail;
	o->stream = fdopen(fd, "w");
	if (!o->stream) {
		close(fd);
		rc = err_set(err, -ENOMEM, "out of memory");
		goto fail;
	}
	*out = o;
	return 0;
fail:
	output_file_close(o);
	return rc;
}

FILE *output_file_stream(struct output_file *o)
{
	return o->stream;
}

/* Links the nameless file to `path`, which must not exist. */
static int give_name(struct output_file *o, const char *path)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(o->stream));
	return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* As give_name(), to an unused name in the same directory. */
static int give_temporary(struct output_file *o)
{
	int fd, rc = -EEXIST;

	for (int i = 0; i < 100 && rc == -EEXIST; i++) {
		char *name = temporary_name(o->path);

		if (!name)
			return -ENOMEM;
		/* Finds an unused name; linkat() needs the name to be free, so the file is removed
		 * again. */
		fd = mkostemp(name, O_CLOEXEC);
		rc = fd < 0 || close(fd) || unlink(name) ? -errno : give_name(o, name);
		if (rc)
			free(name);
		else
			o->temporary = name;
	}
	return rc;
}

/* Renames the temporary file to its final name without replacing a file. */
static int rename_new(struct output_file *o)
{
	if (!renameat2(AT_FDCWD, o->temporary, AT_FDCWD, o->path, RENAME_NOREPLACE)) {
		free(o->temporary);
		o->temporary = NULL;
		return 0;
	}
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* link() does not replace a file either; the temporary name is removed on close. */
	return link(o->temporary, o->path) ? -errno : 0;
}

static int put_in_place(struct output_file *o)
{
	int rc = 0;

	if (!o->replace)
		return o->temporary ? rename_new(o) : give_name(o, o->path);
	if (!o->temporary)
		rc = give_temporary(o);
	if (!rc && rename(o->temporary, o->path))
		rc = -errno;
	if (!rc) {
		free(o->temporary); /* it is no longer a temporary name */
		o->temporary = NULL;
	}
	return rc;
}

int output_file_commit(struct output_file *o, struct err *err)
{
	int rc = fflush(o->stream) || ferror(o->stream) ? -EIO : 0;

	if (!rc && !o->direct)
		rc = put_in_place(o);
	return rc ? err_sys(err, rc, "%s can't be written", o->path) : 0;
}

void output_file_close(struct output_file *o)
{
	if (!o)
		return;
	if (o->stream)
		fclose(o->stream);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->path);
	free(o);
}
