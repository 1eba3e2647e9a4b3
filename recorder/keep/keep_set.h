/* SPDX-License-Identifier: MIT */
/*
 * A list of descriptors, some of which stand for a mapping too, and its way through a socket
 * (SOCK_SEQPACKET). Both ends are the same program, so structs are sent as they are.
 *
 *	recorder ── PUT, FDS..., END ──▶ keeper ── DONE ──▶		replaces what is held
 *	recorder ── GET ──▶ keeper ── FDS..., END ──▶			what is held stays
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct keep_fd {
	int fd;
	uint64_t map_bytes; /* from offset 0, shared; 0: none */
	void *map;	    /* the keeper's */
};

struct keep_set {
	struct keep_fd *v;
	size_t nr;
};

/* 0 or -ENOMEM. */
int keep_set_add(struct keep_set *s, int fd, uint64_t map_bytes);
/* Forgets the list; the descriptors stay open. */
void keep_set_free(struct keep_set *s);
/* Closes them, and removes the mappings. */
void keep_set_close(struct keep_set *s);

enum keep_what { KEEP_PUT = 1, KEEP_GET, KEEP_FDS, KEEP_END, KEEP_DONE };

/* The kernel passes at most 253 descriptors with a message (SCM_MAX_FD). */
#define KEEP_MESSAGE_FDS 250

struct keep_message {
	uint32_t what;
	int32_t rc;	       /* KEEP_DONE: 0 or -errno */
	uint32_t nr, reserved; /* KEEP_FDS: of this message; KEEP_END: of the set */
	uint64_t map_bytes[KEEP_MESSAGE_FDS];
};

/* One message without descriptors. 0 or -errno, -EPIPE at the end of the connection. */
int keep_send(int sock, enum keep_what what, int rc);
int keep_receive(int sock, struct keep_message *m);
/* FDS..., END. On failure of keep_receive_set() nothing is left open. -EBADMSG: not a set. */
int keep_send_set(int sock, const struct keep_set *s);
int keep_receive_set(int sock, struct keep_set *out);
