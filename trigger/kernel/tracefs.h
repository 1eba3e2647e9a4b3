/* SPDX-License-Identifier: MIT */
/*
 * The events directory of tracefs. An existing mount is used; otherwise a detached mount
 * (fsopen(2), fsmount(2), Linux 5.2), invisible to other processes and removed when this process
 * ends. So ringback needs no mount and leaves none behind.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;

/*
 * A directory descriptor of tracefs' root, opened once and kept. -EACCES, -ENOENT, ... with a hint.
 */
int tracefs_dir(struct err *err);

/* Reads the whole file PATH (relative to tracefs' root, such as "events/sched/sched_switch/format")
 * and adds a NUL that is not counted. */
int tracefs_read(const char *path, struct buf *out, struct err *err);

/* Calls `each` for each subdirectory, sorted by name, until it returns non-zero. */
int tracefs_list(const char *path, int (*each)(void *ctx, const char *name), void *ctx,
		 struct err *err);
