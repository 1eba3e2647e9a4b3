/* SPDX-License-Identifier: MIT */
/*
 * Properties of a crashed process, read from /proc while the kernel keeps it for its core: names
 * for the pattern, user ids and capabilities for writing a file, root and current directory. Uses
 * descriptors, so that a reused pid does no harm.
 */
#pragma once

#include "dump/base/bytes.h"
#include "recorder/coredump/core_pattern.h"

#include <stdint.h>
#include <sys/resource.h>

struct core_process {
	struct core_names names;
	int pidfd, proc_fd;    /* pidfd of the leader; /proc/PID */
	int root_fd, cwd_fd;   /* -1: not available */
	int mem_fd;	       /* /proc/PID/mem; -1: not available */
	uint32_t fsuid, fsgid; /* of the thread that crashed */
	struct buf groups;     /* gid_t */
	uint64_t caps;	       /* effective ones, in the initial user namespace */
	uint64_t file_limit;   /* RLIMIT_FSIZE */
	struct buf tids;       /* pairs of its own tid and ours; empty: they are equal */
};

/*
 * Takes over `pidfd`. `names`: what the kernel has told: tid, sig, dumpable, cpu (0: unknown). 0,
 * -ESRCH when the process is gone, -errno. Call core_process_close() in any case.
 */
int core_process_open(struct core_process *v, int pidfd, const struct core_names *names);
/* Sets the thread that crashed, by its own tid, and reads the properties of that thread. */
int core_process_thread(struct core_process *v, pid_t own_tid);
/* The recorder's tid of a thread; 0: it is gone. */
pid_t core_process_tid(const struct core_process *v, pid_t own_tid);
void core_process_close(struct core_process *v);
