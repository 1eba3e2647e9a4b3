/* SPDX-License-Identifier: MIT */
/*
 * When rules' events have stopped a trace in the kernel (trigger/events/aux_pause.h), and how it is
 *let run again. In the trace's group there is an event that does nothing until it is asked to come
 *once: a clock of which one tick is let through, on the trace's CPU. Its small ring, overwritten
 * backward and never waited for, has a record of that, and one of each stop:
 *
 *	newest ─▶ stop, stop, stop, run, stop, run ...      it stands since the third
 *	          run, stop, ...                            it runs
 */
#pragma once

#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct aux_resume {
	int fd;
	uint64_t id; /* of its records; those with another are stops */
	struct ring ring;
	uint64_t asked_head, asked_ns; /* how far the ring was when it was let run */
};

/*
 * For the trace that `trace_fd` leads on `cpu`. 0 or -errno: -EINVAL: its PMU, or the kernel, can't
 * be stopped so.
 */
int aux_resume_open(struct aux_resume *n, int trace_fd, int cpu);
void aux_resume_close(struct aux_resume *n);

/* Since when the trace stands, as far as the ring reaches back; 0: it runs. *last_ns (NULL
 * allowed) is the last stop. */
uint64_t aux_resume_stands(const struct aux_resume *n, uint64_t *last_ns);
/*
 * Asks for the tick that lets it run, once: true. It comes when the trace's event is switched on
 * the next time: the kernel (seen with 6.18 and 7.3) does not put an event on that is enabled while
 * its group runs, unless it is of the PMU that leads the group.
 */
bool aux_resume_let_run(struct aux_resume *n, uint64_t now_ns);
/* Waits for it, at most that long. */
void aux_resume_wait(const struct aux_resume *n, uint64_t ns);
