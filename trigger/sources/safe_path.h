/* SPDX-License-Identifier: MIT */
/*
 * Opens a file that a rule names so that other users can't redirect it. A symlink is followed only
 * if its directory belongs to root or to us and nobody else may write to it. Only regular files are
 * opened, because opening a FIFO or a device can have effects.
 */
#pragma once

#include <sys/stat.h>

struct err;

#define SAFEPATH_DIRS 4

struct safe_path {
	/* The directory of the file, and those that symlinks in its place lead to. A change to
	 * another file happens in one of these. */
	int dirs[SAFEPATH_DIRS];
	int nr_dirs;
	int fd; /* for reading; -1: not open */
	struct stat st;
};

/*
 * `path` is absolute. After a failure `out` is partly filled in and must be closed too. 0; -ENOENT:
 * the file does not exist (nr_dirs 0: nor its directory); -ELOOP: a symlink that is not followed;
 * -EINVAL: not a regular file; or another -errno.
 */
int safe_path_open(const char *path, struct safe_path *out, struct err *err);
void safe_path_close(struct safe_path *p);
