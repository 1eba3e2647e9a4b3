// SPDX-License-Identifier: MIT
/*
 * A garbage collector that stops the world by signals: it sends SIGUSR1 to each request thread,
 * whose handler waits in sigsuspend() until SIGUSR2 says that the collection is done. Collections
 * of the young heap take a millisecond. Then the whole heap is collected, which takes half a second,
 * and no request thread runs meanwhile.
 */
#include "../incident.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#define THREADS	  3
#define NORMAL_MS 900
#define FULL_MS	  500
#define LIMIT_MS  200

static pthread_t threads[THREADS];
static sem_t nr_stopped;
static atomic_int started_collection, ended_collection;

static __attribute__((noinline)) void wait_for_collector(int collection)
{
	sigset_t mask;

	sigfillset(&mask);
	sigdelset(&mask, SIGUSR2);
	while (ended_collection < collection)
		sigsuspend(&mask);
}

static void on_stop(int sig)
{
	int saved = errno, collection = started_collection;

	(void)sig;
	sem_post(&nr_stopped);
	wait_for_collector(collection);
	errno = saved;
}

static void on_go(int sig)
{
	(void)sig;
}

static void signal_all(int sig)
{
	for (int i = 0; i < THREADS; i++)
		pthread_kill(threads[i], sig);
}

static __attribute__((noinline)) void stop_world(void)
{
	started_collection++;
	signal_all(SIGUSR1);
	for (int i = 0; i < THREADS; i++)
		while (sem_wait(&nr_stopped))
			;
}

static __attribute__((noinline)) void start_world(void)
{
	ended_collection = started_collection;
	signal_all(SIGUSR2);
}

static __attribute__((noinline)) void mark_heap(double ms)
{
	work_ms(ms);
}

static void *collector(void *arg)
{
	double began = ms_now();
	bool full = false;

	name_me("gc");
	while (!full) {
		sleep_ms(40);
		full = ms_now() - began > NORMAL_MS;
		stop_world();
		mark_heap(full ? FULL_MS : 1);
		start_world();
	}
	return arg;
}

/* A query to a database, then its result as a page. */
static __attribute__((noinline)) void serve_request(void)
{
	sleep_ms(2);
	work_ms(1);
}

static struct service service = {.serve = serve_request, .limit_ms = LIMIT_MS};

int main(void)
{
	struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	struct sigaction go = {.sa_handler = on_go, .sa_flags = SA_RESTART};
	pthread_t gc;

	sigfillset(&stop.sa_mask);
	sigaction(SIGUSR1, &stop, NULL);
	sigaction(SIGUSR2, &go, NULL);
	sem_init(&nr_stopped, 0, 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = start(serve_requests, &service);
	gc = start(collector, NULL);
	pthread_join(gc, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
