/* SPDX-License-Identifier: MIT */
/*
 * --crash-hold: a process of its own that has kernel.core_pattern for as long as the recorder
 * lives. It takes each crashed process' core in and starts a worker for it (core_work.h); when the
 * recorder ends, however that happens, it puts the former pattern back and ends too. Crashes of its
 * own and of its workers leave no core: the kernel asks nobody.
 *
 *	kernel ──crash──▶ guard ──fork──▶ worker ──core──▶ as by the former pattern
 *	                    │                └────threads────▶ recorder
 *	                    └── waits for the recorder's end
 */
#pragma once

struct core_guard;
struct err;

/*
 * Starts it; the kernel asks it when this returns 0. *fd is the caller's: what workers tell
 * (trigger/crash/held_cores.h). -EBUSY: there is another. Called before there are threads and
 * rings.
 */
int core_guard_start(struct core_guard **out, int *fd, struct err *err);
/* Ends it: the former pattern is back. NULL allowed. Errors are the log's. */
void core_guard_stop(struct core_guard *g);
/* How the kernel asks it, for people: "@@/run/ringback/ringback-core.socket". */
const char *core_guard_pattern(const struct core_guard *g);
