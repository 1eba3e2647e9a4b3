/* SPDX-License-Identifier: MIT */
/* The directory of control sockets, for the recorder and its clients: its path, the check of its
 * owner and mode, and the addresses of sockets in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct err;

#define CTL_NAME_BYTES 65 /* a recorder's name, with its NUL */

int ctl_dir_path(char *path, size_t n, struct err *err);

/* Opens the directory; `create` makes it when it is missing. -EPERM when it belongs to another
 * user, is a symbolic link or is writable by others: they could place their own socket there. */
int ctl_dir_open(bool create, int *fd, struct err *err);

/* 1 to 64 letters, digits, '-', '_', '.', not beginning with '.'. 0, -EINVAL, -ENAMETOOLONG. */
int ctl_name_check(const char *name, struct err *err);

/* The address of NAME.KIND ("sock", "metrics"), relative to the directory since sun_path has only
 * 108 bytes. */
void ctl_address(int dir_fd, const char *name, const char *kind, struct sockaddr_un *addr);

/* The path of NAME's socket. -ENAMETOOLONG, or -EINVAL for an invalid name. */
int ctl_path(const char *name, char *path, size_t n, struct err *err);
