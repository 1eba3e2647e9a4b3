// SPDX-License-Identifier: MIT
/* Finds and reads tracefs; see tracefs.h. The descriptor is opened on first use and kept for the
 * life of the process: a detached mount exists only as long as it is open. */
#include "trigger/kernel/tracefs.h"

#include "dump/base/array.h"
#include "dump/base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TRACING	      "/sys/kernel/tracing"
#define DEBUG_TRACING "/sys/kernel/debug/tracing"

/* Flags of fsopen(2) and fsmount(2), missing in older C libraries. */
#define OPEN_CLOEXEC  0x1u
#define MOUNT_CLOEXEC 0x1u
#define CONFIG_CREATE 6u

static _Atomic int root_fd = -1;

/* A descriptor of `path` if tracefs is mounted there, else -ENOENT. */
static int open_mounted(const char *path)
{
	struct statfs fs;
	int fd, rc;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		/* Without access to debugfs it is unknown whether tracefs is mounted in it. */
		if (rc == -EACCES && statfs(path, &fs) == 0 && fs.f_type != TRACEFS_MAGIC)
			return -ENOENT;
		return rc;
	}
	if (fstatfs(fd, &fs) || fs.f_type != TRACEFS_MAGIC) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

static int open_detached(void)
{
	int fs, fd = -1, rc = 0;

	fs = (int)syscall(SYS_fsopen, "tracefs", OPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, CONFIG_CREATE, NULL, NULL, 0))
		rc = -errno;
	else
		fd = (int)syscall(SYS_fsmount, fs, MOUNT_CLOEXEC, 0);
	if (!rc && fd < 0)
		rc = -errno;
	close(fs);
	return rc ? rc : fd;
}

/* Since Linux 5.16 (and in older stable kernels) only root and the mount's group can read files in
 * tracefs. A wider mode of the directory is not enough: the process needs that group. */
static int cannot_read(struct err *err, int code, const char *what)
{
	err_set(err, code, "%s is readable by root only, and tracepoints are found there", what);
	err_hint(err,
		 "run as root, or: sudo mount -o remount,mode=750,gid=%u " TRACING
		 "  (or give the program cap_dac_read_search)",
		 (unsigned)getegid());
	return code;
}

static int not_there(struct err *err, int code)
{
	if (code == -EPERM || code == -EACCES) {
		err_set(err, -EACCES, "tracefs is not mounted, and only root may mount it");
		err_hint(err,
			 "run as root, or: sudo mount -t tracefs -o mode=750,gid=%u nodev " TRACING,
			 (unsigned)getegid());
		return -EACCES;
	}
	if (code == -ENODEV || code == -ENOENT) {
		err_set(err, -ENOENT, "this kernel has no tracefs, hence no tracepoints");
		err_hint(err, "use a kernel with CONFIG_FTRACE, or events such as cpu-clock");
		return -ENOENT;
	}
	if (code == -ENOSYS) {
		err_set(err, -ENOENT, "tracefs is not mounted");
		err_hint(err, "mount it: sudo mount -t tracefs nodev " TRACING);
		return -ENOENT;
	}
	return err_sys(err, code, "can't open tracefs");
}

static int open_root(struct err *err)
{
	static const char *const places[] = {TRACING, DEBUG_TRACING};
	int fd, denied = -1;

	for (int i = 0; i < 2; i++) {
		fd = open_mounted(places[i]);
		if (fd >= 0)
			return fd;
		if (fd == -EACCES && denied < 0 && i == 0)
			denied = i;
	}
	fd = open_detached();
	if (fd >= 0)
		return fd;
	if (denied >= 0)
		return cannot_read(err, -EACCES, places[denied]);
	return not_there(err, fd);
}

int tracefs_dir(struct err *err)
{
	int fd = atomic_load(&root_fd), none = -1;

	if (fd >= 0)
		return fd;
	fd = open_root(err);
	if (fd < 0)
		return fd;
	if (!atomic_compare_exchange_strong(&root_fd, &none, fd)) {
		close(fd); /* another thread was faster */
		fd = none;
	}
	return fd;
}

static int read_all(int fd, struct buf *out)
{
	ssize_t got;
	int rc;

	do {
		rc = buf_reserve(out, 4096);
		if (rc)
			return rc;
		/* Leaves one byte for the NUL. */
		got = read(fd, out->p + out->len, out->cap - out->len - 1);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0)
			out->len += (size_t)got;
	} while (got);
	out->p[out->len] = '\0';
	return 0;
}

int tracefs_read(const char *path, struct buf *out, struct err *err)
{
	struct buf b = {0};
	int root, fd, rc;

	root = tracefs_dir(err);
	if (root < 0)
		return root;
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		if (rc == -EACCES)
			return cannot_read(err, rc, path);
		return err_sys(err, rc, "can't open %s of tracefs", path);
	}
	rc = read_all(fd, &b);
	close(fd);
	if (rc) {
		buf_free(&b);
		return err_sys(err, rc, "can't read %s of tracefs", path);
	}
	buf_free(out);
	*out = b;
	return 0;
}

static int open_list(const char *path, DIR **out, struct err *err)
{
	int root, fd, rc;

	root = tracefs_dir(err);
	if (root < 0)
		return root;
	fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		if (rc == -EACCES)
			return cannot_read(err, rc, path);
		return err_sys(err, rc, "can't open %s of tracefs", path);
	}
	*out = fdopendir(fd);
	if (!*out) {
		rc = -errno;
		close(fd);
		return err_sys(err, rc, "can't list %s of tracefs", path);
	}
	return 0;
}

static bool is_dir(DIR *d, const struct dirent *e)
{
	struct stat st;

	if (e->d_name[0] == '.')
		return false;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int collect(DIR *d, char ***names, size_t *nr)
{
	char **v = NULL;
	size_t n = 0;
	struct dirent *e;

	while ((e = readdir(d))) {
		if (!is_dir(d, e))
			continue;
		if (!array_room(v, n) || !(v[n] = strdup(e->d_name)))
			goto nomem;
		n++;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_name);
	*names = v;
	*nr = n;
	return 0;
nomem:
	while (n)
		free(v[--n]);
	free(v);
	return -ENOMEM;
}

int tracefs_list(const char *path, int (*each)(void *ctx, const char *name), void *ctx,
		 struct err *err)
{
	char **names = NULL;
	size_t nr = 0;
	DIR *d = NULL;
	int rc;

	rc = open_list(path, &d, err);
	if (rc)
		return rc;
	rc = collect(d, &names, &nr);
	closedir(d);
	if (rc)
		return err_sys(err, rc, "can't list %s of tracefs", path);
	for (size_t i = 0; i < nr; i++) {
		if (!rc)
			rc = each(ctx, names[i]);
		free(names[i]);
	}
	free(names);
	return rc;
}
