/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc into the ledger: all processes or those of a target. Runs in a thread of its own, so
 * that readiness does not wait for a host with very many processes: names of all threads first,
 * then the executable mappings.
 */
#pragma once

#include "recorder/ledger/ledger.h"

struct proc_scan;

/* Starts a scan. `pids`: only these processes and their descendants; nr 0: all. */
int proc_scan_start(struct ledger *l, const uint32_t *pids, size_t nr, struct proc_scan **out,
		    struct err *err);
/* Waits until names (`all` false) or everything is read, at most `timeout_ns`; true when it is. */
bool proc_scan_wait(struct proc_scan *s, bool all, uint64_t timeout_ns);
/* Ends the scan early if need be, and frees it. */
void proc_scan_free(struct proc_scan *s);
