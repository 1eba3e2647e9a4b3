/* SPDX-License-Identifier: MIT */
/*
 * --on-dump: runs a command after each dump, one at a time, in the order of the dumps.
 *
 *	on_dump_add()     queue of ON_DUMP_QUEUE     helper (on_dump_child.c)      sh -c COMMAND
 *	main loop    ──▶  ......................  ──▶ opens the dump as stdin,  ──▶ unprivileged,
 *	                                             drops privileges              at idle priority
 *
 * The command gets ON_DUMP_NS; then its process group is killed. Nothing here waits for it.
 */
#pragma once

#include <stddef.h>

struct err;
struct on_dump;

#define ON_DUMP_QUEUE	 8
#define ON_DUMP_NS	 60000000000ull
#define ON_DUMP_LEAVE_NS 10000000000ull /* for the rest, when the recorder ends */

/* `user`: NULL: "nobody". Without root, the command runs as the recorder's own user. -EINVAL for
 * root and for a user that does not exist. Both texts are borrowed. */
int on_dump_new(const char *command, const char *user, struct on_dump **out, struct err *err);
/* Runs what is queued for at most ON_DUMP_LEAVE_NS, then kills it. NULL allowed. */
void on_dump_free(struct on_dump *o);
/* An epoll descriptor: call on_dump_woken() when it is readable. */
int on_dump_fd(const struct on_dump *o);
void on_dump_woken(struct on_dump *o);

/* Texts are copied. */
void on_dump_add(struct on_dump *o, const char *path, const char *rule, const char *reason);

/* The helper process: argv of the hidden command. Returns only on failure, an exit code. */
int on_dump_child(int argc, char **argv);
