/* SPDX-License-Identifier: MIT */
/*
 * Control groups with a CPU quota or a memory limit, and what their counters say has happened since
 * the last look. Read at the start and when a dump has been written, never in between; hierarchies
 * of both versions. Bounded: the first LIMITS_MAX_GROUPS of the first some thousand directories.
 */
#pragma once

struct err;
struct cgroup_limits;
struct writer;

#define LIMITS_MAX_GROUPS 256

/* Finds the hierarchies and reads the counters that the first dump's are counted from. `mounts`: as
 * /proc/mounts, which it is when NULL. 0, -ENOMEM. */
int cgroup_limits_new(const char *mounts, struct cgroup_limits **out);
void cgroup_limits_free(struct cgroup_limits *l);

/*
 * Reads them again and writes the CGROUPS section, with no items where there are no such groups.
 * The next dump's are counted from here. Allocates. 0 or the writer's error.
 */
int cgroup_limits_write(struct cgroup_limits *l, struct writer *w, struct err *err);
