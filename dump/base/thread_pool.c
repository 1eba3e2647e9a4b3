// SPDX-License-Identifier: MIT
/* A thread pool; see thread_pool.h. Used by the recorder for copies and blocks, and by views to
 * read ahead. */
#include "dump/base/thread_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How long threads poll after thread_pool_expect(). */
#define POLL_NS 1000000u

struct pool_thread {
	struct thread_pool *pool;
	void *mine;
	pthread_t thread;
	pid_t tid; /* set before thread_pool_new() returns */
};

struct thread_pool {
	struct thread_pool_options opt;

	/* The range. thread_pool_start() sets it after the last one is done. It has no lock: a
	 * thread that waited for one would sleep, and keep a trace paused for longer. */
	void (*work)(void *ctx, size_t i);
	void *ctx;
	size_t nr;
	_Atomic size_t nr_left, nr_done;
	atomic_bool expected; /* nr_left is about to be set */
	sem_t finished;	      /* no lock: its holder may be of low priority */

	pthread_mutex_t lock; /* protects the members below and the jobs' states */
	pthread_cond_t wake, done;
	struct pool_job *first, **last;
	bool quit;
	unsigned nr_running; /* threads that have begun */
	unsigned nr_threads;
	struct pool_thread threads[];
};

/* ---- threads: a range ---- */

static uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* An index is available only while the range is valid, and the range is valid until the index is
 * done. */
static bool take_index(struct thread_pool *p, size_t *i)
{
	size_t left = atomic_load(&p->nr_left);

	while (left)
		if (atomic_compare_exchange_weak(&p->nr_left, &left, left - 1)) {
			*i = p->nr - left;
			return true;
		}
	return false;
}

static void run_range(struct thread_pool *p)
{
	size_t i;

	while (take_index(p, &i)) {
		size_t nr = p->nr;

		p->work(p->ctx, i);
		if (atomic_fetch_add(&p->nr_done, 1) + 1 == nr)
			sem_post(&p->finished);
	}
}

/* Lets the sibling hardware thread, or another virtual CPU, run. */
static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	sched_yield();
}

/* Polling starts a range sooner than waking the threads does. */
static void poll_for_range(struct thread_pool *p)
{
	uint64_t until_ns = read_clock_ns(CLOCK_MONOTONIC) + POLL_NS;

	while (atomic_load(&p->expected)) {
		if (read_clock_ns(CLOCK_MONOTONIC) > until_ns)
			atomic_store(&p->expected, false);
		relax();
	}
}

/* ---- threads: jobs ---- */

static void run_first(struct thread_pool *p, void *mine)
{
	struct pool_job *job = p->first;

	p->first = job->next;
	if (!p->first)
		p->last = &p->first;
	job->state = POOL_RUNNING;
	pthread_mutex_unlock(&p->lock);
	p->opt.run(mine, job);
	pthread_mutex_lock(&p->lock);
	job->state = POOL_DONE;
	pthread_cond_signal(&p->done);
}

static void *thread_main(void *arg)
{
	struct pool_thread *me = arg;
	struct thread_pool *p = me->pool;

	if (p->opt.name)
		pthread_setname_np(pthread_self(), p->opt.name);
	if (p->opt.started)
		p->opt.started();
	pthread_mutex_lock(&p->lock);
	me->tid = gettid();
	p->nr_running++;
	pthread_cond_signal(&p->done);
	while (!p->quit) {
		if (atomic_load(&p->expected) || atomic_load(&p->nr_left)) {
			pthread_mutex_unlock(&p->lock);
			poll_for_range(p);
			run_range(p);
			pthread_mutex_lock(&p->lock);
		} else if (p->first) {
			run_first(p, me->mine);
		} else {
			pthread_cond_wait(&p->wake, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- jobs ---- */

void thread_pool_put(struct thread_pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	assert(job->state == POOL_IDLE);
	job->state = POOL_QUEUED;
	job->next = NULL;
	*p->last = job;
	p->last = &job->next;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

static void unqueue(struct thread_pool *p, struct pool_job *job)
{
	struct pool_job **at = &p->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!*at)
		p->last = at;
	job->state = POOL_IDLE;
}

static bool take(struct thread_pool *p, struct pool_job *job, bool wait)
{
	bool done;

	pthread_mutex_lock(&p->lock);
	if (job->state == POOL_QUEUED && !wait)
		unqueue(p, job);
	while (job->state == POOL_QUEUED || job->state == POOL_RUNNING)
		pthread_cond_wait(&p->done, &p->lock);
	done = job->state == POOL_DONE;
	job->state = POOL_IDLE;
	pthread_mutex_unlock(&p->lock);
	return done;
}

bool thread_pool_take(struct thread_pool *p, struct pool_job *job)
{
	return take(p, job, false);
}

bool thread_pool_wait(struct thread_pool *p, struct pool_job *job)
{
	return take(p, job, true);
}

/* ---- ranges ---- */

static void wake_all(struct thread_pool *p)
{
	pthread_mutex_lock(&p->lock);
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

void thread_pool_expect(struct thread_pool *p)
{
	atomic_store(&p->expected, true);
	wake_all(p);
}

void thread_pool_start(struct thread_pool *p, void (*work)(void *ctx, size_t i), void *ctx,
		       size_t nr)
{
	assert(nr && !atomic_load(&p->nr_left));
	p->work = work;
	p->ctx = ctx;
	p->nr = nr;
	atomic_store(&p->nr_done, 0);
	atomic_store(&p->nr_left, nr);
	atomic_store(&p->expected, false);
	wake_all(p); /* those that are not polling */
}

void thread_pool_finish(struct thread_pool *p)
{
	while (sem_wait(&p->finished) && errno == EINTR)
		;
}

/* ---- the pool ---- */

static int add_thread(struct thread_pool *p)
{
	struct pool_thread *t = &p->threads[p->nr_threads];
	pthread_attr_t attr;
	int rc = 0;

	t->pool = p;
	if (p->opt.begin)
		rc = p->opt.begin(p->opt.ctx, &t->mine);
	if (rc)
		return rc;
	pthread_attr_init(&attr);
	if (p->opt.stack_bytes)
		pthread_attr_setstacksize(&attr, p->opt.stack_bytes);
	rc = -pthread_create(&t->thread, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	if (!rc)
		p->nr_threads++;
	else if (p->opt.end)
		p->opt.end(t->mine);
	return rc;
}

/* Threads inherit the mask: signals go to the caller's threads. */
static int add_threads(struct thread_pool *p)
{
	sigset_t all, before;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < p->opt.nr_threads && !rc; i++)
		rc = add_thread(p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_mutex_lock(&p->lock);
	while (p->nr_running < p->nr_threads)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return p->nr_threads ? 0 : rc ? rc : -EINVAL;
}

int thread_pool_new(const struct thread_pool_options *opt, struct thread_pool **out)
{
	struct thread_pool *p = calloc(1, sizeof(*p) + opt->nr_threads * sizeof(p->threads[0]));
	int rc;

	if (!p)
		return -ENOMEM;
	p->opt = *opt;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->done, NULL);
	sem_init(&p->finished, 0, 0);
	rc = add_threads(p);
	if (rc) {
		thread_pool_free(p);
		return rc;
	}
	*out = p;
	return 0;
}

void thread_pool_free(struct thread_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nr_threads; i++) {
		pthread_join(p->threads[i].thread, NULL);
		if (p->opt.end)
			p->opt.end(p->threads[i].mine);
	}
	sem_destroy(&p->finished);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

unsigned thread_pool_size(const struct thread_pool *p)
{
	return p->nr_threads;
}

void thread_pool_each_tid(const struct thread_pool *p, void (*fn)(void *ctx, pid_t tid), void *ctx)
{
	for (unsigned i = 0; i < p->nr_threads; i++)
		fn(ctx, p->threads[i].tid);
}

uint64_t thread_pool_cpu_ns(const struct thread_pool *p)
{
	uint64_t sum = 0;
	clockid_t clock;

	for (unsigned i = 0; i < p->nr_threads; i++)
		if (!pthread_getcpuclockid(p->threads[i].thread, &clock))
			sum += read_clock_ns(clock);
	return sum;
}

unsigned thread_pool_useful(unsigned max)
{
	cpu_set_t cpus;
	/* Fails if the machine has more CPUs than fit in the set: then there are enough. */
	unsigned nr = sched_getaffinity(0, sizeof(cpus), &cpus) ? max : (unsigned)CPU_COUNT(&cpus);

	return nr < 2 ? 0 : nr < max ? nr : max;
}
