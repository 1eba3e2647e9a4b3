/* SPDX-License-Identifier: MIT */
/*
 * Loads blocks of records before they are asked for, on threads of its own. The timeline puts a
 * ring's next block in as soon as it has taken the one before; what has not begun when it is needed
 * is given back, so nobody ever waits for a queue.
 */
#pragma once

#include "dump/view/timeblock.h"

struct ahead;

enum ahead_state { AHEAD_IDLE, AHEAD_QUEUED, AHEAD_RUNNING, AHEAD_DONE };

/* Zero-initialise. Between ahead_put() and ahead_take() only `ahead` touches it. */
struct ahead_job {
	struct timeblock block;
	size_t index;			   /* of the block, as timeblock_load() takes it */
	const struct timeblock_wish *wish; /* borrowed; asked on another thread */
	int rc;				   /* of timeblock_load() */
	enum ahead_state state;
	struct ahead_job *next;
};

/* `r` must outlive it, and is not used by its threads. 0, -ENOMEM, or why no thread started. */
int ahead_new(const struct reader *r, unsigned nr_threads, struct ahead **out);
/* Jobs that are left are given up; their blocks stay the caller's. */
void ahead_free(struct ahead *a);

/* How many threads are worth it on this machine; 0: none. */
unsigned ahead_helpers(void);

void ahead_put(struct ahead *a, struct ahead_job *job);
/* True: job->rc and job->block have the result; false: it wasn't put in or had not begun. */
bool ahead_take(struct ahead *a, struct ahead_job *job);
