/* SPDX-License-Identifier: MIT */
/*
 * How much of the machine a thread of ours gets while others want it: CPU time and disk. For the
 * threads that make a dump.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum priority {
	PRIORITY_ORDINARY, /* as any other thread: nice 0 */
	PRIORITY_LOW,	   /* a small share: nice 19, and the disk when nobody else wants it */
	PRIORITY_IDLE,	   /* nearly nothing: SCHED_IDLE, and the disk likewise */
};

/* Whether what was made LOW or IDLE may be made ORDINARY again by this process. */
bool priority_can_return(void);

/* For a thread of this process, by any of its threads. What is not allowed stays as it was. */
void priority_set(pid_t tid, enum priority priority);
