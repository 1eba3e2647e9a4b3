/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc into the ledger: all processes or those of a target. Runs in a thread of its own, so
 * that readiness does not wait for a host with very many processes: names of all threads first,
 * then the executable mappings.
 */
#pragma once

#include "recorder/ledger/ledger.h"

struct procscan;

/* Starts a scan. `pids`: only these processes and their descendants; nr 0: all. */
int procscan_start(struct ledger *l, const uint32_t *pids, size_t nr, struct procscan **out,
		   struct err *err);
/* Waits until names (`all` false) or everything is read, at most `timeout_ns`; true when it is. */
bool procscan_wait(struct procscan *s, bool all, uint64_t timeout_ns);
/* Ends the scan early if need be, and frees it. */
void procscan_free(struct procscan *s);
