/* SPDX-License-Identifier: MIT */
/*
 * The events directory of tracefs. Where it is mounted, that mount is used; where it is not, a
 * detached mount of our own (fsopen(2), fsmount(2), Linux 5.2) that no other process sees and that
 * ends with us: nothing has to be mounted for ringback and nothing is left behind.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;

/* A directory descriptor of tracefs' root, opened once and kept. -EACCES, -ENOENT, ... with a hint.
 */
int tracefs_dir(struct err *err);

/* Reads PATH (relative to tracefs' root, such as "events/sched/sched_switch/format") whole, with a
 * NUL after it that is not counted. */
int tracefs_read(const char *path, struct buf *out, struct err *err);

/* Calls `each` for each entry that is a directory, sorted by name, until it returns non-zero. */
int tracefs_list(const char *path, int (*each)(void *ctx, const char *name), void *ctx,
		 struct err *err);
