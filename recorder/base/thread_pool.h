/* SPDX-License-Identifier: MIT */
/*
 * Threads that do one thing for each of a number of jobs while who asked goes on: the copying of
 * AUX areas at a freeze. They sleep when there is nothing to do, and are called a little before
 * there is. Like the thread that answers triggers they go first where that is allowed: all the time
 * they need, a trace is off.
 *
 *	crew_call() ── stop the traces ── crew_start() ─────────────▶ crew_wait()
 *	     └─▶ awake, looking for jobs ──────┴─▶ job 0, job 1, ...
 */
#pragma once

#include <stddef.h>

struct crew;
struct err;

#define CREW_MAX 8

int crew_new(unsigned nr_threads, struct crew **out, struct err *err);
/* Not between crew_start() and crew_wait(). */
void crew_free(struct crew *c);

/* Jobs will come within a millisecond. */
void crew_call(struct crew *c);
/*
 * Calls `work` in some thread of the crew for each of the jobs 0 to nr - 1, at least one, taken in
 * this order. Allocates nothing.
 */
void crew_start(struct crew *c, void (*work)(void *ctx, size_t job), void *ctx, size_t nr);
/* Returns when all are done. Any thread, exactly once after each crew_start(). */
void crew_wait(struct crew *c);
