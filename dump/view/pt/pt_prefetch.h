/* SPDX-License-Identifier: MIT */
/* Decodes parts of Intel PT ahead of their use. The reader of the traces queues the next parts of
 * each. */
#pragma once

#include "dump/base/thread_pool.h"
#include "dump/view/pt/pt_flow.h"

/* Zero-initialise. */
struct pt_prefetch_job {
	struct pool_job job;
	struct pt_flow *flow;
	size_t part;
	struct pt_flow_steps steps; /* owned by the caller, also if cancelled */
	int rc;			    /* result of pt_flow_part() */
};

/* A pool for struct pt_prefetch_job, as thread_pool_new(). */
int pt_prefetch_new(unsigned nr_threads, struct thread_pool **out);

/* As thread_pool_useful(). */
unsigned pt_prefetch_helpers(void);
