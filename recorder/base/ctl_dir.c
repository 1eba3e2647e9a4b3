// SPDX-License-Identifier: MIT
/* The directory of control sockets; see ctl_dir.h. */
#include "recorder/base/ctl_dir.h"

#include "dump/base/err.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ctl_dir_path(char *path, size_t n, struct err *err)
{
	const char *own = getenv("RINGBACK_RUNTIME_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");
	int len;

	if (own && *own)
		len = snprintf(path, n, "%s", own);
	else if (geteuid() == 0)
		len = snprintf(path, n, "/run/ringback");
	else if (xdg && *xdg == '/')
		len = snprintf(path, n, "%s/ringback", xdg);
	else
		len = snprintf(path, n, "/tmp/ringback-%u", geteuid());
	if (len < 0 || (size_t)len >= n)
		return err_set(err, -ENAMETOOLONG, "the path of the control directory is too long");
	return 0;
}

static int other_dir_hint(struct err *err, int code)
{
	err_hint(err, "name a directory of your own: export RINGBACK_RUNTIME_DIR=DIR");
	return code;
}

static int check(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, -errno, "%s", path);
	if (st.st_uid != geteuid()) {
		err_set(err, -EPERM,
			"the control directory %s belongs to uid %u, not to you (uid %u)", path,
			st.st_uid, geteuid());
		return other_dir_hint(err, -EPERM);
	}
	if (st.st_mode & 022) {
		err_set(err, -EPERM,
			"the control directory %s can be written by others (mode %04o)", path,
			st.st_mode & 07777);
		err_hint(err, "chmod 700 '%s'", path);
		return -EPERM;
	}
	return 0;
}

int ctl_dir_open(bool create, int *out, struct err *err)
{
	char path[PATH_MAX];
	int fd, rc = ctl_dir_path(path, sizeof(path), err);

	if (rc)
		return rc;
	if (create && mkdir(path, 0700) && errno != EEXIST) {
		rc = err_sys(err, -errno, "can't make the control directory %s", path);
		return other_dir_hint(err, rc);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
		err_set(err, -EPERM, "the control directory %s is no directory, or a symbolic link",
			path);
		return other_dir_hint(err, -EPERM);
	}
	if (fd < 0) {
		rc = err_sys(err, -errno, "can't open the control directory %s", path);
		return other_dir_hint(err, rc);
	}
	rc = check(fd, path, err);
	if (rc)
		close(fd);
	else
		*out = fd;
	return rc;
}

int ctl_name_check(const char *name, struct err *err)
{
	size_t n = strlen(name);
	bool good = n && name[0] != '.';

	for (size_t i = 0; i < n; i++)
		good = good && (isalnum((unsigned char)name[i]) || strchr("-_.", name[i]));
	if (!good) {
		err_set(err, -EINVAL, "'%s' can't be a recorder's name", name);
		err_hint(err,
			 "names have letters, digits, '-', '_' and '.', and don't begin with '.'");
		return -EINVAL;
	}
	if (n >= CTL_NAME_BYTES)
		return err_set(err, -ENAMETOOLONG, "a recorder's name has at most %d characters",
			       CTL_NAME_BYTES - 1);
	return 0;
}

int ctl_path(const char *name, char *path, size_t n, struct err *err)
{
	char dir[PATH_MAX];
	int len, rc = ctl_name_check(name, err);

	if (!rc)
		rc = ctl_dir_path(dir, sizeof(dir), err);
	if (rc)
		return rc;
	len = snprintf(path, n, "%s/%s.sock", dir, name);
	if (len < 0 || (size_t)len >= n)
		return err_set(err, -ENAMETOOLONG, "the path of the control socket is too long");
	return 0;
}

void ctl_address(int dir_fd, const char *name, const char *kind, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%.*s.%s", dir_fd,
		 CTL_NAME_BYTES - 1, name, kind);
}
