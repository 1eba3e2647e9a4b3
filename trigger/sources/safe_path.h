/* SPDX-License-Identifier: MIT */
/*
 * A file that a rule names, opened so that nobody but who may anyway decides which one it is: a
 * symlink is followed only where its directory belongs to root or to us and nobody else may write
 * to it, and nothing but a regular file is ever opened, for that alone can have effects (FIFOs,
 * devices).
 */
#pragma once

#include <sys/stat.h>

struct err;

#define SAFEPATH_DIRS 4

struct safe_path {
	/* The directories in which its name was looked up: its own, and those that symlinks in its
	 * place lead to. When it changes to another file, that happens in one of these. */
	int dirs[SAFEPATH_DIRS];
	int nr_dirs;
	int fd; /* for reading; -1 */
	struct stat st;
};

/*
 * `path` is absolute. Also on failure `out` is filled in, as far as it went, and has to be closed.
 * 0; -ENOENT: the file, or with nr_dirs 0 its directory, is not there; -ELOOP: a symlink that is
 * not followed; -EINVAL: no regular file; others.
 */
int safe_path_open(const char *path, struct safe_path *out, struct err *err);
void safe_path_close(struct safe_path *p);
