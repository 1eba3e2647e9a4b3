/* SPDX-License-Identifier: MIT */
/*
 * Goes once through a frozen bank, newest record first, and finds all that has to be known before
 * it is written: the window in time, counts, losses, where blocks begin, and which threads it is
 * about.
 */
#pragma once

#include "recorder/capture/banks.h"
#include "recorder/ledger/ledger.h"

/*
 * How long a run may get: PACK_RUN_BYTES, but with many rings less, so that whoever reads all of
 * them at once, two blocks of each, needs little memory; and not so much less that a file can't
 * list all blocks.
 */
uint32_t window_run_bytes(size_t nr_rings, uint64_t all_ring_bytes);

/*
 * Fills b->window (but for `ring`, which is the caller's) and b->runs, each at most `run_bytes`
 * long; adds to `tids`. The bank must be frozen and free of writers (membarrier). Allocates
 * nothing. Several rings may be walked at once.
 */
void window_walk(struct banks *b, uint32_t run_bytes, struct tidset *tids);
