/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc into the ledger: all processes or those of a target. Runs in a thread of its own, so
 * that startup does not wait for it on hosts with many processes. Reads the names of all threads
 * first, then the executable mappings.
 */
#pragma once

#include "recorder/ledger/ledger.h"

struct proc_scan;

/* Starts a scan. `pids`: only these processes and their descendants; nr 0: all. */
int proc_scan_start(struct ledger *l, const uint32_t *pids, size_t nr, struct proc_scan **out,
		    struct err *err);
/* Waits up to `timeout_ns` for the names (`all` false) or for everything; true when they are
 * read. */
bool proc_scan_wait(struct proc_scan *s, bool all, uint64_t timeout_ns);
/* Reads the cgroups of processes that the ledger knows from their fork only: there is no record of
 * a move to another cgroup, and a container's first process is moved after its fork. */
void proc_scan_cgroups(struct ledger *l);
/* Stops a running scan and frees it. */
void proc_scan_free(struct proc_scan *s);
