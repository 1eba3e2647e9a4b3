/* SPDX-License-Identifier: MIT */
/* The signals that rules wait on, blocked in the calling thread so that they stay pending for the
 * descriptors, and let go again. Only the engine uses it. */
#pragma once

#include <signal.h>

struct sigmask {
	sigset_t blocked; /* by us: to be unblocked again */
};

void sigmask_init(struct sigmask *m);
/* Exactly those in `want` are blocked, besides those that were when we came. */
void sigmask_sync(struct sigmask *m, const sigset_t *want);
