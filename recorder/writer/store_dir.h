/* SPDX-License-Identifier: MIT */
/* The directory that dumps go to, for store.c: made if it is missing, checked, and opened again when
 * its path leads to it no more. */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct err;

/*
 * Opens `dir` and checks that files can be made in it; a full disk is accepted, since space may be
 * freed later. Its last component is made if it is missing. `again`: the path is one that
 * store_dir_path() returned, and no component may be a symbolic link now: a directory that was
 * removed is not made anew somewhere else. Returns the descriptor, or a negative errno.
 */
int store_dir_open(const char *dir, bool again, struct err *err);

/* The absolute path of an open directory, also after it was moved. False: unknown. */
bool store_dir_path(int fd, char path[PATH_MAX]);
/* False when it was removed, or its file system was unmounted under it (umount -l). */
bool store_dir_is_reachable(int fd);
