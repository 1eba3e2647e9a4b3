/* SPDX-License-Identifier: MIT */
/*
 * What is recorded: the system, some CPUs, processes, threads, or a cgroup. Determines the CPUs and
 * tasks for which banks.c opens events.
 *
 *	             tasks     rings                               new threads and children
 *	system       any       one per CPU                         all
 *	CPU list     any       one per listed CPU                  all
 *	processes    all of    one per CPU (or listed CPU), all    inherited (attr.inherit)
 *	             their     threads write into it
 *	             threads
 *	threads      given     the same; with --no-inherit and     inherited
 *	                       no -C one per thread
 *	cgroup       members   one per CPU                         members of the cgroup
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
	bool system;	  /* all tasks: pid -1 */
	bool follow_cpus; /* also record CPUs that come online */
	/* The CPUs of -C, or all that are online at the start. For tasks, all present CPUs: events
	 * can be opened on an offline CPU, and events opened later are not inherited by existing
	 * children. */
	int *cpus;
	size_t nr_cpus;
	bool per_thread; /* a ring per thread, cpu -1 */
	bool inherit;
	pid_t *tids;
	size_t nr_tids;
	uint32_t *pids; /* processes of these threads, for the /proc scan */
	size_t nr_pids;
	size_t nr_whole; /* the first so many of pids are recorded with all threads */
	int cgroup_fd;	 /* -1: none */
	char text[160];	 /* for messages: "all CPUs", "processes 12, 13 and what they start" */
};

/*
 * Resolves the target of `c`. `command_pid`: the child of `-- COMMAND`, or 0. -ESRCH: no such pid
 * or tid, -ENOENT: no such cgroup, -ENODEV: no such CPU, -EACCES: no permission.
 */
int target_open(const struct config *c, const struct caps *caps, pid_t command_pid,
		struct target *out, struct err *err);
void target_close(struct target *t);

/*
 * Adds the threads that the processes have started since. Call right before opening events: a
 * thread started in between is missed, with its descendants.
 */
int target_refresh(struct target *t, struct err *err);

/* Whether CPU `cpu` belongs to the target once it is online. */
bool target_wants_cpu(const struct target *t, int cpu);

/* True for processes and threads: their events survive when a CPU goes offline. */
bool target_is_tasks(const struct target *t);

/* The online CPUs, or with `present` all present ones. *cpus is a new array; free it. */
int target_cpus(bool present, int **cpus, size_t *nr, struct err *err);
