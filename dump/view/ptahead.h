/* SPDX-License-Identifier: MIT */
/*
 * Decodes parts of Intel PT before they are asked for, on threads of its own. Whoever goes through
 * traces puts the next parts of each in; what has not begun when it is needed is given back, so
 * nobody ever waits for a queue.
 */
#pragma once

#include "dump/view/ptflow.h"

struct ptahead;

enum ptahead_state { PTAHEAD_IDLE, PTAHEAD_QUEUED, PTAHEAD_RUNNING, PTAHEAD_DONE };

/* Zero-initialise. Between ptahead_put() and ptahead_take() only `ahead` touches it. */
struct ptahead_job {
	struct ptflow *flow;
	size_t part;
	struct ptflow_steps steps;
	int rc; /* of ptflow_part() */
	enum ptahead_state state;
	struct ptahead_job *next;
};

/* 0, -ENOMEM, or why no thread started; fewer than asked for will do. */
int ptahead_new(unsigned nr_threads, struct ptahead **out);
/* Jobs that are left are given up; their steps stay the caller's. */
void ptahead_free(struct ptahead *a);

/* How many threads are worth it on this machine; 0: none. */
unsigned ptahead_helpers(void);

void ptahead_put(struct ptahead *a, struct ptahead_job *job);
/* True: job->rc and job->steps have the result; false: it wasn't put in or had not begun. */
bool ptahead_take(struct ptahead *a, struct ptahead_job *job);
