/* SPDX-License-Identifier: MIT */
/*
 * CPUs that come and go, told by the kernel's uevents; a socket filter lets nothing else through,
 * so that nobody else's devices wake the recorder.
 */
#pragma once

#include <stdbool.h>

struct err;
struct hotplug;

int hotplug_open(struct hotplug **out, struct err *err);
void hotplug_close(struct hotplug *h);
int hotplug_fd(const struct hotplug *h);

/* The next change: true with *cpu and *online; false when there is none left. *lost is set when the
 * kernel dropped messages: then the CPUs have to be counted again. */
bool hotplug_next(struct hotplug *h, int *cpu, bool *online, bool *lost);
