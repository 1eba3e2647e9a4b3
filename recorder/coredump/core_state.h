/* SPDX-License-Identifier: MIT */
/*
 * kernel.core_pattern while --crash-hold has it: what was there before is kept in the directory of
 * control sockets, for whoever has to put it back: the recorder, its guard, the next recorder, or
 * `ringback doctor --repair`. A lock that ends with its holders tells whether somebody is there.
 */
#pragma once

#include "recorder/coredump/core_pattern.h"

#include <stdbool.h>

struct err;

/* Not NAME.sock: that is a recorder's (ctl.h). */
#define CORE_SOCKET_NAME "ringback-core.socket"
#define CORE_HANDLER	 "crash-handler"

struct core_state {
	char dir[CORE_PATTERN_BYTES]; /* without links, as the kernel wants it */
	int dir_fd, lock_fd;
	char former[CORE_PATTERN_BYTES];
};

/* Takes the lock in the directory of control sockets, which is made if it is missing. -EBUSY when
 * another recorder holds crashes. On success core_state_close() is due. */
int core_state_open(struct core_state *s, struct err *err);
/* Drops the lock; nothing is put back. */
void core_state_close(struct core_state *s);

/* Keeps what is there now, and has the kernel take `pattern` from then on. */
int core_state_set(struct core_state *s, const char *pattern, struct err *err);
/* Puts the former one back, unless somebody else has changed it meanwhile. */
int core_state_restore(struct core_state *s, struct err *err);

enum core_left {
	CORE_LEFT_NONE,	   /* the pattern is none of a recorder */
	CORE_LEFT_IN_USE,  /* it is, of one that is there */
	CORE_LEFT_RESTORED /* it was of one that is gone: put back */
};
/* With `repair` false it is only looked; CORE_LEFT_RESTORED then means that it would be. `former`:
 * what was there before; "" when that can't be told. 0 or -errno with what to type. */
int core_state_left(bool repair, enum core_left *out, char former[CORE_PATTERN_BYTES],
		    struct err *err);
/* The former pattern that is kept in a directory. 0 or -errno. */
int core_state_former(const char *dir, char former[CORE_PATTERN_BYTES]);
