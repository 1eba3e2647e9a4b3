/* SPDX-License-Identifier: MIT */
/*
 * One process that a rule is about, held so that another which gets its pid is never taken for it:
 * by a pidfd, and by its directory in /proc, which both stay with the process they were opened for.
 */
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
	int pidfd;  /* readable when it has ended */
	int dir_fd; /* /proc/PID */
	uint32_t uid;
	char comm[16]; /* as of the last look */
};

/*
 * The one that the rule's argument names: a pid, or "command" for the one after `--`. Errors point
 * at the argument; -ESRCH when there is none.
 */
int process_open(const struct rule *r, const struct source_env *env, struct process *out,
		 struct err *err);
void process_close(struct process *p); /* half-open (-1) allowed */

bool process_ended(const struct process *p);
/* Sets an error that says so; -ESRCH. */
int process_gone(const struct process *p, struct err *err);

/* A file of its directory, opened (close-on-exec); negative errno. */
int process_file(const struct process *p, const char *name);

/* Whom a sighting is about: pid, uid, name, and lines with pid and name. Renews `comm` while it
 * lives. */
void process_who(struct process *p, struct sighting *what);

/* How a process ended. */
struct process_end {
	bool known;
	bool core; /* a core was dumped */
	int code;  /* exit code, 0 when a signal ended it */
	int sig;
};

/* To be asked as soon as it has ended: the kernel tells while nobody has reaped it, and Linux 6.15
 * and later also after that. */
void process_how_ended(const struct process *p, struct process_end *out);
