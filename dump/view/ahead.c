// SPDX-License-Identifier: MIT
/*
 * Blocks loaded ahead; see ahead.h. Called by timeline.c.
 *
 *	IDLE ──put──▶ QUEUED ──a thread──▶ RUNNING ──▶ DONE
 *	 ▲              │ take: false                   │ take: true
 *	 └──────────────┴───────────────────────────────┘
 */
#include "dump/view/ahead.h"

#include "dump/reader.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* More would wait for who takes their blocks. */
#define MAX_HELPERS 4

struct helper {
	struct ahead *ahead;
	struct reader *reader;
	pthread_t thread;
};

struct ahead {
	struct helper *helpers;
	unsigned nr_helpers;

	pthread_mutex_t lock; /* holds what follows, and the jobs' states */
	pthread_cond_t queued, done;
	struct ahead_job *first, **last;
	bool ended;
};

/* ---- helpers ---- */

static struct ahead_job *next_job(struct ahead *a)
{
	struct ahead_job *job;

	while (!a->ended && !a->first)
		pthread_cond_wait(&a->queued, &a->lock);
	if (a->ended)
		return NULL;
	job = a->first;
	a->first = job->next;
	if (!a->first)
		a->last = &a->first;
	job->state = AHEAD_RUNNING;
	return job;
}

static void *help(void *arg)
{
	struct helper *h = arg;
	struct ahead *a = h->ahead;
	struct ahead_job *job;

	pthread_mutex_lock(&a->lock);
	while ((job = next_job(a))) {
		pthread_mutex_unlock(&a->lock);
		job->rc = timeblock_load(&job->block, h->reader, job->index, job->wish);
		pthread_mutex_lock(&a->lock);
		job->state = AHEAD_DONE;
		pthread_cond_signal(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- jobs ---- */

void ahead_put(struct ahead *a, struct ahead_job *job)
{
	pthread_mutex_lock(&a->lock);
	assert(job->state == AHEAD_IDLE);
	job->state = AHEAD_QUEUED;
	job->next = NULL;
	*a->last = job;
	a->last = &job->next;
	pthread_cond_signal(&a->queued);
	pthread_mutex_unlock(&a->lock);
}

static void unqueue(struct ahead *a, const struct ahead_job *job)
{
	struct ahead_job **at = &a->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!*at)
		a->last = at;
}

bool ahead_take(struct ahead *a, struct ahead_job *job)
{
	bool done;

	pthread_mutex_lock(&a->lock);
	while (job->state == AHEAD_RUNNING)
		pthread_cond_wait(&a->done, &a->lock);
	done = job->state == AHEAD_DONE;
	if (job->state == AHEAD_QUEUED)
		unqueue(a, job);
	job->state = AHEAD_IDLE;
	pthread_mutex_unlock(&a->lock);
	return done;
}

/* ---- the whole ---- */

unsigned ahead_helpers(void)
{
	cpu_set_t cpus;
	/* Fails where there are more CPUs than fit: enough of them. */
	int nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? MAX_HELPERS : CPU_COUNT(&cpus);

	return nr < 2 ? 0 : nr < MAX_HELPERS ? (unsigned)nr : MAX_HELPERS;
}

/* As many as can be had. */
static int start(struct ahead *a, const struct reader *r, unsigned nr)
{
	int rc = 0;

	for (unsigned i = 0; i < nr && !rc; i++) {
		struct helper *h = &a->helpers[i];

		h->ahead = a;
		rc = reader_twin(r, &h->reader, NULL);
		if (!rc)
			rc = -pthread_create(&h->thread, NULL, help, h);
		if (rc)
			reader_close(h->reader);
		else
			a->nr_helpers++;
	}
	return a->nr_helpers ? 0 : rc;
}

int ahead_new(const struct reader *r, unsigned nr_threads, struct ahead **out)
{
	struct ahead *a = calloc(1, sizeof(*a));
	int rc = -ENOMEM;

	if (!a)
		return rc;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->queued, NULL);
	pthread_cond_init(&a->done, NULL);
	a->last = &a->first;
	a->helpers = calloc(nr_threads, sizeof(*a->helpers));
	if (a->helpers)
		rc = start(a, r, nr_threads);
	if (rc)
		ahead_free(a);
	else
		*out = a;
	return rc;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->ended = true;
	pthread_cond_broadcast(&a->queued);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->nr_helpers; i++) {
		pthread_join(a->helpers[i].thread, NULL);
		reader_close(a->helpers[i].reader);
	}
	pthread_cond_destroy(&a->done);
	pthread_cond_destroy(&a->queued);
	pthread_mutex_destroy(&a->lock);
	free(a->helpers);
	free(a);
}
