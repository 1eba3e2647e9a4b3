/* SPDX-License-Identifier: MIT */
/*
 * One core, from the kernel to whoever had kernel.core_pattern before: its threads are told to the
 * recorder on the way. Run in a process of its own, which ends with it: core_guard.c's worker, or
 * the program that the kernel starts for a pipe.
 */
#pragma once

#include "recorder/coredump/core_pattern.h"

#include <stdint.h>

struct core_job {
	int stream;		 /* the core comes here; taken over */
	int pidfd;		 /* of the crashed process; taken over */
	struct core_names names; /* what is known of it: pid; tid, sig, dumpable, cpu or 0 */
	int report;		 /* the recorder's socket (trigger/crash/held_cores.h); -1: none */
	const char *pattern;	 /* the former core_pattern */
	uint64_t began_ns;	 /* when the crash was announced */
};

void core_work(const struct core_job *j);
