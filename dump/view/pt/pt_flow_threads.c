// SPDX-License-Identifier: MIT
/* Several threads decode the parts of one trace; see pt_flow.h. */
#include "dump/base/err.h"
#include "dump/base/thread_pool.h"
#include "dump/view/pt/pt_flow.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_THREADS 64u

/* Part `nr parts - 1 - place` is decoded into decoded[place % nr]. */
struct decoded_part {
	struct pool_job job;
	struct pt_flow *flow;
	size_t part;
	struct pt_flow_steps steps;
	int rc;
};

static void decode(void *nothing, struct pool_job *job)
{
	struct decoded_part *d = (struct decoded_part *)job;

	d->rc = pt_flow_part(d->flow, d->part, &d->steps);
}

int pt_flow_backwards(struct pt_flow *f, unsigned int nr_threads,
		      int (*each)(void *ctx, size_t part, const struct pt_flow_steps *steps),
		      void *ctx, struct err *err)
{
	struct thread_pool_options opt = {
		.nr_threads = nr_threads < MAX_THREADS ? nr_threads : MAX_THREADS,
		.run = decode,
	};
	size_t nr = opt.nr_threads + 1, nr_parts = pt_flow_nr_parts(f), nr_put = 0;
	struct decoded_part *decoded = calloc(nr, sizeof(*decoded));
	struct thread_pool *pool = NULL;
	int rc = decoded ? 0 : -ENOMEM;

	/* If threads cannot start, the caller decodes. */
	if (!rc && nr_threads > 1)
		thread_pool_new(&opt, &pool);
	for (size_t place = 0; place < nr_parts && !rc; place++) {
		struct decoded_part *d;

		for (; nr_put < nr_parts && nr_put < place + nr; nr_put++) {
			d = &decoded[nr_put % nr];
			d->flow = f;
			d->part = nr_parts - 1 - nr_put;
			if (pool)
				thread_pool_put(pool, &d->job);
		}
		d = &decoded[place % nr];
		if (!pool || !thread_pool_take(pool, &d->job))
			decode(NULL, &d->job);
		rc = d->rc ? d->rc : each(ctx, d->part, &d->steps);
	}
	thread_pool_free(pool);
	for (size_t i = 0; i < nr && decoded; i++)
		pt_flow_steps_free(&decoded[i].steps);
	free(decoded);
	return rc == -ENOMEM ? err_sys(err, rc, "decoding a trace") : rc;
}
