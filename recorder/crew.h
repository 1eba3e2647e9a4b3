/* SPDX-License-Identifier: MIT */
/*
 * Threads that do one thing for each of a number of jobs while who asked goes on: the copying of
 * AUX areas at a freeze. They sleep when there is nothing to do. Like the thread that answers
 * triggers they go first where that is allowed: all the time they need, a trace is off.
 */
#pragma once

#include <stddef.h>

struct crew;
struct err;

#define CREW_MAX 8

/* `work` is called in some thread of the crew for each job, with what crew_start() gave. */
int crew_new(unsigned nr_threads, void (*work)(void *ctx, size_t job), struct crew **out,
	     struct err *err);
/* Not between crew_start() and crew_wait(). */
void crew_free(struct crew *c);

/* Jobs 0 to nr - 1, at least one, taken in this order. Allocates nothing. */
void crew_start(struct crew *c, void *ctx, size_t nr);
/* Returns when all are done. Any thread, exactly once after each crew_start(). */
void crew_wait(struct crew *c);
