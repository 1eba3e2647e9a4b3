/* SPDX-License-Identifier: MIT */
/*
 * --crash-hold: a separate process that receives the kernel's cores while the recorder lives. It
 * starts a worker for each core (core_work.h). When the recorder ends for whatever reason, it
 * restores the former kernel.core_pattern and exits. Crashes of the guard and its workers leave no
 * core: the kernel does not dump them.
 *
 *	kernel ──crash──▶ guard ──fork──▶ worker ──core──▶ destination of the former pattern
 *	                    │                └────threads────▶ recorder
 *	                    └── waits for the recorder's end
 */
#pragma once

struct core_guard;
struct err;

/*
 * Starts the guard; when this returns 0, the kernel uses it. *fd gets the socket for reports of the
 * workers (trigger/crash/held_cores.h); the caller owns it. -EBUSY: another recorder has a guard.
 * Call before threads and rings exist.
 */
int core_guard_start(struct core_guard **out, int *fd, struct err *err);
/* Stops the guard; the former pattern is restored. NULL allowed. Errors are logged. */
void core_guard_stop(struct core_guard *g);
/* The pattern in use, for messages: "@@/run/ringback/ringback-core.socket". */
const char *core_guard_pattern(const struct core_guard *g);
