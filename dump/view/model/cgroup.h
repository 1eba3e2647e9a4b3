/* SPDX-License-Identifier: MIT */
/* Control groups of a dump: whether a process is in one, and short names for their paths. Borrows
 * everything, allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct meta_cgroup;

/* True when the process was in the group when the recorder listed its processes, or in `path`
 * (history_cgroup(); NULL: unknown), which is in the group. */
bool cgroup_contains(const struct meta_cgroup *g, uint32_t pid, const char *path);

/*
 * A short name for a path of history_cgroup(); it may be unsafe for a terminal.
 *
 *	/system.slice/postgresql.service                       postgresql
 *	/docker/0123456789abcdef...                            0123456789ab
 *	/kubepods.slice/.../cri-containerd-0123456789abcd...   pod 1234abcd-56e/0123456789ab
 *	memory:/shop/api                                       /shop/api
 *	NULL                                                   unknown
 *
 * Returns `out`.
 */
char *cgroup_name(char *out, size_t n, const char *path);
