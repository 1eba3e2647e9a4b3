/* SPDX-License-Identifier: MIT */
/*
 * The recorder's end of the socket for messages of programs (ringback.h, the crash library).
 * Messages are queued here until a source takes them. Nothing blocks. Peers and messages are
 * bounded; what does not fit is counted as dropped.
 *
 * Messages are accepted from root, the recorder's own user and members of one group, whatever the
 * socket's file mode. The kernel identifies the sender of each message (SCM_CREDENTIALS); what the
 * message says about its sender is not trusted. A crash is also accepted from others that have the
 * connection of such a process, as the workers of a server do.
 *
 * A SOCK_STREAM socket is for languages that have no other: each write is a whole message, a trigger.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct app_socket;

#define TELL_MAX_BYTES (64u << 10) /* per message */

struct app_socket_message {
	uint64_t peer;		/* id of the connection, for app_socket_reply(); never reused */
	uint32_t pid, uid, tid; /* tid: as sent if it is a thread of pid, else pid */
	uint32_t said_tid;	/* as sent, maybe in the sender's own pid namespace */
	uint64_t ns;		/* send time, as sent; not in the future */
	uint32_t kind;		/* RINGBACK_TRIGGER, ... */
	uint32_t nr;		/* equal messages of one process are queued once and counted */
	char text[224];		/* untrusted; NUL-terminated */
	size_t nr_more;		/* bytes after struct ringback_message, of the kinds for crashes */
	uint8_t *more;		/* owned: free() it after app_socket_take() */
};

int app_socket_new(struct app_socket **out, struct err *err);
/* Takes ownership of `listen_fd`, a listening, non-blocking SOCK_SEQPACKET or SOCK_STREAM socket.
 * `gid`: the accepted group; -1: none. Call once for each type; rules may be opened before. */
int app_socket_listen(struct app_socket *t, int listen_fd, int64_t gid, struct err *err);
void app_socket_free(struct app_socket *t); /* NULL allowed */

/* Readable when there may be messages; an epoll descriptor. */
int app_socket_fd(const struct app_socket *t);

/* Receives all pending messages. The engine calls this before it polls the sources. */
void app_socket_pump(struct app_socket *t);
/* Takes the oldest message of that kind that `wants` accepts (NULL: any). False: none. */
bool app_socket_take(struct app_socket *t, uint32_t kind,
		     bool (*wants)(void *ctx, const struct app_socket_message *m), void *ctx,
		     struct app_socket_message *out);

/* The number of RINGBACK_CRASH messages of that process taken since `since_ns`. */
size_t app_socket_nr_taken(const struct app_socket *t, uint32_t pid, uint64_t since_ns);
/* Answers the crash messages that no rule took, so that their senders need not wait. */
void app_socket_refuse(struct app_socket *t);

/* Sends `n` bytes and, unless -1, a copy of descriptor `fd`. 0 or -errno: the peer is gone or does
 * not read. */
int app_socket_reply(struct app_socket *t, uint64_t peer, const void *bytes, size_t n, int fd);
/* Whether the peer is still connected. */
bool app_socket_alive(const struct app_socket *t, uint64_t peer);

/* Messages dropped because they were malformed or not taken in time. */
uint64_t app_socket_nr_dropped(const struct app_socket *t);
