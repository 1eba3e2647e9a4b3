/* SPDX-License-Identifier: MIT */
/*
 * The socket that the kernel, or the program it starts for a pipe, comes to with a crash, and a
 * worker for each. In the process of core_guard.c.
 */
#pragma once

struct core_serve;
struct core_state;
struct err;

/* How crashes come, the better way first. */
enum core_way {
	CORE_BY_REQUEST, /* "@@PATH": the kernel's socket, with a handshake */
	CORE_BY_SOCKET,	 /* "@PATH" */
	CORE_BY_PIPE,	 /* the kernel starts `ringback crash-handler` */
};

/* Listens in the state's directory. `report` is borrowed. */
int core_serve_new(const struct core_state *s, int report, struct core_serve **out,
		   struct err *err);
/* Until `talk` is closed at the other end or `recorder`, a pidfd, has ended. */
void core_serve_run(struct core_serve *c, enum core_way way, int talk, int recorder);
/* Those that came before the pattern was put back. */
void core_serve_rest(struct core_serve *c, enum core_way way);
void core_serve_free(struct core_serve *c); /* NULL allowed */

/*
 * For the program of a pipe: the socket that is told of threads, from the guard of `dir`. -1: there
 * is none any more; the core is handed on all the same.
 */
int core_serve_ask(const char *dir);
