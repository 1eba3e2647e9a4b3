/* SPDX-License-Identifier: MIT */
/*
 * Where a core goes on to: as the kernel would have written it by the pattern that was there
 * before (coredump_file(), coredump_pipe() in fs/coredump.c). A file is made in the crashed
 * process' tree of files and with its rights, which this process takes on for good.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stdint.h>
#include <sys/types.h>

struct core_process;

struct core_out {
	int fd; /* -1: nobody wants it */
	bool is_file;
	pid_t program;	/* of a pipe */
	uint64_t at;	/* bytes taken */
	uint64_t limit; /* of bytes written; zeros that become a hole do not count */
	uint64_t written;
	bool hole;	/* the file ends with one so far */
	char says[200]; /* "/var/cores/core.123", "none: RLIMIT_CORE is 0", "|/usr/lib/x" */
};

/* Never fails: then fd is -1 and `says` tells why. */
void core_out_open(struct core_out *o, const char *pattern, const struct core_process *v);
/* False when it takes no more. */
bool core_out_write(struct core_out *o, struct bytes b);
/* All was written, or no more is taken. */
void core_out_close(struct core_out *o);
/* Whether the kernel holds the process until the program has ended (kernel.core_pipe_limit). */
bool core_out_waits(void);
/* Waits until a program has ended. */
void core_out_wait(struct core_out *o);
