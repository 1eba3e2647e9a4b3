/* SPDX-License-Identifier: MIT */
/* A control group with one limit, for examples: cgroup version 1 or 2, whichever is mounted. The
 * creator removes it after all members have ended. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct group {
	char dir[200];
};

struct group_limit {
	const char *v1_dir, *v1_file, *v1_value;
	const char *v2_file, *v2_value;
};

static inline int group_write(const struct group *g, const char *file, const char *value)
{
	char path[300];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", g->dir, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	n = write(fd, value, strlen(value));
	close(fd);
	return n < 0 ? -1 : 0;
}

static inline int group_make(struct group *g, const char *name, const struct group_limit *l)
{
	snprintf(g->dir, sizeof(g->dir), "%s/%s-%d", l->v1_dir, name, (int)getpid());
	if (!mkdir(g->dir, 0755))
		return group_write(g, l->v1_file, l->v1_value);
	snprintf(g->dir, sizeof(g->dir), "/sys/fs/cgroup/%s-%d", name, (int)getpid());
	if (!mkdir(g->dir, 0755))
		return group_write(g, l->v2_file, l->v2_value);
	return -1;
}

/* Moves the calling process into the group. */
static inline int group_enter(const struct group *g)
{
	return group_write(g, "cgroup.procs", "0");
}

static inline void group_remove(const struct group *g)
{
	/* The group stays busy for a moment after the last member has ended. */
	for (int i = 0; i < 100 && rmdir(g->dir) && errno == EBUSY; i++)
		usleep(20000);
}
