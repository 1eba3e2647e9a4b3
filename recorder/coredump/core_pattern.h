/* SPDX-License-Identifier: MIT */
/*
 * Expands kernel.core_pattern (core(5)) for one crash as the kernel does (coredump_parse() in
 * fs/coredump.c), into a file name, or a program and its arguments. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;

/* The kernel's maximum, including the NUL. */
#define CORE_PATTERN_BYTES 128
/* Maximum number of a program's arguments: one for every second byte of the pattern. */
#define CORE_PATTERN_ARGS (CORE_PATTERN_BYTES / 2)
/* The descriptor number of the crashed process's pidfd (%F) in the program. */
#define CORE_PIDFD 3

/* Properties of the crashed process that a pattern can name. */
struct core_names {
	pid_t pid, tid;		 /* in the initial namespace: %P %I */
	pid_t own_pid, own_tid;	 /* in its own namespace: %p %i */
	uint32_t uid, gid;	 /* real: %u %g */
	int dumpable, sig, cpu;	 /* %d %s %C */
	uint64_t core_limit;	 /* %c */
	int64_t real_s;		 /* %t */
	char host[65], comm[16]; /* %h %e */
	char exe[4096];		 /* %E; "": unknown, use comm */
};

enum core_kind { CORE_FILE, CORE_PIPE, CORE_SOCKET };

enum core_kind core_pattern_kind(const char *pattern);

/*
 * Appends the file name, with a NUL; for a pipe, each argument with a NUL. `args` gets their
 * offsets, *nr their number. `uses_pid`: kernel.core_uses_pid. 0, -EINVAL, -ENOMEM.
 */
int core_pattern_expand(const char *pattern, const struct core_names *n, bool uses_pid,
			struct buf *out, size_t args[CORE_PATTERN_ARGS], size_t *nr);
