/* SPDX-License-Identifier: MIT */
/*
 * Names of containers and pods, from the state files of container runtimes and the directories of
 * the kubelet. Called by collect_live.c in the process that looks up names: users choose a part of
 * what these files contain.
 */
#pragma once

#include "dump/base/bytes.h"

struct container_names;

struct container_names_options {
	int root_fd;	      /* "/", borrowed */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; no file is opened after it */
	/* Called with each payload of FMT_CGROUP_NAMES items, borrowed during the call. 0 or -errno. */
	int (*out)(void *ctx, struct bytes payload);
	void *ctx;
};

/* `opt` is copied. 0 or -ENOMEM. */
int container_names_new(const struct container_names_options *opt, struct container_names **out);
void container_names_free(struct container_names *c);

/* Looks up the container and the pod of a control group (history_cgroup(); NULL: unknown), each
 * once. 0, -ENOMEM or the -errno of out(). */
int container_names_add(struct container_names *c, const char *path);

/* Passes the last payload to out(). */
int container_names_flush(struct container_names *c);
