/* SPDX-License-Identifier: MIT */
/*
 * Walks a frozen bank once, newest record first, and finds what the dump needs before it is
 * written: the time window, counts, losses, block boundaries and the sampled threads.
 */
#pragma once

#include "recorder/capture/banks.h"
#include "recorder/ledger/ledger.h"

/* The maximum length of a run: PACK_RUN_BYTES. With many rings less, since a reader holds two
 * blocks of each ring, but large enough that all blocks fit into a file's directory. */
uint32_t window_run_bytes(size_t nr_rings, uint64_t all_ring_bytes);

/*
 * Fills b->window (except `ring`, which the caller sets) and b->runs, each at most `run_bytes`
 * long, and adds to `tids`. The bank must be frozen and free of writers (membarrier). No
 * allocation. Several rings may be walked at the same time.
 */
void window_walk(struct banks *b, uint32_t run_bytes, struct tidset *tids);
