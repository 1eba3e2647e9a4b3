/* SPDX-License-Identifier: MIT */
/*
 * Where control sockets live, for both ends: the directory, checked before anything in it is
 * trusted, and addresses of sockets in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct err;

#define CTL_NAME_BYTES 65 /* of a recorder's name, with its NUL */

int ctl_dir_path(char *path, size_t n, struct err *err);

/*
 * Opens the directory, `create`: makes it when missing. -EPERM when it is another user's, a
 * symbolic link or writable by others: then somebody could put a socket of his own there.
 */
int ctl_dir_open(bool create, int *fd, struct err *err);

/* 1 to 64 letters, digits, '-', '_', '.', not beginning with '.'. 0, -EINVAL, -ENAMETOOLONG. */
int ctl_name_check(const char *name, struct err *err);

/* The address of NAME.sock relative to the directory, however long its path is (sun_path has 108).
 */
void ctl_address(int dir_fd, const char *name, struct sockaddr_un *addr);

/* Where NAME's socket is. -ENAMETOOLONG, -EINVAL for a name with other than letters, digits, - _ .
 */
int ctl_path(const char *name, char *path, size_t n, struct err *err);
