/* SPDX-License-Identifier: MIT */
/*
 * CPU hotplug, reported by the kernel's uevents. A socket filter drops all other uevents, so that
 * other devices do not wake the recorder.
 */
#pragma once

#include <stdbool.h>

struct err;
struct hotplug;

int hotplug_open(struct hotplug **out, struct err *err);
void hotplug_close(struct hotplug *h);
int hotplug_fd(const struct hotplug *h);

/* The next change: true with *cpu and *online; false when none is left. Sets *lost when the kernel
 * dropped messages: then recount the CPUs. */
bool hotplug_next(struct hotplug *h, int *cpu, bool *online, bool *lost);
