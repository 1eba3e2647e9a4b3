/* SPDX-License-Identifier: MIT */
/* The recorder's side of its keeper (keeper.h). Each call waits at most KEEP_TIMEOUT_S for an
 * answer. */
#pragma once

#include "recorder/keep/keep_set.h"

#include <sys/socket.h>
#include <sys/un.h>

struct err;

#define KEEP_TIMEOUT_S 5

/* The address of NAME.keep, relative to the control directory. */
void keep_address(int dir_fd, const char *name, struct sockaddr_un *addr);
/* *sock: -1 when there is no keeper of this name. 0 or -errno. */
int keep_connect(const char *name, int *sock, struct err *err);
/* What is held, in the order in which it was put; the caller closes it. 0 or -errno. */
int keep_take(int sock, struct keep_set *out);
/* Replaces what is held. On failure the former set may be held still. 0 or -errno. */
int keep_put(int sock, const struct keep_set *s);
