/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous output to stdout and stderr while recording. A reader may block the writer: a full
 * pipe, or a terminal stopped with ^S. That must not delay the next freeze or a dump. So after
 * output_start() a thread does the writing, and callers never wait. Unwritten bytes are kept up to
 * a limit; output beyond it is dropped, and the number of dropped messages is printed once the
 * reader continues.
 *
 *	output_put() ──▶ waiting (bounded, per descriptor) ──thread──▶ stdout, stderr
 *
 * Before output_start() and after output_stop(), output_put() writes directly and may block.
 */
#pragma once

#include <stddef.h>

struct err;

int output_start(struct err *err);
/* Tries to write what is left. Returns when all is written, or after 2 s without progress. */
void output_stop(void);

/* Writes `n` bytes to STDOUT_FILENO or STDERR_FILENO: all or none. Any thread may call it. */
void output_put(int fd, const void *p, size_t n);
