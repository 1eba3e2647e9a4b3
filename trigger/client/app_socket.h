/* SPDX-License-Identifier: MIT */
/*
 * What programs tell the recorder by themselves (ringback.h, the crash library): the recorder's end
 * of their socket. Messages wait here until the source that wants them asks. Nothing blocks;
 * bounded in peers and messages, and what did not fit is counted.
 *
 * Heard are root, the recorder's own user and members of one group, whatever the modes of files
 * say. Whose message it is says the kernel (SCM_CREDENTIALS, of each message), not the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct app_socket;

#define TELL_MAX_BYTES 4096 /* of one message */

struct app_socket_message {
	uint64_t peer;		/* of the connection, for app_socket_reply(); never used twice */
	uint32_t pid, uid, tid; /* tid: as it says, but one of pid's, else pid */
	uint32_t said_tid;	/* as it says, in a pid namespace of its own maybe */
	uint64_t ns;		/* when it was sent, as it says; not in the future */
	uint32_t kind;		/* RINGBACK_TRIGGER, ... */
	uint32_t nr;		/* how often in a row: the same of one process is kept once */
	char text[224];		/* untrusted; terminated */
	size_t nr_more;		/* bytes behind struct ringback_message */
	uint8_t more[TELL_MAX_BYTES];
};

int app_socket_new(struct app_socket **out, struct err *err);
/* Takes over `listen_fd`, a listening SOCK_SEQPACKET socket that does not block. `gid`: of the
 * group that is heard; -1: none. Once; rules may be opened before. */
int app_socket_listen(struct app_socket *t, int listen_fd, int64_t gid, struct err *err);
void app_socket_free(struct app_socket *t); /* NULL allowed */

/* Readable when there may be messages; an epoll descriptor. */
int app_socket_fd(const struct app_socket *t);

/* Takes in what is there. The engine does it before it asks the sources. */
void app_socket_pump(struct app_socket *t);
/* The oldest message of that kind that `wants` (NULL: any). False: none. */
bool app_socket_take(struct app_socket *t, uint32_t kind,
		     bool (*wants)(void *ctx, const struct app_socket_message *m), void *ctx,
		     struct app_socket_message *out);

/* How many messages of kind RINGBACK_CRASH of that process were taken since then. */
size_t app_socket_nr_taken(const struct app_socket *t, uint32_t pid, uint64_t since_ns);
/* Tells those whose crash nobody took that nobody will. */
void app_socket_refuse(struct app_socket *t);

/* Sends `n` bytes and, when not -1, a copy of descriptor `fd`. 0 or -errno: it is gone or does not
 * read. */
int app_socket_reply(struct app_socket *t, uint64_t peer, const void *bytes, size_t n, int fd);
/* Whether it is still connected. */
bool app_socket_alive(const struct app_socket *t, uint64_t peer);

/* Messages dropped because nobody took them in time, or malformed. */
uint64_t app_socket_nr_dropped(const struct app_socket *t);
