/* SPDX-License-Identifier: MIT */
/* CPU and disk priority of one of our threads. For the threads that make a dump. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum priority {
	PRIORITY_ORDINARY, /* like any other thread: nice 0 */
	PRIORITY_LOW,	   /* nice 19, idle I/O class */
	PRIORITY_IDLE,	   /* SCHED_IDLE, idle I/O class */
};

/* Whether this process may set a LOW or IDLE thread back to ORDINARY. */
bool priority_can_return(void);

/*
 * For a thread of this process; any thread may call. A setting that is not allowed is left alone.
 */
void priority_set(pid_t tid, enum priority priority);
