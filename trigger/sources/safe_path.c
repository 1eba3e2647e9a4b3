// SPDX-License-Identifier: MIT
/* Opens a path one component at a time; see safe_path.h. */
#include "trigger/sources/safe_path.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINKS 40

struct path_walk {
	const char *path;    /* as given, for errors */
	char rest[PATH_MAX]; /* not yet resolved, relative to `dir` */
	char name[NAME_MAX + 1];
	int dir; /* O_PATH */
	int nr_links;
	struct err *err;
};

/*
 * The next component of the path; false: there is none, or *rc is an error. `last`: it is the last.
 */
static bool next_name(struct path_walk *w, bool *last, int *rc)
{
	char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/");

	if (!n)
		return false;
	if (n > NAME_MAX) {
		*rc = err_set(w->err, -ENAMETOOLONG, "%s: a part of it is too long", w->path);
		return false;
	}
	memcpy(w->name, from, n);
	w->name[n] = '\0';
	from += n;
	*last = !from[strspn(from, "/")];
	memmove(w->rest, from, strlen(from) + 1);
	return true;
}

static int to_root(struct path_walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(w->err, -errno, "can't open /");
	if (w->dir >= 0)
		close(w->dir);
	w->dir = fd;
	return 0;
}

static bool others_may_write(int dir)
{
	struct stat st;

	return fstat(dir, &st) || (st.st_uid && st.st_uid != geteuid()) || st.st_mode & 022;
}

/* Puts the target of the symlink `fd` (w->name in w->dir) before the rest of the path. */
static int follow(struct path_walk *w, int fd)
{
	char target[PATH_MAX];
	size_t rest = strlen(w->rest);
	ssize_t n;

	if (others_may_write(w->dir)) {
		err_set(w->err, -ELOOP,
			"%s: '%s' is a symlink in a directory that others may write to", w->path,
			w->name);
		err_hint(w->err, "give the path that it leads to");
		return -ELOOP;
	}
	if (++w->nr_links > MAX_LINKS)
		return err_set(w->err, -ELOOP, "%s: too many symlinks", w->path);
	n = readlinkat(fd, "", target, sizeof(target));
	if (n < 0)
		return err_sys(w->err, -errno, "%s: can't read the symlink '%s'", w->path, w->name);
	if ((size_t)n + 1 + rest >= sizeof(w->rest))
		return err_set(w->err, -ENAMETOOLONG, "%s: too long with its symlinks", w->path);
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)n);
	w->rest[n] = '/';
	return target[0] == '/' ? to_root(w) : 0;
}

static void note_dir(struct safe_path *out, int dir)
{
	if (out->nr_dirs == SAFEPATH_DIRS)
		return;
	out->dirs[out->nr_dirs] = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (out->dirs[out->nr_dirs] >= 0)
		out->nr_dirs++;
}

/* Checks the type first: `fd` is O_PATH, so the file itself is not open yet. */
static int open_file(struct path_walk *w, int fd, struct safe_path *out)
{
	char self[32];

	if (!S_ISREG(out->st.st_mode))
		return err_set(w->err, -EINVAL, "%s is %s, not a regular file", w->path,
			       S_ISDIR(out->st.st_mode)	   ? "a directory"
			       : S_ISFIFO(out->st.st_mode) ? "a FIFO"
			       : S_ISSOCK(out->st.st_mode) ? "a socket"
							   : "a device");
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	out->fd = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return out->fd < 0 ? err_sys(w->err, -errno, "can't read %s", w->path) : 0;
}

/* Resolves one component. 1: the file is open; 0: go on; or -errno. */
static int step(struct path_walk *w, bool last, struct safe_path *out)
{
	int fd, rc = 0;

	if (last)
		note_dir(out, w->dir);
	fd = openat(w->dir, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &out->st)) {
		rc = err_sys(w->err, -errno, "%s: '%s'", w->path, w->name);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	if (S_ISLNK(out->st.st_mode)) {
		rc = follow(w, fd);
	} else if (last) {
		rc = open_file(w, fd, out);
		rc = rc ? rc : 1;
	} else {
		close(w->dir);
		w->dir = fd;
		return 0;
	}
	close(fd);
	return rc;
}

int safe_path_open(const char *path, struct safe_path *out, struct err *err)
{
	struct path_walk w = {.path = path, .dir = -1, .err = err};
	bool last;
	int rc = 0;

	*out = (struct safe_path){.fd = -1};
	if (path[0] != '/' || strlen(path) >= sizeof(w.rest))
		return err_set(err, -EINVAL, "%s is no absolute path", path);
	strcpy(w.rest, path);
	rc = to_root(&w);
	while (!rc && next_name(&w, &last, &rc))
		rc = step(&w, last, out);
	if (!rc)
		rc = err_set(err, -EINVAL, "%s is a directory, not a regular file", path);
	if (w.dir >= 0)
		close(w.dir);
	return rc < 0 ? rc : 0;
}

void safe_path_close(struct safe_path *p)
{
	for (int i = 0; i < p->nr_dirs; i++)
		close(p->dirs[i]);
	if (p->fd >= 0)
		close(p->fd);
	p->nr_dirs = 0;
	p->fd = -1;
}
