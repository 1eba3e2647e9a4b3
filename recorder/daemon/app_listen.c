// SPDX-License-Identifier: MIT
/* Makes and removes the socket for programs; see app_listen.h. Called by session.c. */
#include "recorder/daemon/app_listen.h"

#include "dump/base/err.h"
#include "recorder/daemon/ctl.h"
#include "recorder/base/ctl_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

struct app_listen {
	int dir_fd;
	char file[2][CTL_NAME_BYTES + 16];
};

static const struct {
	int type;
	const char *suffix;
} sockets[2] = {{SOCK_SEQPACKET, ".tell"}, {SOCK_STREAM, ".tell.stream"}};

static int find_group(const char *name, gid_t *gid, struct err *err)
{
	struct group *g = getgrnam(name);

	if (!g) {
		err_set(err, -ENOENT, "there is no group '%s'", name);
		err_hint(err, "getent group shows all; groupadd --system %s makes it", name);
		return -ENOENT;
	}
	*gid = g->gr_gid;
	return 0;
}

/* Checks that the directory is ours and gives the group access to it. */
static int settle(int fd, const char *path, gid_t gid, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, -errno, "%s", path);
	if (st.st_uid != geteuid()) {
		err_set(err, -EPERM, "%s belongs to uid %u, not to you (uid %u)", path, st.st_uid,
			geteuid());
		err_hint(err, "remove it: sudo rm -r '%s'", path);
		return -EPERM;
	}
	if (fchmod(fd, 0700) || fchown(fd, (uid_t)-1, gid) || fchmod(fd, 0750))
		return err_sys(err, -errno, "can't give %s to the group", path);
	return 0;
}

static int open_group_dir(gid_t gid, int *out, struct err *err)
{
	char path[PATH_MAX];
	int fd, rc = ctl_dir_path(path, sizeof(path) - 5, err);

	if (rc)
		return rc;
	strcat(path, ".tell");
	if (mkdir(path, 0700) && errno != EEXIST)
		return err_sys(err, -errno, "can't make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, -errno, "can't open the directory %s", path);
	rc = settle(fd, path, gid, err);
	if (rc)
		close(fd);
	else
		*out = fd;
	return rc;
}

/* Only we can write to the directory, so the new socket is ours. */
static int listen_in(const struct app_listen *t, const char *file, const gid_t *gid, int fd,
		     struct err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	if (unlinkat(t->dir_fd, file, 0) && errno != ENOENT)
		return err_sys(err, -errno, "can't remove %s", file);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s", t->dir_fd, file);
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&addr, sizeof(addr));
	umask(mask);
	if (!rc && gid)
		rc = fchownat(t->dir_fd, file, (uid_t)-1, *gid, AT_SYMLINK_NOFOLLOW) ||
		     fchmodat(t->dir_fd, file, 0660, 0);
	if (rc || listen(fd, BACKLOG))
		return err_sys(err, -errno, "can't listen on the programs' socket %s", file);
	return 0;
}

static int open_socket(struct app_listen *t, const char *name, int i, const gid_t *gid, int *fd,
		       struct err *err)
{
	snprintf(t->file[i], sizeof(t->file[i]), "%s%s", name, sockets[i].suffix);
	*fd = socket(AF_UNIX, sockets[i].type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return *fd < 0 ? err_sys(err, -errno, "can't make the programs' socket")
		       : listen_in(t, t->file[i], gid, *fd, err);
}

int app_listen_open(const char *name, const char *group, struct app_listen **out, int fd[2],
		    int64_t *out_gid, struct err *err)
{
	struct app_listen *t = calloc(1, sizeof(*t));
	gid_t gid = 0;
	int rc = 0;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory for the programs' socket");
	t->dir_fd = fd[0] = fd[1] = -1;
	if (group)
		rc = find_group(group, &gid, err);
	if (!rc)
		rc = group ? open_group_dir(gid, &t->dir_fd, err)
			   : ctl_dir_open(false, &t->dir_fd, err);
	for (int i = 0; !rc && i < 2; i++)
		rc = open_socket(t, name, i, group ? &gid : NULL, &fd[i], err);
	if (rc) {
		for (int i = 0; i < 2; i++)
			if (fd[i] >= 0)
				close(fd[i]);
		app_listen_close(t);
		return rc;
	}
	*out_gid = group ? (int64_t)gid : -1;
	*out = t;
	return 0;
}

void app_listen_close(struct app_listen *t)
{
	if (!t)
		return;
	for (int i = 0; i < 2; i++)
		if (t->file[i][0])
			unlinkat(t->dir_fd, t->file[i], 0);
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	free(t);
}
