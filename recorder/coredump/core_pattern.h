/* SPDX-License-Identifier: MIT */
/*
 * What kernel.core_pattern says (core(5)), worked out for one crash as the kernel would
 * (coredump_parse() in fs/coredump.c): the name of a file, or a program and its arguments. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;

/* As much as the kernel keeps, with its NUL. */
#define CORE_PATTERN_BYTES 128
/* Arguments of a program, one for each other byte of the pattern. */
#define CORE_PATTERN_ARGS (CORE_PATTERN_BYTES / 2)
/* Where a program finds the crashed process' pidfd (%F). */
#define CORE_PIDFD 3

/* Who crashed, as the pattern may name it. */
struct core_names {
	pid_t pid, tid;		 /* as the initial namespace has them: %P %I */
	pid_t own_pid, own_tid;	 /* as itself has them: %p %i */
	uint32_t uid, gid;	 /* real: %u %g */
	int dumpable, sig, cpu;	 /* %d %s %C */
	uint64_t core_limit;	 /* %c */
	int64_t real_s;		 /* %t */
	char host[65], comm[16]; /* %h %e */
	char exe[4096];		 /* %E; "" unknown: then by comm */
};

enum core_kind { CORE_FILE, CORE_PIPE, CORE_SOCKET };

enum core_kind core_pattern_kind(const char *pattern);

/*
 * Appends the name, with a NUL; of a pipe one text for each argument, and where they begin in
 * `args`, whose number is *nr. `uses_pid`: kernel.core_uses_pid. 0, -EINVAL, -ENOMEM.
 */
int core_pattern_expand(const char *pattern, const struct core_names *n, bool uses_pid,
			struct buf *out, size_t args[CORE_PATTERN_ARGS], size_t *nr);
