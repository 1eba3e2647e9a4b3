/* SPDX-License-Identifier: MIT */
/*
 * The keeper: holds the descriptors and mappings that a recorder gave it, until it gets others or
 * ends. It knows nothing about them, reads none of the mapped memory, and has one peer at a time.
 * Its socket is NAME.keep in the control directory (ctl_dir.h), mode 0600, for its own user.
 */
#pragma once

struct err;

/* Serves until SIGINT or SIGTERM. 0 or -errno: -EADDRINUSE when there is a keeper of this name. */
int keeper_run(const char *name, struct err *err);
