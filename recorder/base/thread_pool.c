// SPDX-License-Identifier: MIT
/* Threads for a number of jobs; see thread_pool.h. Called by recording.c. */
#include "recorder/base/thread_pool.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)
/* How long who was called looks for jobs before he sleeps again. */
#define LOOK_NS 1000000u

struct crew {
	/* Set by crew_start(), which is the next one only when all jobs of this are done. */
	void (*work)(void *ctx, size_t job);
	void *ctx;
	size_t nr; /* jobs */
	/* No lock around these: who waits for it would sleep, and a trace stand still for longer.
	 */
	size_t nr_left, nr_done;
	bool called; /* nr_left is about to be set */
	sem_t done;  /* nor here: who waits may be of low priority, and must not keep one */
	pthread_mutex_t lock;
	pthread_cond_t come;
	bool quit; /* under the lock */
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

static size_t nr_left(const struct crew *c)
{
	return __atomic_load_n(&c->nr_left, __ATOMIC_ACQUIRE);
}

/* One is left only while what crew_start() set is valid, and stays so until it is done. */
static bool take_job(struct crew *c, size_t *job)
{
	size_t left = nr_left(c);

	while (left)
		if (__atomic_compare_exchange_n(&c->nr_left, &left, left - 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			*job = c->nr - left;
			return true;
		}
	return false;
}

static void do_jobs(struct crew *c)
{
	size_t job;

	while (take_job(c, &job)) {
		size_t nr = c->nr;

		c->work(c->ctx, job);
		if (__atomic_add_fetch(&c->nr_done, 1, __ATOMIC_ACQ_REL) == nr)
			sem_post(&c->done);
	}
}

static bool is_called(const struct crew *c)
{
	return __atomic_load_n(&c->called, __ATOMIC_ACQUIRE);
}

/* The other half of a core, or the CPU of a virtual machine, may have something to do. */
static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	sched_yield();
}

/* They will be there in a moment, and by then a sleeper is just being woken. */
static void look_for_jobs(struct crew *c)
{
	uint64_t until_ns = clock_ns() + LOOK_NS;

	while (is_called(c)) {
		if (clock_ns() > until_ns)
			__atomic_store_n(&c->called, false, __ATOMIC_RELEASE);
		relax();
	}
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
		if (!is_called(c) && !nr_left(c)) {
			pthread_cond_wait(&c->come, &c->lock);
			continue;
		}
		pthread_mutex_unlock(&c->lock);
		look_for_jobs(c);
		do_jobs(c);
		pthread_mutex_lock(&c->lock);
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

int crew_new(unsigned nr_threads, struct crew **out, struct err *err)
{
	struct crew *c = calloc(1, sizeof(*c) + nr_threads * sizeof(c->threads[0]));
	int rc = 0;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->come, NULL);
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
	pthread_cond_broadcast(&c->come);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->nr_threads; i++)
		pthread_join(c->threads[i], NULL);
	sem_destroy(&c->done);
	pthread_cond_destroy(&c->come);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void wake(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	pthread_cond_broadcast(&c->come);
	pthread_mutex_unlock(&c->lock);
}

void crew_call(struct crew *c)
{
	__atomic_store_n(&c->called, true, __ATOMIC_RELEASE);
	wake(c);
}

void crew_start(struct crew *c, void (*work)(void *ctx, size_t job), void *ctx, size_t nr)
{
	assert(nr && !nr_left(c));
	c->work = work;
	c->ctx = ctx;
	c->nr = nr;
	__atomic_store_n(&c->nr_done, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->nr_left, nr, __ATOMIC_RELEASE);
	__atomic_store_n(&c->called, false, __ATOMIC_RELEASE);
	wake(c); /* those who were not called, or looked in vain */
}

void crew_wait(struct crew *c)
{
	while (sem_wait(&c->done) && errno == EINTR)
		;
}
