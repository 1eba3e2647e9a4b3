// SPDX-License-Identifier: MIT
/*
 * Parts decoded ahead; see ptahead.h. Called by pttrace.c. As ahead.c does it with blocks of
 * records.
 *
 *	IDLE ──put──▶ QUEUED ──a thread──▶ RUNNING ──▶ DONE
 *	 ▲              │ take: false                   │ take: true
 *	 └──────────────┴───────────────────────────────┘
 */
#include "dump/view/ptahead.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* More would wait for who goes through the steps. */
#define MAX_HELPERS 16u

struct ptahead {
	pthread_t *threads;
	unsigned nr_threads;

	pthread_mutex_t lock; /* holds what follows, and the jobs' states */
	pthread_cond_t queued, done;
	struct ptahead_job *first, **last;
	bool ended;
};

/* ---- threads ---- */

static struct ptahead_job *next_job(struct ptahead *a)
{
	struct ptahead_job *job;

	while (!a->ended && !a->first)
		pthread_cond_wait(&a->queued, &a->lock);
	if (a->ended)
		return NULL;
	job = a->first;
	a->first = job->next;
	if (!a->first)
		a->last = &a->first;
	job->state = PTAHEAD_RUNNING;
	return job;
}

static void *help(void *arg)
{
	struct ptahead *a = arg;
	struct ptahead_job *job;

	pthread_mutex_lock(&a->lock);
	while ((job = next_job(a))) {
		pthread_mutex_unlock(&a->lock);
		job->rc = ptflow_part(job->flow, job->part, &job->steps);
		pthread_mutex_lock(&a->lock);
		job->state = PTAHEAD_DONE;
		pthread_cond_signal(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- jobs ---- */

void ptahead_put(struct ptahead *a, struct ptahead_job *job)
{
	pthread_mutex_lock(&a->lock);
	assert(job->state == PTAHEAD_IDLE);
	job->state = PTAHEAD_QUEUED;
	job->next = NULL;
	*a->last = job;
	a->last = &job->next;
	pthread_cond_signal(&a->queued);
	pthread_mutex_unlock(&a->lock);
}

static void unqueue(struct ptahead *a, const struct ptahead_job *job)
{
	struct ptahead_job **at = &a->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!*at)
		a->last = at;
}

bool ptahead_take(struct ptahead *a, struct ptahead_job *job)
{
	bool done;

	pthread_mutex_lock(&a->lock);
	while (job->state == PTAHEAD_RUNNING)
		pthread_cond_wait(&a->done, &a->lock);
	done = job->state == PTAHEAD_DONE;
	if (job->state == PTAHEAD_QUEUED)
		unqueue(a, job);
	job->state = PTAHEAD_IDLE;
	pthread_mutex_unlock(&a->lock);
	return done;
}

/* ---- the whole ---- */

unsigned ptahead_helpers(void)
{
	cpu_set_t cpus;
	/* Fails where there are more CPUs than fit: enough of them. */
	unsigned nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? MAX_HELPERS
								: (unsigned)CPU_COUNT(&cpus);

	return nr < 2 ? 0 : nr < MAX_HELPERS ? nr : MAX_HELPERS;
}

int ptahead_new(unsigned nr_threads, struct ptahead **out)
{
	struct ptahead *a = calloc(1, sizeof(*a));
	int rc = -ENOMEM;

	if (!a)
		return rc;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->queued, NULL);
	pthread_cond_init(&a->done, NULL);
	a->last = &a->first;
	a->threads = calloc(nr_threads, sizeof(*a->threads));
	if (a->threads)
		for (rc = 0; a->nr_threads < nr_threads && !rc; a->nr_threads += !rc)
			rc = -pthread_create(&a->threads[a->nr_threads], NULL, help, a);
	if (!a->nr_threads) {
		ptahead_free(a);
		return rc ? rc : -EINVAL;
	}
	*out = a;
	return 0;
}

void ptahead_free(struct ptahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ended = true;
	pthread_cond_broadcast(&a->queued);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->nr_threads; i++)
		pthread_join(a->threads[i], NULL);
	pthread_cond_destroy(&a->done);
	pthread_cond_destroy(&a->queued);
	pthread_mutex_destroy(&a->lock);
	free(a->threads);
	free(a);
}
