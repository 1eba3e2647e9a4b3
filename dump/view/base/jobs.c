// SPDX-License-Identifier: MIT
/*
 * A queue and threads; see jobs.h. Called by prefetch.c for blocks of records, by pt_prefetch.c for
 *parts of traces, and by those who put these in.
 *
 *	IDLE ──put──▶ QUEUED ──a thread──▶ RUNNING ──▶ DONE
 *	 ▲              │ take: false                   │ take: true
 *	 └──────────────┴───────────────────────────────┘
 */
#include "dump/view/base/jobs.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct helper {
	struct jobs *jobs;
	void *mine; /* as jobs_work's begin() made it */
	pthread_t thread;
};

struct jobs {
	const struct jobs_work *work;
	struct helper *helpers;
	unsigned nr_helpers;

	pthread_mutex_t lock; /* holds what follows, and the jobs' states */
	pthread_cond_t queued, done;
	struct job *first, **last;
	bool ended;
};

/* ---- helpers ---- */

static struct job *next_job(struct jobs *j)
{
	struct job *job;

	while (!j->ended && !j->first)
		pthread_cond_wait(&j->queued, &j->lock);
	if (j->ended)
		return NULL;
	job = j->first;
	j->first = job->next;
	if (!j->first)
		j->last = &j->first;
	job->state = JOB_RUNNING;
	return job;
}

static void *help(void *arg)
{
	struct helper *h = arg;
	struct jobs *j = h->jobs;
	struct job *job;

	pthread_mutex_lock(&j->lock);
	while ((job = next_job(j))) {
		pthread_mutex_unlock(&j->lock);
		j->work->run(h->mine, job);
		pthread_mutex_lock(&j->lock);
		job->state = JOB_DONE;
		pthread_cond_signal(&j->done);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* ---- jobs ---- */

void jobs_put(struct jobs *j, struct job *job)
{
	pthread_mutex_lock(&j->lock);
	assert(job->state == JOB_IDLE);
	job->state = JOB_QUEUED;
	job->next = NULL;
	*j->last = job;
	j->last = &job->next;
	pthread_cond_signal(&j->queued);
	pthread_mutex_unlock(&j->lock);
}

static void unqueue(struct jobs *j, const struct job *job)
{
	struct job **at = &j->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!*at)
		j->last = at;
}

bool jobs_take(struct jobs *j, struct job *job)
{
	bool done;

	pthread_mutex_lock(&j->lock);
	while (job->state == JOB_RUNNING)
		pthread_cond_wait(&j->done, &j->lock);
	done = job->state == JOB_DONE;
	if (job->state == JOB_QUEUED)
		unqueue(j, job);
	job->state = JOB_IDLE;
	pthread_mutex_unlock(&j->lock);
	return done;
}

/* ---- the whole ---- */

unsigned jobs_helpers(unsigned most)
{
	cpu_set_t cpus;
	/* Fails where there are more CPUs than fit: enough of them. */
	unsigned nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? most : (unsigned)CPU_COUNT(&cpus);

	return nr < 2 ? 0 : nr < most ? nr : most;
}

static int start(struct jobs *j, const void *ctx)
{
	struct helper *h = &j->helpers[j->nr_helpers];
	int rc = 0;

	h->jobs = j;
	if (j->work->begin)
		rc = j->work->begin(ctx, &h->mine);
	if (rc)
		return rc;
	rc = -pthread_create(&h->thread, NULL, help, h);
	if (!rc)
		j->nr_helpers++;
	else if (j->work->end)
		j->work->end(h->mine);
	return rc;
}

int jobs_new(const struct jobs_work *work, const void *ctx, unsigned nr_threads, struct jobs **out)
{
	struct jobs *j = calloc(1, sizeof(*j));
	int rc = -ENOMEM;

	if (!j)
		return rc;
	j->work = work;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->queued, NULL);
	pthread_cond_init(&j->done, NULL);
	j->last = &j->first;
	j->helpers = calloc(nr_threads, sizeof(*j->helpers));
	if (j->helpers)
		for (rc = 0; j->nr_helpers < nr_threads && !rc;)
			rc = start(j, ctx);
	if (!j->nr_helpers) {
		jobs_free(j);
		return rc ? rc : -EINVAL;
	}
	*out = j;
	return 0;
}

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock);
	j->ended = true;
	pthread_cond_broadcast(&j->queued);
	pthread_mutex_unlock(&j->lock);
	for (unsigned i = 0; i < j->nr_helpers; i++) {
		pthread_join(j->helpers[i].thread, NULL);
		if (j->work->end)
			j->work->end(j->helpers[i].mine);
	}
	pthread_cond_destroy(&j->done);
	pthread_cond_destroy(&j->queued);
	pthread_mutex_destroy(&j->lock);
	free(j->helpers);
	free(j);
}
