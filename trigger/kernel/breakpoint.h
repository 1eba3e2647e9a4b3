/* SPDX-License-Identifier: MIT */
/* Hardware breakpoints (PERF_TYPE_BREAKPOINT): whether they work on this machine. */
#pragma once

struct err;

/*
 * Sets one on a variable of this thread and writes to it. 0: it fired. -ENODEV: the kernel accepts
 * a breakpoint that never fires; some hypervisors do not pass the debug registers to a guest. Also
 * 0 if no breakpoint can be opened now: opening the caller's event gives the reason.
 */
int breakpoint_check(struct err *err);
