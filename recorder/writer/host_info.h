/* SPDX-License-Identifier: MIT */
/*
 * The HOST section: facts about machine and recorder, collected once at start; only the clocks are
 * read again for each dump.
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

/* The dump at `path` was committed; the next one names it as its predecessor. */
void host_info_dumped(struct host_info *h, const char *path);
/* Writes the HOST section. Allocates nothing. */
void host_info_write(struct host_info *h, struct writer *w);
