/* SPDX-License-Identifier: MIT */
/*
 * Decodes parts of Intel PT before they are asked for. Whoever goes through traces puts the next
 * parts of each in.
 */
#pragma once

#include "dump/base/thread_pool.h"
#include "dump/view/pt/pt_flow.h"

/* Zero-initialise. */
struct pt_prefetch_job {
	struct pool_job job;
	struct pt_flow *flow;
	size_t part;
	struct pt_flow_steps steps; /* stay the caller's, also when it is given up */
	int rc;			    /* of pt_flow_part() */
};

/* For struct pt_prefetch_job; as thread_pool_new(). */
int pt_prefetch_new(unsigned nr_threads, struct thread_pool **out);

/* As thread_pool_useful(). */
unsigned pt_prefetch_helpers(void);
