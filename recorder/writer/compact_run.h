/* SPDX-License-Identifier: MIT */
/*
 * A run of compact records as samples, with the names that the ledger has for their threads: what a
 * dump holds of a compact channel.
 */
#pragma once

#include "recorder/capture/banks.h"

struct compact_run;
struct ledger;

/* Room for a run of PACK_RUN_BYTES, and a cache of names. NULL: out of memory. */
struct compact_run *compact_run_new(struct ledger *l);
void compact_run_free(struct compact_run *r);
/* Forgets the names: until the next dump a thread may get another one. `r` may be NULL. */
void compact_run_begin(struct compact_run *r);
/* The samples of a run of a frozen bank, newest first; borrowed until the next call. Names that the
 * ledger does not know are "<...>", as in ftrace. */
struct bytes compact_run_expand(struct compact_run *r, const struct banks *b,
				const struct banks_run *run);
