/* SPDX-License-Identifier: MIT */
/* Loads blocks of records ahead of their use. The timeline queues a ring's next block as soon as it
 * has taken the previous one. */
#pragma once

#include "dump/base/thread_pool.h"
#include "dump/view/model/time_block.h"

/* Zero-initialise. */
struct prefetch_job {
	struct pool_job job;
	struct time_block block;	    /* owned by the caller, also if cancelled */
	size_t index;			    /* of the block, for time_block_load() */
	const struct time_block_wish *wish; /* borrowed; called on another thread */
	int rc;				    /* result of time_block_load() */
};

/* A pool for struct prefetch_job, as thread_pool_new(). The threads do not use `r`. */
int prefetch_new(const struct reader *r, unsigned nr_threads, struct thread_pool **out);

/* As thread_pool_useful(). */
unsigned prefetch_helpers(void);
