// SPDX-License-Identifier: MIT
/*
 * Measures a machine's wake-up latency: on each allowed CPU, one SCHED_OTHER thread and, if
 * permitted, one SCHED_FIFO thread wake up every 250 us. Prints "ready" when all run, and after
 * MILLISECONDS (argument 1) one line per wake-up: "other LATE" or "fifo LATE", in ns after the
 * requested time.
 */
#include "tests/helpers/now.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS  250000
#define WARM_UP_NS 20000000

struct sleeper {
	pthread_t thread;
	int cpu;
	int is_fifo;
	uint64_t start_ns; /* due time of the first wake-up counted */
	size_t nr;
	uint64_t *late_ns;
};

static void sleep_until(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

static void *feel(void *arg)
{
	struct sleeper *s = arg;
	struct sched_param p = {.sched_priority = s->is_fifo ? 50 : 0};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(s->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, s->is_fifo ? SCHED_FIFO : SCHED_OTHER, &p)) {
		s->nr = 0;
		return NULL;
	}
	for (uint64_t due = s->start_ns - WARM_UP_NS; due < s->start_ns; due += PERIOD_NS)
		sleep_until(due);
	/* The due times are fixed: a very late wake-up makes the next one late too. */
	for (size_t i = 0; i < s->nr; i++) {
		uint64_t due = s->start_ns + i * PERIOD_NS;

		sleep_until(due);
		s->late_ns[i] = now_ns() - due;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t nr = (size_t)(argc > 1 ? atol(argv[1]) : 1000) * 1000000 / PERIOD_NS;
	uint64_t start_ns = now_ns() + 2 * WARM_UP_NS;
	struct sleeper *all = calloc(2 * CPU_SETSIZE, sizeof(*all));
	size_t nr_all = 0;
	cpu_set_t set;

	if (!all || sched_getaffinity(0, sizeof(set), &set))
		return 1;
	for (int i = 0; i < 2 * CPU_SETSIZE; i++) {
		struct sleeper *s = &all[nr_all];

		if (!CPU_ISSET(i / 2, &set))
			continue;
		*s = (struct sleeper){
			.cpu = i / 2, .is_fifo = i % 2, .start_ns = start_ns, .nr = nr};
		s->late_ns = malloc(nr * sizeof(*s->late_ns));
		if (!s->late_ns)
			return 1;
		memset(s->late_ns, 0xff, nr * sizeof(*s->late_ns)); /* faults the pages in now */
		if (pthread_create(&s->thread, NULL, feel, s))
			return 1;
		nr_all++;
	}
	sleep_until(start_ns);
	puts("ready");
	fflush(stdout);
	for (size_t i = 0; i < nr_all; i++) {
		pthread_join(all[i].thread, NULL);
		for (size_t k = 0; k < all[i].nr; k++)
			printf("%s %lu\n", all[i].is_fifo ? "fifo" : "other", all[i].late_ns[k]);
	}
	return 0;
}
