/* SPDX-License-Identifier: MIT */
/*
 * kernel.core_pattern during --crash-hold. The former pattern is saved in the directory of control
 * sockets. The recorder, its guard, the next recorder, or `ringback doctor --repair` restores it. A
 * lock held by the recorder and its guard tells whether they are alive.
 */
#pragma once

#include "recorder/coredump/core_pattern.h"

#include <stdbool.h>

struct err;

/* Not NAME.sock, which is the control socket of a recorder (ctl.h). */
#define CORE_SOCKET_NAME "ringback-core.socket"
#define CORE_HANDLER	 "crash-handler"

struct core_state {
	char dir[CORE_PATTERN_BYTES]; /* without symbolic links, as the kernel requires */
	int dir_fd, lock_fd;
	char former[CORE_PATTERN_BYTES];
};

/* Takes the lock in the directory of control sockets; creates the directory if it is missing.
 * -EBUSY when another recorder has --crash-hold. On success call core_state_close(). */
int core_state_open(struct core_state *s, struct err *err);
/* Drops the lock; does not restore the pattern. */
void core_state_close(struct core_state *s);

/* Saves the current pattern, then sets `pattern`. */
int core_state_set(struct core_state *s, const char *pattern, struct err *err);
/* Restores the former pattern, unless another program has changed it since. */
int core_state_restore(struct core_state *s, struct err *err);

enum core_left {
	CORE_LEFT_NONE,	   /* the pattern is not a recorder's */
	CORE_LEFT_IN_USE,  /* the pattern of a living recorder */
	CORE_LEFT_RESTORED /* the pattern of a dead recorder: restored */
};
/* With `repair` false nothing is changed; CORE_LEFT_RESTORED then means that it would be. `former`:
 * the saved pattern; "": unknown. 0 or -errno with a hint for the user. */
int core_state_left(bool repair, enum core_left *out, char former[CORE_PATTERN_BYTES],
		    struct err *err);
/* The former pattern saved in a directory. 0 or -errno. */
int core_state_former(const char *dir, char former[CORE_PATTERN_BYTES]);
