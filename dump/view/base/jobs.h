/* SPDX-License-Identifier: MIT */
/*
 * Work that may be done before it is needed, on threads of its own, in the order in which it was
 * put in. What has not begun when it is needed is given back, so nobody ever waits for a queue.
 * What the work is and what comes of it is the user's, around the job.
 */
#pragma once

#include <stdbool.h>

struct jobs;

enum job_state { JOB_IDLE, JOB_QUEUED, JOB_RUNNING, JOB_DONE };

/* The first member of whatever has the work's parameters and result; between jobs_put() and
 * jobs_take() only the threads touch that. Zero-initialise. */
struct job {
	enum job_state state;
	struct job *next;
};

struct jobs_work {
	/* On any of the threads; `mine` is what begin() made for it, or NULL. */
	void (*run)(void *mine, struct job *job);
	/* For each thread, on the caller's: what only that thread uses. 0, -errno. NULL: nothing.
	 */
	int (*begin)(const void *ctx, void **mine);
	void (*end)(void *mine); /* called where begin() was, also if no thread followed */
};

/* `work` is borrowed, `ctx` only until it returns. 0, -ENOMEM, or why no thread started; fewer than
 * asked for will do. */
int jobs_new(const struct jobs_work *work, const void *ctx, unsigned nr_threads, struct jobs **out);
/* Jobs that are left are given up. */
void jobs_free(struct jobs *j);

void jobs_put(struct jobs *j, struct job *job);
/* True: it was done; false: it wasn't put in or had not begun. */
bool jobs_take(struct jobs *j, struct job *job);

/* How many threads are worth it on the CPUs that we may use, `most` at most; 0: none. */
unsigned jobs_helpers(unsigned most);
