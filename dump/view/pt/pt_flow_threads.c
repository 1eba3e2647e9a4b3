// SPDX-License-Identifier: MIT
/* Several threads at the parts of one trace; see pt_flow.h. */
#include "dump/base/err.h"
#include "dump/view/pt/pt_flow.h"

#include <errno.h>
#include <pthread.h>

#define MAX_THREADS 64u

/*
 * Threads take parts from the newest on and hand them over in that order; one that is done early
 * waits for its turn, and so there are never more than a part's steps a thread.
 */
struct crew {
	struct pt_flow *f;
	int (*each)(void *ctx, size_t part, const struct pt_flow_steps *steps);
	void *ctx;
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t turn;
	size_t taken, handed; /* parts, counted from the newest */
	int rc;		      /* non-zero: all end */
};

static void hand_over(struct crew *c, size_t place, int rc, const struct pt_flow_steps *steps)
{
	pthread_mutex_lock(&c->lock);
	while (!c->rc && c->handed != place)
		pthread_cond_wait(&c->turn, &c->lock);
	if (!c->rc) {
		c->rc = rc ? rc : c->each(c->ctx, pt_flow_nr_parts(c->f) - 1 - place, steps);
		c->handed++;
	}
	pthread_cond_broadcast(&c->turn);
	pthread_mutex_unlock(&c->lock);
}

static void *crew_member(void *arg)
{
	struct crew *c = arg;
	size_t nr = pt_flow_nr_parts(c->f);
	struct pt_flow_steps steps = {0};

	for (;;) {
		size_t place = nr;

		pthread_mutex_lock(&c->lock);
		if (!c->rc && c->taken < nr)
			place = c->taken++;
		pthread_mutex_unlock(&c->lock);
		if (place == nr)
			break;
		hand_over(c, place, pt_flow_part(c->f, nr - 1 - place, &steps), &steps);
	}
	pt_flow_steps_free(&steps);
	return NULL;
}

int pt_flow_backwards(struct pt_flow *f, unsigned int nr_threads,
		      int (*each)(void *ctx, size_t part, const struct pt_flow_steps *steps),
		      void *ctx, struct err *err)
{
	struct crew c = {.f = f, .each = each, .ctx = ctx};
	pthread_t others[MAX_THREADS];
	unsigned int nr = 0;

	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.turn, NULL);
	/* Those that can't be started are not missed: this one does the work. */
	while (nr + 1 < nr_threads && nr < MAX_THREADS &&
	       !pthread_create(&others[nr], NULL, crew_member, &c))
		nr++;
	crew_member(&c);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(others[i], NULL);
	pthread_cond_destroy(&c.turn);
	pthread_mutex_destroy(&c.lock);
	return c.rc == -ENOMEM ? err_sys(err, c.rc, "decoding a trace") : c.rc;
}
