/* SPDX-License-Identifier: MIT */
/*
 * What is recorded: the machine, some CPUs, processes, threads, a cgroup. Says for which CPUs and
 * tasks events are to be opened; opening itself is banks.c.
 *
 *	             tasks     rings                               new threads and children
 *	system       any       one per CPU                         all
 *	CPU list     any       one per listed CPU                  all
 *	processes    all of    one per CPU (or listed CPU), all    inherited (attr.inherit)
 *	             their     threads write into it
 *	             threads
 *	threads      given     the same; with --no-inherit and     inherited
 *	                       no -C one per thread
 *	cgroup       members   one per CPU                         members by the kernel's doing
 */
#pragma once

#include "trigger/kernel/caps.h"
#include "recorder/config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct target {
	bool system;	  /* every task: pid -1 */
	bool follow_cpus; /* CPUs that come online belong to it */
	/* Wanted (-C), or all online at the start; for tasks all present: events can be opened on
	 * those that are offline, while who is forked later would not inherit what is opened later.
	 */
	int *cpus;
	size_t nr_cpus;
	bool per_thread; /* a ring per thread, cpu -1 */
	bool inherit;
	pid_t *tids;
	size_t nr_tids;
	uint32_t *pids; /* processes of these threads, for the scan of /proc */
	size_t nr_pids;
	size_t nr_whole; /* of pids: the first so many are meant with all their threads */
	int cgroup_fd;	 /* -1: none */
	char text[160];	 /* as a person says it: "all CPUs", "processes 12, 13 and what they start"
			  */
};

/*
 * Resolves what `c` asks for; `command_pid` is the child of `-- COMMAND` or 0. -ESRCH for a pid or
 * tid that is not there, -ENOENT for a cgroup, -ENODEV for a CPU, -EACCES when the user may not.
 */
int target_open(const struct config *c, const struct caps *caps, pid_t command_pid,
		struct target *out, struct err *err);
void target_close(struct target *t);

/*
 * Adds the threads that processes have started meanwhile. Call right before opening events: what is
 * started between this and that is missed, with what it starts.
 */
int target_refresh(struct target *t, struct err *err);

/* True when CPU `cpu` belongs to the target once it is online. */
bool target_wants_cpu(const struct target *t, int cpu);

/* True for processes and threads, whose events stay with them whatever becomes of a CPU. */
bool target_is_tasks(const struct target *t);

/* CPUs online now, or `present`: all that there are. A new array in *cpus (free it). */
int target_cpus(bool present, int **cpus, size_t *nr, struct err *err);
