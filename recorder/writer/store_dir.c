// SPDX-License-Identifier: MIT
/* Opens and checks the directory of dumps; see store_dir.h. */
#include "recorder/writer/store_dir.h"

#include "dump/base/err.h"
#include "recorder/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int dir_error(const char *dir, int code, struct err *err)
{
	struct stat st;

	switch (code) {
	case -ENOENT:
		err_set(err, code, "can't make the directory %s: its parent is not there", dir);
		err_hint(err, "mkdir -p '%s'", dir);
		break;
	case -ELOOP:
		err_set(err, code, "%s was removed, and a symbolic link is in its path now", dir);
		err_hint(err, "restart the recorder if that is intended");
		break;
	case -ENOTDIR:
		err_set(err, code, "%s is not a directory", dir);
		err_hint(err, "give the directory where dumps go with -o DIR");
		break;
	case -EACCES:
	case -EPERM:
		err_set(err, code, "can't write into %s: permission denied", dir);
		if (!stat(dir, &st))
			err_hint(err,
				 "it belongs to uid %u, has mode %04o, and you are uid %u; choose "
				 "another with -o DIR",
				 st.st_uid, st.st_mode & 07777, geteuid());
		else
			err_hint(err, "choose another directory with -o DIR");
		break;
	case -EROFS:
		err_set(err, code, "can't write into %s: its file system is mounted read-only",
			dir);
		err_hint(err, "choose another directory with -o DIR, such as -o /var/tmp");
		break;
	default:
		err_sys(err, code, "can't use the directory %s", dir);
		err_hint(err, "choose another directory with -o DIR");
	}
	return code;
}

/* Opens `parent`, no component of which may be a symbolic link. */
static int open_parent(const char *parent)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, parent, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int open_again(const char *dir)
{
	char parent[PATH_MAX];
	const char *base = strrchr(dir, '/');
	int in, fd;

	snprintf(parent, sizeof(parent), "%.*s", base == dir ? 1 : (int)(base - dir), dir);
	in = open_parent(parent);
	if (in < 0)
		return in;
	if (*++base && mkdirat(in, base, 0700) && errno != EEXIST)
		fd = -errno;
	else if ((fd = openat(in, *base ? base : ".", DIR_FLAGS | O_NOFOLLOW)) < 0)
		fd = -errno;
	close(in);
	return fd;
}

static int open_first(const char *dir)
{
	int fd = open(dir, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT) {
		if (mkdir(dir, 0700) && errno != EEXIST)
			return -errno;
		fd = open(dir, DIR_FLAGS);
	}
	return fd < 0 ? -errno : fd;
}

/* Checks that files can be made there. */
static int probe(int dir_fd)
{
	struct timespec now;
	char name[64];
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(name, sizeof(name), ".ringback-probe-%d-%lld.%ld", getpid(), (long long)now.tv_sec,
		 now.tv_nsec);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == ENOSPC || errno == EDQUOT ? 0 : -errno;
	close(fd);
	unlinkat(dir_fd, name, 0);
	return 0;
}

/* Whoever owns the directory can remove dumps, and put others in their place. */
static void check_owner(const char *dir, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return;
	if (st.st_uid && st.st_uid != geteuid())
		log_warn("%s belongs to uid %u, who can remove or replace dumps", dir, st.st_uid);
	else if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		log_warn("every user can remove or replace dumps in %s: it has mode %04o", dir,
			 st.st_mode & 07777);
}

int store_dir_open(const char *dir, bool again, struct err *err)
{
	int fd = again ? open_again(dir) : open_first(dir), rc = fd < 0 ? fd : probe(fd);

	if (rc) {
		if (fd >= 0)
			close(fd);
		return dir_error(dir, rc, err);
	}
	check_owner(dir, fd);
	return fd;
}

bool store_dir_path(int fd, char path[PATH_MAX])
{
	char link[48];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, PATH_MAX);
	if (len <= 0 || len == PATH_MAX)
		return false;
	path[len] = '\0';
	return true;
}

bool store_dir_is_reachable(int fd)
{
	struct stat is, at;
	char path[PATH_MAX];

	return !fstat(fd, &is) && is.st_nlink && store_dir_path(fd, path) && !stat(path, &at) &&
	       is.st_dev == at.st_dev && is.st_ino == at.st_ino;
}
