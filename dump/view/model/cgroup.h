/* SPDX-License-Identifier: MIT */
/* Control groups of a dump: whether a process is in one, and short names for their paths. Borrows
 * everything, allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct meta;
struct meta_cgroup;

/* Longer ids are cut. */
#define CGROUP_ID_BYTES 80

/* True when the process was in the group when the recorder listed its processes, or in `path`
 * (history_cgroup(); NULL: unknown), which is in the group. */
bool cgroup_contains(const struct meta_cgroup *g, uint32_t pid, const char *path);

/* Ids in a path of history_cgroup(), as in FMT_CGROUP_NAMES; "": none. */
void cgroup_ids(const char *path, char pod[CGROUP_ID_BYTES], char container[CGROUP_ID_BYTES]);

/*
 * A short name for a path of history_cgroup(), with the names that the dump has; it may be unsafe
 * for a terminal.
 *
 *	/system.slice/postgresql.service                       postgresql
 *	/docker/0123456789abcdef...                            container web (docker)
 *	                                                       0123456789ab
 *	/kubepods.slice/.../cri-containerd-0123456789abcd...   pod checkout-7d9, container app
 *	                                                       pod 1234abcd-56e/0123456789ab
 *	/lxc.payload.web                                       container web (lxc)
 *	memory:/shop/api                                       /shop/api
 *	NULL                                                   unknown
 *
 * Returns `out`.
 */
char *cgroup_name(char *out, size_t n, const struct meta *m, const char *path);

/* True for a container whose name is known, and for a pod. `path` as for cgroup_name(). */
bool cgroup_is_named(const struct meta *m, const char *path);

/* The keys "namespace", "pod" and "container"; null: unknown. */
void cgroup_json(struct json *j, const struct meta *m, const char *path);
