/* SPDX-License-Identifier: MIT */
/*
 * The file systems whose files the recorder may hold (pinned.h). A held file keeps its file
 * system busy, and a look-up may hang where a server is gone; so only those count that are there as
 * long as the machine runs: the root and what is mounted right at /usr, /var, /home and the like
 * (the list is in pinned_mounts.c and the man page), of a kind that is local, not on a removable
 * disk. What is mounted anywhere else, before or later, is never looked into.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct pinned_mounts;

struct pinned_mount {
	const char *point;
	uint32_t maj, min; /* of its files, as /proc/PID/maps and records have it */
	int fd;		   /* O_PATH, of its root */
};

/* `mountinfo`: of /proc/self/mountinfo; the caller closes it. 0 or -ENOMEM. */
int pinned_mounts_new(FILE *mountinfo, struct pinned_mounts **out, struct err *err);
void pinned_mounts_free(struct pinned_mounts *k);

/* The one that an absolute path would be on, and the rest of the path; NULL: on none of them. */
const struct pinned_mount *pinned_mounts_of(const struct pinned_mounts *k, const char *path,
					    const char **rest);
size_t pinned_mounts_nr(const struct pinned_mounts *k);
