// SPDX-License-Identifier: MIT
/*
 * load_without cpu|lock|pipe [without]: an operation of thread "victim" that takes long since a
 * culprit is in its way; with "without", the same and no culprit. All work is CPU time, so a rerun
 * differs from the first run by the culprit only. Prints the milliseconds that the operation took
 * beyond the victim's own work, and stays for a second, so that a dump can be made.
 *
 *	cpu	victim and two hogs on one CPU; the culprit is "hog-1"
 *	lock	"hog-1", then "hog-2", hold a lock for 300 and 200 ms before victim gets it
 *	pipe	victim reads from "hog-2", which works for 200 ms, and before waits 300 ms for "hog-1"
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define OWN_MS 200

static bool without;
static volatile bool done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first[2], second[2];

static double ms_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Uses that much CPU time. */
static void __attribute__((noinline)) work(double ms)
{
	double end = ms_of(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (ms_of(CLOCK_THREAD_CPUTIME_ID) < end && !done)
		;
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *hog(void *name)
{
	prctl(PR_SET_NAME, name);
	work(1e9);
	return NULL;
}

static void *holder(void *name)
{
	bool is_first = !strcmp(name, "hog-1");
	char c = 0;

	prctl(PR_SET_NAME, name);
	pthread_mutex_lock(&lock);
	/* The next one may queue. */
	if (write(is_first ? first[1] : second[1], &c, 1) != 1)
		abort();
	work(is_first ? 300 : 200);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *helper(void *name)
{
	char c = 0;

	prctl(PR_SET_NAME, name);
	work(300);
	if (write(first[1], &c, 1) != 1)
		abort();
	return NULL;
}

static void *server(void *name)
{
	char c;

	prctl(PR_SET_NAME, name);
	if (!without && read(first[0], &c, 1) != 1)
		abort();
	work(200);
	if (write(second[1], &c, 1) != 1)
		abort();
	return NULL;
}

static void start(void *(*run)(void *), char *name)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, name))
		abort();
}

static void short_nap(void)
{
	nanosleep(&(struct timespec){0, 20000000}, NULL);
}

/* Begins what is in the way; then the operation, which returns the victim's own work. */
static double run(const char *how)
{
	char c;

	if (!strcmp(how, "cpu")) {
		stay_on(0);
		if (!without)
			start(hog, "hog-1");
		start(hog, "hog-2");
		work(OWN_MS);
		return OWN_MS;
	}
	if (!strcmp(how, "lock")) {
		/* Both hogs queue before the victim does. */
		pthread_mutex_lock(&lock);
		if (!without)
			start(holder, "hog-1");
		short_nap();
		start(holder, "hog-2");
		short_nap();
		pthread_mutex_unlock(&lock);
		if (read(second[0], &c, 1) != 1)
			abort();
		pthread_mutex_lock(&lock);
		return 0;
	}
	if (!without)
		start(helper, "hog-1");
	start(server, "hog-2");
	if (read(second[0], &c, 1) != 1)
		abort();
	return 0;
}

int main(int argc, char **argv)
{
	double began, own;

	if (argc < 2 || pipe(first) || pipe(second))
		return 2;
	without = argc > 2;
	prctl(PR_SET_NAME, "victim");
	short_nap();
	began = ms_of(CLOCK_MONOTONIC);
	own = run(argv[1]);
	printf("%.1f\n", ms_of(CLOCK_MONOTONIC) - began - own);
	fflush(stdout);
	done = true;
	nanosleep(&(struct timespec){1, 0}, NULL);
	return 0;
}
