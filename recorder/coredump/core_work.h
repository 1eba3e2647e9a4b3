/* SPDX-License-Identifier: MIT */
/*
 * Passes one core from the kernel to the destination of the former kernel.core_pattern, and reports
 * its threads to the recorder. Runs in a process of its own, which then exits: a worker of
 * core_guard.c, or the program that the kernel starts for a pipe.
 */
#pragma once

#include "recorder/coredump/core_pattern.h"

#include <stdint.h>

struct core_job {
	int stream;		 /* source of the core; taken over */
	int pidfd;		 /* of the crashed process; taken over */
	struct core_names names; /* known properties: pid; tid, sig, dumpable, cpu or 0 */
	bool direct;		 /* hands the core on without holding the process */
	int report;		 /* the recorder's socket (trigger/crash/held_cores.h); -1: none */
	const char *pattern;	 /* the former core_pattern */
	uint64_t began_ns;	 /* time of the crash report */
};

void core_work(const struct core_job *j);
