/* SPDX-License-Identifier: MIT */
/*
 * Decodes parts of Intel PT before they are asked for. Whoever goes through traces puts the next
 * parts of each in.
 */
#pragma once

#include "dump/view/base/jobs.h"
#include "dump/view/pt/pt_flow.h"

/* Zero-initialise. */
struct ptahead_job {
	struct job job;
	struct ptflow *flow;
	size_t part;
	struct ptflow_steps steps; /* stay the caller's, also when it is given up */
	int rc;			   /* of ptflow_part() */
};

/* For struct ptahead_job; as jobs_new(). */
int ptahead_new(unsigned nr_threads, struct jobs **out);

/* As jobs_helpers(). */
unsigned ptahead_helpers(void);
