// SPDX-License-Identifier: MIT
/*
 * A flood of scheduler events: pairs of threads pass a byte back and forth through pipes, for
 * SECONDS (argument 1) with PAIRS (argument 2, default one per CPU) pairs. No process starts
 * meanwhile. Each pair pauses for a millisecond after 20 trips: on Linux 6.18 threads that wake
 * each other all the time can starve all others for minutes. Prints "ready" when all threads run,
 * and at the end "trips N": round trips of all pairs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct pair {
	int there[2], back[2];
	unsigned long trips;
};

static void *echo(void *arg)
{
	struct pair *p = arg;
	char c;

	while (read(p->there[0], &c, 1) == 1)
		if (write(p->back[1], &c, 1) != 1)
			break;
	return NULL;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *drive(void *arg)
{
	const struct timespec pause = {0, 1000000};
	struct pair *p = arg;
	double began_s = now_s();
	char c = 0;

	while (write(p->there[1], &c, 1) == 1 && read(p->back[0], &c, 1) == 1) {
		__atomic_fetch_add(&p->trips, 1, __ATOMIC_RELAXED);
		if (now_s() - began_s < 0.02)
			continue;
		nanosleep(&pause, NULL);
		began_s = now_s();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	long pairs = argc > 2 ? atol(argv[2]) : sysconf(_SC_NPROCESSORS_ONLN);
	struct pair *all = calloc((size_t)pairs, sizeof(*all));
	unsigned long trips = 0;
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	for (long i = 0; i < pairs; i++) {
		struct pair *p = &all[i];
		pthread_t a, b;

		if (!all || pipe(p->there) || pipe(p->back) || pthread_create(&a, NULL, echo, p) ||
		    pthread_create(&b, NULL, drive, p))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	nanosleep(&t, NULL);
	for (long i = 0; i < pairs; i++)
		trips += __atomic_load_n(&all[i].trips, __ATOMIC_RELAXED);
	printf("trips %lu\n", trips);
	fflush(stdout);
	_exit(0);
}
