// SPDX-License-Identifier: MIT
/* Decodes parts ahead; see pt_prefetch.h. Called by pt_trace.c. */
#include "dump/view/pt/pt_prefetch.h"

/* More helpers would wait for the thread that reads the steps. */
#define MAX_HELPERS 16

static void decode(void *nothing, struct pool_job *job)
{
	struct pt_prefetch_job *p = (struct pt_prefetch_job *)job;

	p->rc = pt_flow_part(p->flow, p->part, &p->steps);
}

int pt_prefetch_new(unsigned nr_threads, struct thread_pool **out)
{
	struct thread_pool_options opt = {.nr_threads = nr_threads, .run = decode};

	return thread_pool_new(&opt, out);
}

unsigned pt_prefetch_helpers(void)
{
	return thread_pool_useful(MAX_HELPERS);
}
