/* SPDX-License-Identifier: MIT */
/*
 * Directories with debug files and binaries, indexed by build-id, for `ringback symbols --add`. All
 * files are scanned; their names and places do not matter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct debug_dirs;

/* 0 or -ENOMEM. */
int debug_dirs_new(struct debug_dirs **out, struct err *err);
void debug_dirs_free(struct debug_dirs *d);

/* Scans all regular files below `dir` (or that one file); skips files that are not ELF or have no
 * build-id. 0, -errno of the directory, -ENOMEM, -E2BIG. */
int debug_dirs_add(struct debug_dirs *d, const char *dir, struct err *err);

/* The path of the n-th file with this build-id, from 0; NULL: no more. Borrowed. */
const char *debug_dirs_find(struct debug_dirs *d, const uint8_t *id, size_t bytes, size_t n);
