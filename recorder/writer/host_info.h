/* SPDX-License-Identifier: MIT */
/*
 * The HOST section: facts about the machine and the recorder. Collected once at start, except the
 * clocks, which are read for each dump.
 */
#pragma once

#include "trigger/kernel/caps.h"

struct err;
struct host_info;
struct target;
struct writer;

/* `instance` is borrowed; the recorder's command line is read from /proc/self/cmdline. */
int host_info_new(const struct caps *caps, const struct target *t, const char *instance,
		  struct host_info **out, struct err *err);
void host_info_free(struct host_info *h);

/* Records that the dump at `path` was committed: the next dump names it as its predecessor. */
void host_info_dumped(struct host_info *h, const char *path);
/* Writes the HOST section. No allocation. */
void host_info_write(struct host_info *h, struct writer *w);
