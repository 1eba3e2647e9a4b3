// SPDX-License-Identifier: MIT
/* Saves and restores kernel.core_pattern; see core_state.h. */
#include "recorder/coredump/core_state.h"

#include "dump/base/err.h"
#include "recorder/base/ctl_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN "/proc/sys/kernel/core_pattern"
#define SAVED	"core_pattern.saved"
#define LOCK	"core_pattern.lock"

/* ---- the setting ---- */

static int read_line(int fd, char out[CORE_PATTERN_BYTES])
{
	ssize_t n = read(fd, out, CORE_PATTERN_BYTES - 1);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return 0;
}

static int get_pattern(char out[CORE_PATTERN_BYTES])
{
	int fd = open(PATTERN, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = read_line(fd, out);
	close(fd);
	return rc;
}

static int put_pattern(const char *pattern)
{
	char line[CORE_PATTERN_BYTES + 1];
	int fd = open(PATTERN, O_WRONLY | O_CLOEXEC), rc = 0;
	int n = snprintf(line, sizeof(line), "%s\n", pattern);

	if (fd < 0)
		return -errno;
	if (write(fd, line, (size_t)n) != n)
		rc = -errno;
	close(fd);
	return rc;
}

/* The directory in a recorder's pattern; false when the pattern is not a recorder's. */
static bool dir_of(const char *pattern, char dir[CORE_PATTERN_BYTES])
{
	static const char end[] = "/" CORE_SOCKET_NAME, word[] = " " CORE_HANDLER " ";
	const char *from = pattern + strspn(pattern, "@"), *stop;

	if (*pattern == '|') {
		from = strstr(pattern, word);
		if (!from)
			return false;
		from += strlen(word);
		stop = from + strcspn(from, " ");
	} else {
		stop = strstr(pattern, end);
		if (*pattern != '@' || !stop || stop[strlen(end)])
			return false;
	}
	snprintf(dir, CORE_PATTERN_BYTES, "%.*s", (int)(stop - from), from);
	return *dir == '/';
}

/* ---- the saved pattern ---- */

/* The file must be ours and without the permissions `mask`, so that no other user can have written
 * it. */
static int check_owner(int fd, mode_t mask)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return st.st_uid != geteuid() || st.st_mode & mask ? -EPERM : 0;
}

static int read_saved(int dir_fd, char former[CORE_PATTERN_BYTES])
{
	int fd = openat(dir_fd, SAVED, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = check_owner(fd, 077);
	if (!rc)
		rc = read_line(fd, former);
	close(fd);
	return rc;
}

/* Written completely before the pattern changes. */
static int write_saved(int dir_fd, const char *former)
{
	int fd, rc = 0;

	unlinkat(dir_fd, SAVED ".new", 0);
	fd = openat(dir_fd, SAVED ".new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%s\n", former) < 0 || fsync(fd))
		rc = -errno;
	close(fd);
	if (!rc && renameat(dir_fd, SAVED ".new", dir_fd, SAVED))
		rc = -errno;
	return rc;
}

static int open_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = check_owner(fd, 022);
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

int core_state_former(const char *dir, char former[CORE_PATTERN_BYTES])
{
	int fd = open_dir(dir), rc;

	if (fd < 0)
		return fd;
	rc = read_saved(fd, former);
	close(fd);
	return rc;
}

/* ---- the lock ---- */

static int lock(int dir_fd, int *out)
{
	int fd = openat(dir_fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		return -errno;
	rc = flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
	if (rc)
		close(fd);
	else
		*out = fd;
	return rc == -EWOULDBLOCK ? -EBUSY : rc;
}

int core_state_open(struct core_state *s, struct err *err)
{
	char path[PATH_MAX], real[PATH_MAX];
	int rc = ctl_dir_path(path, sizeof(path), err);

	*s = (struct core_state){.dir_fd = -1, .lock_fd = -1};
	if (!rc)
		rc = ctl_dir_open(true, &s->dir_fd, err);
	if (rc)
		return rc;
	if (!realpath(path, real) || strlen(real) >= 100 || strchr(real, ' ')) {
		rc = err_set(err, -ENAMETOOLONG,
			     "--crash-hold: the kernel can't be given the path %s", path);
		err_hint(err, "name a short one: export RINGBACK_RUNTIME_DIR=/run/ringback");
	} else {
		snprintf(s->dir, sizeof(s->dir), "%s", real);
		rc = lock(s->dir_fd, &s->lock_fd);
		if (rc == -EBUSY)
			err_set(err, rc, "another recorder has --crash-hold: there can be one");
		else if (rc)
			err_sys(err, rc, "can't lock %s/%s", s->dir, LOCK);
	}
	if (rc)
		core_state_close(s);
	return rc;
}

void core_state_close(struct core_state *s)
{
	if (s->dir_fd >= 0)
		close(s->dir_fd);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	s->dir_fd = s->lock_fd = -1;
}

/* ---- set and restore ---- */

int core_state_set(struct core_state *s, const char *pattern, struct err *err)
{
	int rc = get_pattern(s->former);

	if (!rc)
		rc = write_saved(s->dir_fd, s->former);
	if (rc)
		return err_sys(err, rc, "can't keep kernel.core_pattern in %s", s->dir);
	rc = put_pattern(pattern);
	if (!rc)
		return 0;
	unlinkat(s->dir_fd, SAVED, 0);
	return err_sys(err, rc, "can't set kernel.core_pattern to '%s'", pattern);
}

int core_state_restore(struct core_state *s, struct err *err)
{
	char now[CORE_PATTERN_BYTES], dir[CORE_PATTERN_BYTES];
	int rc = get_pattern(now);

	if (!rc && dir_of(now, dir) && !strcmp(dir, s->dir))
		rc = put_pattern(s->former);
	if (rc)
		return err_sys(err, rc, "can't put kernel.core_pattern back to '%s'", s->former);
	unlinkat(s->dir_fd, SAVED, 0);
	return 0;
}

static int put_back(struct core_state *s, bool repair, struct err *err)
{
	int rc = read_saved(s->dir_fd, s->former);

	if (rc && repair) {
		err_sys(err, rc,
			"kernel.core_pattern is of a recorder that is gone, and what was "
			"there before is not known");
		err_hint(err, "sysctl -w kernel.core_pattern=core");
		return rc;
	}
	return rc || !repair ? 0 : core_state_restore(s, err);
}

int core_state_left(bool repair, enum core_left *out, char former[CORE_PATTERN_BYTES],
		    struct err *err)
{
	struct core_state s = {.dir_fd = -1, .lock_fd = -1};
	char now[CORE_PATTERN_BYTES];
	int rc = get_pattern(now);

	*former = '\0';
	*out = CORE_LEFT_NONE;
	if (rc)
		return err_sys(err, rc, "can't read %s", PATTERN);
	if (!dir_of(now, s.dir))
		return 0;
	s.dir_fd = open_dir(s.dir);
	rc = s.dir_fd < 0 ? s.dir_fd : lock(s.dir_fd, &s.lock_fd);
	*out = CORE_LEFT_RESTORED;
	/* Without permission to check the lock, assume that the recorder is alive. */
	if (rc == -EBUSY || (!repair && (rc == -EPERM || rc == -EACCES))) {
		*out = CORE_LEFT_IN_USE;
		rc = 0;
	}
	if (*out == CORE_LEFT_IN_USE) {
		/* nothing to restore */
	} else if (rc && repair) {
		err_sys(err, rc, "kernel.core_pattern is '%s', of a recorder that is gone", now);
		err_hint(err, "sysctl -w kernel.core_pattern=core");
	} else {
		rc = rc ? 0 : put_back(&s, repair, err);
	}
	memcpy(former, s.former, sizeof(s.former));
	core_state_close(&s);
	return rc;
}
