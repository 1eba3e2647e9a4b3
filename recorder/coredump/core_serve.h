/* SPDX-License-Identifier: MIT */
/*
 * The socket for crashes from the kernel, or from the program that it starts for a pipe. Starts a
 * worker for each crash. Runs in the process of core_guard.c.
 */
#pragma once

struct core_serve;
struct core_state;
struct err;

/* How the kernel delivers crashes, best first. */
enum core_way {
	CORE_BY_REQUEST, /* "@@PATH": the kernel's socket, with a handshake */
	CORE_BY_SOCKET,	 /* "@PATH" */
	CORE_BY_PIPE,	 /* the kernel starts `ringback crash-handler` */
};

/* Listens in the directory of `s`. `report` is borrowed. */
int core_serve_new(const struct core_state *s, int report, struct core_serve **out,
		   struct err *err);
/* Runs until the peer closes `talk` or `recorder`, a pidfd, has ended. */
void core_serve_run(struct core_serve *c, enum core_way way, int talk, int recorder);
/* Serves crashes from before the pattern was restored. */
void core_serve_rest(struct core_serve *c, enum core_way way);
void core_serve_free(struct core_serve *c); /* NULL allowed */

/*
 * For the pipe handler: gets the socket for thread reports from the guard of `dir`. -1: there is no
 * guard any more; the core is passed on anyway.
 */
int core_serve_ask(const char *dir);
