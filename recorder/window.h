/* SPDX-License-Identifier: MIT */
/*
 * Goes once through a frozen bank, newest record first, and finds all that has to be known before
 * it is written: the window in time, counts, losses, where blocks begin, and which threads it is
 * about.
 */
#pragma once

#include "recorder/banks.h"
#include "recorder/ledger.h"

/*
 * Fills b->window (but for `ring`, which is the caller's) and b->runs; adds to `tids`. The bank
 * must be frozen and free of writers (membarrier). Allocates nothing.
 */
void window_walk(struct banks *b, struct tidset *tids);
