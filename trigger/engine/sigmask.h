/* SPDX-License-Identifier: MIT */
/* Blocks the signals that rules wait on in the calling thread, so that they stay pending for the
 * descriptors, and unblocks them again. Only the engine uses it. */
#pragma once

#include <signal.h>

struct sigmask {
	sigset_t blocked; /* by sigmask_sync(): to be unblocked again */
};

void sigmask_init(struct sigmask *m);
/* Blocks exactly the signals in `want`, besides those that were blocked initially. */
void sigmask_sync(struct sigmask *m, const sigset_t *want);
