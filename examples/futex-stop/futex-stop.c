// SPDX-License-Identifier: MIT
/*
 * A garbage collector that stops the world at safepoints: it sets a flag, each request thread looks
 * at the flag between two steps of its work and then parks on a futex until the collection is done.
 * Collections of the young heap take a millisecond. Then the whole heap is compacted, which takes
 * half a second, and no request thread runs meanwhile.
 */
#include "../incident.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define THREADS	  3
#define NORMAL_MS 900
#define FULL_MS	  500
#define LIMIT_MS  200

static _Atomic uint32_t collecting; /* 1: threads have to park */
static _Atomic uint32_t nr_parked;

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static __attribute__((noinline)) void park(void)
{
	nr_parked++;
	wake_all(&nr_parked);
	while (collecting)
		wait_while(&collecting, 1);
	nr_parked--;
}

static inline void safepoint(void)
{
	if (collecting)
		park();
}

static __attribute__((noinline)) void stop_world(void)
{
	uint32_t n;

	while (nr_parked) /* some have not left the last one */
		sleep_ms(0.1);
	collecting = 1;
	while ((n = nr_parked) < THREADS)
		wait_while(&nr_parked, n);
}

static __attribute__((noinline)) void start_world(void)
{
	collecting = 0;
	wake_all(&collecting);
}

static __attribute__((noinline)) void collect_young(void)
{
	work_ms(1);
}

static __attribute__((noinline)) void compact_heap(void)
{
	work_ms(FULL_MS);
}

static void *collector(void *arg)
{
	double began = ms_now();
	bool full = false;

	name_me("collector");
	while (!full) {
		sleep_ms(40);
		full = ms_now() - began > NORMAL_MS;
		stop_world();
		if (full)
			compact_heap();
		else
			collect_young();
		start_world();
	}
	return arg;
}

/* A query to a database, then its result as a page, row by row. */
static __attribute__((noinline)) void serve_request(void)
{
	sleep_ms(2);
	for (int row = 0; row < 10; row++) {
		safepoint();
		work_ms(0.1);
	}
}

static struct service service = {.serve = serve_request, .limit_ms = LIMIT_MS};

int main(void)
{
	pthread_t threads[THREADS], gc;

	for (int i = 0; i < THREADS; i++)
		threads[i] = start(serve_requests, &service);
	gc = start(collector, NULL);
	pthread_join(gc, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
