/* SPDX-License-Identifier: MIT */
/*
 * The file systems with files that the recorder may hold open (pinned.h). An open file keeps its
 * file system busy, and a look-up may hang when a server is gone. So only mounts that last as long
 * as the machine runs are used: the root and mounts directly at /usr, /var, /home and the like (the
 * list is in pinned_mounts.c and the man page), of a local type, not on a removable disk. Other
 * mounts are never accessed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct pinned_mounts;

struct pinned_mount {
	const char *point;
	uint32_t maj, min; /* device of its files, as in /proc/PID/maps and in records */
	int fd;		   /* O_PATH, of its root directory */
};

/* `mountinfo`: an open /proc/self/mountinfo; the caller closes it. 0 or -ENOMEM. */
int pinned_mounts_new(FILE *mountinfo, struct pinned_mounts **out, struct err *err);
void pinned_mounts_free(struct pinned_mounts *k);

/* The mount that an absolute path is on, and the rest of the path; NULL: on none of these. */
const struct pinned_mount *pinned_mounts_of(const struct pinned_mounts *k, const char *path,
					    const char **rest);
size_t pinned_mounts_nr(const struct pinned_mounts *k);
