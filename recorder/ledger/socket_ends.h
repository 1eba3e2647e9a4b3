/* SPDX-License-Identifier: MIT */
/*
 * The other ends of sockets on this machine, for thread_snapshot.c: TCP and UDP sockets from
 * /proc/PID/net, by their addresses; unix sockets from sock_diag(7). A network namespace is read
 * once, through any process in it.
 */
#pragma once

#include "recorder/ledger/thread_read.h"

struct socket_ends;

/* `over(ctx)` is asked often; once it is true, nothing more is read. */
int socket_ends_new(int proc_fd, bool (*over)(void *ctx), void *ctx, struct socket_ends **out);
void socket_ends_free(struct socket_ends *s);

/* Reads the namespace of a process unless it was read before. */
void socket_ends_read(struct socket_ends *s, uint32_t pid);

/*
 * Sets protocol and addresses of `file`, a socket of a process whose namespace was read. Returns the
 * inode of the socket at the other end, or of the listening socket while the connection is not
 * accepted; 0: none on this machine, or unknown.
 */
uint64_t socket_ends_find(const struct socket_ends *s, struct thread_file *file);
