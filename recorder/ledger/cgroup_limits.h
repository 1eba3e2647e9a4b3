/* SPDX-License-Identifier: MIT */
/*
 * Control groups with a CPU quota or a memory limit, and the changes of their counters since the
 * last scan. They are scanned at the start and after each dump, never in between; hierarchies of
 * versions 1 and 2. Bounded: at most LIMITS_MAX_GROUPS groups, and a few thousand directories per
 * hierarchy.
 */
#pragma once

struct err;
struct cgroup_limits;
struct writer;

#define LIMITS_MAX_GROUPS 256

/* Finds the hierarchies and reads the counters that the first dump is compared with. `mounts`: a
 * file in the format of /proc/mounts; NULL: /proc/mounts. 0 or -ENOMEM. */
int cgroup_limits_new(const char *mounts, struct cgroup_limits **out);
void cgroup_limits_free(struct cgroup_limits *l);

/*
 * Scans again and writes the CGROUPS section with the differences; it has no group items when there
 * are no limited groups. The next dump is compared with this scan. Allocates. 0 or -ENOMEM.
 */
int cgroup_limits_write(struct cgroup_limits *l, struct writer *w, struct err *err);
