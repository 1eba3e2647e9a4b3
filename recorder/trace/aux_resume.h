/* SPDX-License-Identifier: MIT */
/*
 * Detects whether a rule's event has stopped a trace in the kernel (trigger/events/aux_pause.h),
 * and resumes the trace. For this the trace's group contains a clock event that is enabled for a
 * single tick, on the trace's CPU, on request. Its small ring, overwritten backward and without
 * wake-ups, has a record of that tick ("run") and of each stop:
 *
 *	newest ─▶ stop, stop, stop, run, stop, run ...      stopped since the third record
 *	          run, stop, ...                            running
 */
#pragma once

#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct aux_resume {
	int fd;
	uint64_t id; /* of its own records; records with another id are stops */
	struct ring ring;
	uint64_t asked_head, asked_ns; /* the ring's head at the last request, and its time */
};

/*
 * Opens the event for the trace of `trace_fd` on `cpu`. 0 or -errno: -EINVAL: the PMU or the kernel
 * does not support pausing.
 */
int aux_resume_open(struct aux_resume *n, int trace_fd, int cpu);
void aux_resume_close(struct aux_resume *n);

/* The time since which the trace is stopped, as far as the ring reaches back; 0: it runs. *last_ns
 * (may be NULL) gets the time of the last stop. */
uint64_t aux_resume_stands(const struct aux_resume *n, uint64_t *last_ns);
/*
 * Requests the resuming tick. True: requested; false: a request is pending. The tick comes when the
 * trace's event is enabled the next time: the kernel (seen with 6.18 and 7.3) does not schedule an
 * event that is enabled while its group runs, unless its PMU is that of the group leader.
 */
bool aux_resume_let_run(struct aux_resume *n, uint64_t now_ns);
/* Waits until the trace runs, at most `ns`. */
void aux_resume_wait(const struct aux_resume *n, uint64_t ns);
