/* SPDX-License-Identifier: MIT */
/*
 * The destination of a core, as the kernel would have chosen it by the former pattern
 * (coredump_file(), coredump_pipe() in fs/coredump.c). A file is created in the crashed process's
 * root and with its permissions, which the calling process takes on for good.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stdint.h>
#include <sys/types.h>

struct core_process;

struct core_out {
	int fd; /* -1: no destination */
	bool is_file;
	int takes_ms;	/* how long a program may take nothing before it gets no more */
	pid_t program;	/* pid of the program behind a pipe */
	uint64_t at;	/* bytes received */
	uint64_t limit; /* maximum of `written`, which excludes zeros that become a hole */
	uint64_t written;
	bool hole;	/* the file ends with a hole so far */
	char says[200]; /* "/var/cores/core.123", "none: RLIMIT_CORE is 0", "|/usr/lib/x" */
};

/* Never fails; on errors fd is -1 and `says` tells the reason. */
void core_out_open(struct core_out *o, const char *pattern, const struct core_process *v);
/* False when the destination accepts no more. */
bool core_out_write(struct core_out *o, struct bytes b);
/* Call after the last write, also after a failed one. */
void core_out_close(struct core_out *o);
/* Whether the kernel keeps the process until the program has exited (kernel.core_pipe_limit). */
bool core_out_waits(void);
/* Waits for the exit of the program, if any. */
void core_out_wait(struct core_out *o);
