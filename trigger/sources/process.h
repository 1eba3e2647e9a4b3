/* SPDX-License-Identifier: MIT */
/* A process that a rule names. A pidfd and its directory in /proc identify it: both stay with the
 * process they were opened for, even if its pid is reused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct rule;
struct sighting;
struct source_env;

struct process {
	pid_t pid;
	int pidfd;  /* readable when the process has ended */
	int dir_fd; /* /proc/PID */
	uint32_t uid;
	char comm[16]; /* updated by process_who() */
};

/* Opens the process that the rule's argument names: a pid, or "command" for the command after `--`.
 * Errors point at the argument; -ESRCH: there is none. */
int process_open(const struct rule *r, const struct source_env *env, struct process *out,
		 struct err *err);
void process_close(struct process *p); /* a half-open one (-1) is allowed */

bool process_ended(const struct process *p);
/* Sets the error that the process has ended; returns -ESRCH. */
int process_gone(const struct process *p, struct err *err);

/* Opens a file of its /proc directory (close-on-exec); the descriptor or -errno. */
int process_file(const struct process *p, const char *name);

/* Fills in pid, uid and name of a sighting, and lines with pid and name. Updates `comm` while the
 * process lives. */
void process_who(struct process *p, struct sighting *what);

/* How a process ended. */
struct process_end {
	bool known;
	bool core; /* a core was dumped */
	int code;  /* exit code; 0: ended by a signal */
	int sig;
};

/* Call as soon as the process has ended: before Linux 6.15 the kernel gives the status only until
 * the process is reaped. */
void process_how_ended(const struct process *p, struct process_end *out);
