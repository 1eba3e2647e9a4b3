/* SPDX-License-Identifier: MIT */
/*
 * Who crashed, as /proc tells while the kernel still waits with its core: names for the pattern,
 * whose rights a file is written with, and where it stood in the tree of files. By descriptors that
 * can't come to mean another process.
 */
#pragma once

#include "dump/base/bytes.h"
#include "recorder/coredump/core_pattern.h"

#include <stdint.h>
#include <sys/resource.h>

struct core_process {
	struct core_names names;
	int pidfd, proc_fd;    /* of its leader; of /proc/PID */
	int root_fd, cwd_fd;   /* -1: can't be had */
	int mem_fd;	       /* its memory; -1: can't be had */
	uint32_t fsuid, fsgid; /* of the thread that crashed */
	struct buf groups;     /* gid_t */
	uint64_t caps;	       /* effective, of the initial user namespace */
	uint64_t file_limit;   /* RLIMIT_FSIZE */
	struct buf tids;       /* pairs: its own, ours; empty: they are the same */
};

/*
 * `pidfd` is taken over; `names` has what the kernel told already (0: it did not): tid, sig,
 * dumpable, cpu. 0, -ESRCH when it is gone, -errno. core_process_close() is due in any case.
 */
int core_process_open(struct core_process *v, int pidfd, const struct core_names *names);
/* Which thread crashed, by its own number; what depends on the thread is read then. */
int core_process_thread(struct core_process *v, pid_t own_tid);
/* As the recorder knows a thread; 0: it is gone. */
pid_t core_process_tid(const struct core_process *v, pid_t own_tid);
void core_process_close(struct core_process *v);
