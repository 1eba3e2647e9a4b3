/* SPDX-License-Identifier: MIT */
/*
 * The command of `record -- COMMAND`. It is forked first and waits on a pipe until its events are
 * open; then it calls exec. So the recording has all of the command and nothing of ringback.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

struct child;
struct err;

/*
 * Forks; the child waits for child_go(). Call before other threads exist. The command runs with the
 * signal mask `mask`, from before the recorder blocked its own signals.
 */
int child_fork(char **argv, const sigset_t *mask, struct child **out, struct err *err);
/* Lets the child call exec. 0 or -errno of execvp: -ENOENT, -EACCES, ... */
int child_go(struct child *c, struct err *err);
pid_t child_pid(const struct child *c);
/* A descriptor that is readable when the command has ended. */
int child_fd(const struct child *c);
/* Waits for the command; its exit status as in a shell (128 + signal). */
int child_status(struct child *c);
/* A child that has not called exec exits with its pipe. A running command gets SIGTERM and a second
 * to exit. */
void child_free(struct child *c);
