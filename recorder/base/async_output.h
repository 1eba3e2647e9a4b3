/* SPDX-License-Identifier: MIT */
/*
 * What goes to stdout and stderr while recording. Whoever reads them may stop to: a pipe that is
 * full, a terminal that was stopped with ^S. That must hold neither the next freeze nor a dump, so
 * from output_start() on a thread writes and nobody waits for it. What it can't get rid of is kept,
 * within bounds; what is over them is dropped, and that is told when somebody reads again.
 *
 *	output_put() ──▶ waiting (bounded, per descriptor) ──thread──▶ stdout, stderr
 *
 * Before output_start() and after output_stop() output_put() writes by itself and may block.
 */
#pragma once

#include <stddef.h>

struct err;

int output_start(struct err *err);
/* Gives what waits still a chance: returns when all is written, or nothing moved for 2 s. */
void output_stop(void);

/* `n` bytes for STDOUT_FILENO or STDERR_FILENO: all of them or none. Any thread. */
void output_put(int fd, const void *p, size_t n);
