/* SPDX-License-Identifier: MIT */
/*
 * Loads blocks of records before they are asked for. The timeline puts a ring's next block in as
 * soon as it has taken the one before.
 */
#pragma once

#include "dump/base/thread_pool.h"
#include "dump/view/model/time_block.h"

/* Zero-initialise. */
struct prefetch_job {
	struct pool_job job;
	struct time_block block;	    /* stays the caller's, also when it is given up */
	size_t index;			    /* of the block, as time_block_load() takes it */
	const struct time_block_wish *wish; /* borrowed; asked on another thread */
	int rc;				    /* of time_block_load() */
};

/* For struct prefetch_job; as thread_pool_new(). `r` is not used by the threads. */
int prefetch_new(const struct reader *r, unsigned nr_threads, struct thread_pool **out);

/* As thread_pool_useful(). */
unsigned prefetch_helpers(void);
