// SPDX-License-Identifier: MIT
/* Threads for a number of jobs; see crew.h. Called by recording.c. */
#include "recorder/crew.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

struct crew {
	void (*work)(void *ctx, size_t job);
	pthread_mutex_t lock;
	pthread_cond_t start;
	sem_t done; /* no lock: who waits may be of low priority, and must not keep one */
	/* Under the lock. */
	bool quit;
	void *ctx;
	size_t next, nr; /* jobs */
	unsigned nr_busy;
	unsigned nr_threads;
	pthread_t threads[];
};

/* Real time where that is allowed, else the best nice value, as for the main loop's thread. */
static void go_first(void)
{
	struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}

static void *run(void *arg)
{
	struct crew *c = arg;
	sigset_t all;

	/* Signals are the main loop's, also those of rules that a reload adds. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-copy");
	go_first();
	pthread_mutex_lock(&c->lock);
	while (!c->quit) {
		size_t job = c->next;

		if (job == c->nr) {
			pthread_cond_wait(&c->start, &c->lock);
			continue;
		}
		c->next++;
		c->nr_busy++;
		pthread_mutex_unlock(&c->lock);
		c->work(c->ctx, job);
		pthread_mutex_lock(&c->lock);
		if (!--c->nr_busy && c->next == c->nr)
			sem_post(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int add_thread(struct crew *c, struct err *err)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = -pthread_create(&c->threads[c->nr_threads], &attr, run, c);
	pthread_attr_destroy(&attr);
	if (rc)
		return err_sys(err, rc, "can't start a thread that copies AUX areas");
	c->nr_threads++;
	return 0;
}

int crew_new(unsigned nr_threads, void (*work)(void *ctx, size_t job), struct crew **out,
	     struct err *err)
{
	struct crew *c = calloc(1, sizeof(*c) + nr_threads * sizeof(c->threads[0]));
	int rc = 0;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->work = work;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->start, NULL);
	sem_init(&c->done, 0, 0);
	for (unsigned i = 0; i < nr_threads && !rc; i++)
		rc = add_thread(c, err);
	if (rc) {
		crew_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void crew_free(struct crew *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->quit = true;
	pthread_cond_broadcast(&c->start);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->nr_threads; i++)
		pthread_join(c->threads[i], NULL);
	sem_destroy(&c->done);
	pthread_cond_destroy(&c->start);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void crew_start(struct crew *c, void *ctx, size_t nr)
{
	assert(nr);
	pthread_mutex_lock(&c->lock);
	assert(c->next == c->nr && !c->nr_busy);
	c->ctx = ctx;
	c->next = 0;
	c->nr = nr;
	pthread_cond_broadcast(&c->start);
	pthread_mutex_unlock(&c->lock);
}

void crew_wait(struct crew *c)
{
	while (sem_wait(&c->done) && errno == EINTR)
		;
}
