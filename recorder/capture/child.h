/* SPDX-License-Identifier: MIT */
/*
 * The command of `record -- COMMAND`: forked first, held at a pipe until its events are open, then
 * exec'd, so that nothing of it is missed and nothing of ringback is in it.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

struct child;
struct err;

/*
 * Forks; the child waits. Call before other threads exist. It will run with `mask`, the signal mask
 * from before the recorder blocked its own signals.
 */
int child_fork(char **argv, const sigset_t *mask, struct child **out, struct err *err);
/* Lets it exec. -ENOENT, -EACCES, ... of execvp. */
int child_go(struct child *c, struct err *err);
pid_t child_pid(const struct child *c);
/* Readable when it has ended. */
int child_fd(const struct child *c);
/* Reaps it: its exit status as a shell has it (128 + signal). */
int child_status(struct child *c);
/* One that never got to exec goes away with its pipe; one that runs gets SIGTERM and a second. */
void child_free(struct child *c);
