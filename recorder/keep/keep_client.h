/* SPDX-License-Identifier: MIT */
/*
 * The recorder's side of its keeper (keeper.h). At start it has nothing to do but to wait for what it
 * takes over; later it gives rings and hears the answer without waiting.
 */
#pragma once

#include "recorder/keep/keep_set.h"

#include <sys/socket.h>
#include <sys/un.h>

struct err;

#define KEEP_TIMEOUT_S 5

/* The address of NAME.keep, relative to the control directory. */
void keep_address(int dir_fd, const char *name, struct sockaddr_un *addr);
/* *sock: -1 when there is no keeper of this name. Does not wait. 0 or -errno. */
int keep_connect(const char *name, int *sock, struct err *err);
/* What is held, in the order in which it was put; the caller closes it. Waits at most KEEP_TIMEOUT_S
 * for each message. 0 or -errno. */
int keep_take(int sock, struct keep_set *out);
/* Asks to replace what is held. The socket holds a set of some 10,000 descriptors for a keeper that
 * does not read. 0 or -errno. */
int keep_put(int sock, const struct keep_set *s);
/* The answer to the oldest keep_put(): -EAGAIN: not yet; -EPIPE: the keeper has ended; other -errno:
 * it holds the former set. */
int keep_answer(int sock);
