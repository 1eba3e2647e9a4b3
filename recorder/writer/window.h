/* SPDX-License-Identifier: MIT */
/*
 * Walks a frozen bank once, newest record first, and finds what has to be known before it is
 * written: the time window, counts, losses, block boundaries, and the sampled threads.
 */
#pragma once

#include "recorder/capture/banks.h"
#include "recorder/ledger/ledger.h"

/*
 * The maximum length of a run: PACK_RUN_BYTES, or less with many rings, to limit the memory of a
 * reader that holds two blocks of each ring; but large enough that a file can list all blocks.
 */
uint32_t window_run_bytes(size_t nr_rings, uint64_t all_ring_bytes);

/*
 * Fills b->window (but for `ring`, which is the caller's) and b->runs, each at most `run_bytes`
 * long; adds to `tids`. The bank must be frozen and free of writers (membarrier). Allocates
 * nothing. Several rings may be walked at once.
 */
void window_walk(struct banks *b, uint32_t run_bytes, struct tidset *tids);
