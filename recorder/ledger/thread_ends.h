/* SPDX-License-Identifier: MIT */
/* What threads that were read wait for: the holders of their locks, and the processes at the other
 * end of their pipes, sockets and terminals. For thread_snapshot.c. */
#pragma once

#include "recorder/ledger/thread_read.h"

#include <stddef.h>

/*
 * Fills in futex_owner, the peers, and what is known of sockets. Reads files of /proc and asks the
 * kernel for sockets; stops once `over(ctx)`, which is asked often, is true. Returns the number of
 * processes whose files were not searched.
 */
uint32_t thread_ends_find(int proc_fd, struct thread_seen *v, size_t nr, bool (*over)(void *ctx),
			  void *ctx);
