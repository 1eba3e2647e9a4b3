/* SPDX-License-Identifier: MIT */
/*
 * Receives from a Unix socket with the credentials that the sender had when it sent
 * (SCM_CREDENTIALS). Those of connect(2) (SO_PEERCRED) stay when the process drops privileges or
 * passes its descriptor on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* For a listening socket, so that no message comes before it holds: accepted ones inherit it. 0 or
 * -errno. */
int recv_cred_enable(int listen_fd);
/* Receives without blocking. *cred: the sender's real ids; pid 0: of a pid namespace that we can't
 * see. *cut: the message was longer than `max`. Descriptors in a message are closed. Returns the
 * number of bytes, 0 at the end of the stream, -EPERM for a message without credentials, -errno. */
ssize_t recv_cred(int fd, void *to, size_t max, struct ucred *cred, bool *cut);
