// SPDX-License-Identifier: MIT
/*
 * A search service gives a part of each query to four workers and waits for all of them. The workers
 * are to be spread over the CPUs and pinned there, for the sake of caches. pin_worker() divides where
 * it should take the remainder, so all four are pinned to the first CPU. Small queries are fast all
 * the same. In a large one the workers wait for each other on one CPU, and the other CPUs idle.
 */
#include "../incident.h"

#include <semaphore.h>

#define WORKERS	  4
#define NORMAL_MS 900
#define SMALL_MS  0.3 /* of CPU time for a worker's part of a query */
#define LARGE_MS  120
#define LIMIT_MS  300 /* for a query */

static int cpus[CPU_SETSIZE], nr_cpus;
static sem_t part_wanted[WORKERS], part_found;
static double part_ms;

static void list_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			cpus[nr_cpus++] = i;
}

static __attribute__((noinline)) void pin_worker(int worker)
{
	stay_on(cpus[worker / WORKERS]); /* the mistake: meant was worker % nr_cpus */
}

static __attribute__((noinline)) void search_part(void)
{
	work_ms(part_ms);
}

static void *worker(void *arg)
{
	int i = (int)(intptr_t)arg;

	name_me("worker");
	pin_worker(i);
	for (;;) {
		sem_wait(&part_wanted[i]);
		search_part();
		sem_post(&part_found);
	}
	return NULL;
}

static __attribute__((noinline)) void wait_for_parts(void)
{
	for (int i = 0; i < WORKERS; i++)
		sem_wait(&part_found);
}

/* Milliseconds that a query took. */
static __attribute__((noinline)) double search(double ms)
{
	double began = ms_now();

	part_ms = ms;
	for (int i = 0; i < WORKERS; i++)
		sem_post(&part_wanted[i]);
	wait_for_parts();
	return ms_now() - began;
}

int main(void)
{
	double began = ms_now(), took = 0;

	list_cpus();
	if (nr_cpus < 2) {
		fprintf(stderr, "only one CPU\n");
		return 77;
	}
	name_me("search");
	sem_init(&part_found, 0, 0);
	for (int i = 0; i < WORKERS; i++) {
		sem_init(&part_wanted[i], 0, 0);
		start(worker, (void *)(intptr_t)i);
	}
	while (ms_now() - began < NORMAL_MS) {
		search(SMALL_MS);
		sleep_ms(5);
	}
	while (took < LIMIT_MS && ms_now() - began < 20000)
		took = search(LARGE_MS);
	incident("a query took %.0f ms, limit %d ms", took, LIMIT_MS);
	return 0;
}
