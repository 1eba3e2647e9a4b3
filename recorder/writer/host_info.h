/* SPDX-License-Identifier: MIT */
/*
 * What a dump says of the machine and of the recorder. Collected once at start; only the clocks are
 * read again for each dump.
 */
#pragma once

#include "trigger/kernel/caps.h"

struct err;
struct host;
struct target;
struct writer;

/* `instance` is borrowed; the recorder's command line is read from /proc/self/cmdline. */
int host_new(const struct caps *caps, const struct target *t, const char *instance,
	     struct host **out, struct err *err);
void host_free(struct host *h);

/* The dump at `path` was committed: the next one says that it follows it. */
void host_dumped(struct host *h, const char *path);
/* Writes the HOST section. Allocates nothing. */
int host_write(struct host *h, struct writer *w, struct err *err);
