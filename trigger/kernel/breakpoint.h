/* SPDX-License-Identifier: MIT */
/* Hardware breakpoints (PERF_TYPE_BREAKPOINT): whether this machine has ones that work. */
#pragma once

struct err;

/*
 * Sets one on a variable of this thread and writes to it. 0; -ENODEV where the kernel accepts a
 * breakpoint that then never fires: some hypervisors do not pass the debug registers to a guest.
 * Also 0 where none can be opened now: the caller's own event says why.
 */
int breakpoint_check(struct err *err);
