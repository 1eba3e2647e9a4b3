// SPDX-License-Identifier: MIT
/* Parts decoded ahead; see pt_prefetch.h. Called by pt_trace.c. */
#include "dump/view/pt/pt_prefetch.h"

/* More would wait for who goes through the steps. */
#define MAX_HELPERS 16

static void decode(void *nothing, struct job *job)
{
	struct pt_prefetch_job *p = (struct pt_prefetch_job *)job;

	p->rc = pt_flow_part(p->flow, p->part, &p->steps);
}

int pt_prefetch_new(unsigned nr_threads, struct jobs **out)
{
	static const struct jobs_work work = {.run = decode};

	return jobs_new(&work, NULL, nr_threads, out);
}

unsigned pt_prefetch_helpers(void)
{
	return jobs_helpers(MAX_HELPERS);
}
