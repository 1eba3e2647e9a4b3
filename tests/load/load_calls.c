// SPDX-License-Identifier: MIT
/*
 * A load for rules on latency: calls a function, calls_one(), in known ways. Prints "ready", waits
 * for a line on stdin, and prints one line about the calls it made.
 *
 *	load_calls many N SLOW MS	N calls that do nothing, but SLOW of them, evenly spread,
 *					sleep MS; prints how many took longer than 100 ms, which
 *					any call may on a busy machine
 *	load_calls each MS..		one call each, which sleeps so long
 *	load_calls now MS..		likewise, without waiting for a line
 *	load_calls recurse DEPTH MS	one call that calls itself; the innermost sleeps MS
 *	load_calls twice MS		a call with two calls in it, each sleeps MS
 *	load_calls leave N MS		N calls left by longjmp, from higher and higher in the
 *					stack; then one of MS
 *	load_calls exit N		N threads that end inside; then waits for a line
 *	load_calls exec MS		calls exec inside, and the new program makes a call of MS
 *	load_calls hang			a call that waits for a line
 *	load_calls time N		N calls; prints ns per call
 *	load_calls sync MS N FILE	N fsyncs, and nanosleeps of MS
 *	load_calls spin MS		burns CPU so long
 *	load_calls starve NAME MS	no call: wakes a thread NAME, which has to wait so long for
 *					its CPU; without waiting for a line
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int calls_one(long ms, int depth);

static volatile int sink;
static jmp_buf back;

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

static void wait_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		pause();
}

/* Longer calls are counted by `many`. */
#define SLOW_NS 100e6

/* ms < 0: the other ways. */
enum { TWICE = -1, LEAVE = -2, END = -3, HANG = -4 };

static long twice_ms;

__attribute__((noinline)) int calls_one(long ms, int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (depth > 0)
		sink += calls_one(ms, depth - 1);
	else if (ms > 0)
		sleep_ms(ms);
	else if (ms == TWICE)
		sink += calls_one(twice_ms, 0) + calls_one(twice_ms, 0);
	else if (ms == LEAVE)
		longjmp(back, 1);
	else if (ms == END)
		pthread_exit(NULL);
	else if (ms == HANG)
		wait_line();
	return room[0] + 1;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void many(long n, long slow, long ms)
{
	long nr_slow = 0;
	double before = now_ns();

	for (long i = 0; i < n; i++) {
		double after;

		calls_one(slow && i % (n / slow) == 0 ? ms : 0, 0);
		after = now_ns();
		nr_slow += after - before > SLOW_NS;
		before = after;
	}
	printf("%ld calls, %ld slow\n", n, nr_slow);
	wait_line();
}

/* Each call comes from deeper in the stack than the one before. So no stack pointer shows that the
 * earlier ones were left. */
__attribute__((noinline)) static void leave(long n)
{
	volatile char room[256];

	room[0] = (char)n;
	if (!setjmp(back))
		calls_one(LEAVE, 0);
	if (n > 1)
		leave(n - 1);
	sink += room[0];
}

__attribute__((noinline)) static void deeper(long ms)
{
	volatile char room[65536];

	room[0] = 1;
	calls_one(ms, 0);
	sink += room[0];
}

static void *ends(void *arg)
{
	calls_one(END, 0);
	return arg;
}

static void end_threads(long n)
{
	for (long i = 0; i < n; i++) {
		pthread_t t;

		if (!pthread_create(&t, NULL, ends, NULL))
			pthread_join(t, NULL);
	}
	printf("%ld threads ended\n", n);
	wait_line();
}

static void time_calls(long n)
{
	double t = now_ns();

	for (long i = 0; i < n; i++)
		calls_one(0, 0);
	printf("%.1f\n", (now_ns() - t) / (double)n);
}

static int sync_calls(long ms, long n, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (long i = 0; fd >= 0 && i < n; i++) {
		if (write(fd, "x", 1) != 1 || fsync(fd))
			return 1;
		sleep_ms(ms);
	}
	printf("%ld synced\n", n);
	return fd < 0;
}

static void spin(long ms)
{
	for (double end = now_ns() + (double)ms * 1e6; now_ns() < end;)
		sink++;
}

struct starved {
	const char *name;
	sem_t has_it, may_run;
};

static void *is_starved(void *arg)
{
	struct starved *s = arg;

	prctl(PR_SET_NAME, s->name);
	sem_post(&s->has_it);
	sem_wait(&s->may_run);
	prctl(PR_SET_NAME, "has run");
	return NULL;
}

/* Both threads on one CPU; the waker has real-time priority and keeps running. */
static int starve(const char *name, long ms)
{
	struct sched_param p = {.sched_priority = 10};
	struct starved s = {.name = name};
	pthread_t t;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sem_init(&s.has_it, 0, 0);
	sem_init(&s.may_run, 0, 0);
	if (sched_setaffinity(0, sizeof(set), &set) || pthread_create(&t, NULL, is_starved, &s))
		return 1;
	sem_wait(&s.has_it);
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p))
		return 1;
	sem_post(&s.may_run);
	spin(ms);
	pthread_join(t, NULL);
	return 0;
}

static long arg(int argc, char **argv, int i)
{
	return i < argc ? atol(argv[i]) : 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	long a = arg(argc, argv, 2), b = arg(argc, argv, 3), c = arg(argc, argv, 4);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(how, "now") && strcmp(how, "starve")) {
		printf("ready %d\n", getpid());
		wait_line();
	}
	if (!strcmp(how, "many")) {
		many(a, b, c);
	} else if (!strcmp(how, "each") || !strcmp(how, "now")) {
		for (int i = 2; i < argc; i++)
			calls_one(atol(argv[i]), 0);
	} else if (!strcmp(how, "recurse")) {
		calls_one(b, (int)a);
	} else if (!strcmp(how, "twice")) {
		twice_ms = a;
		calls_one(TWICE, 0);
	} else if (!strcmp(how, "leave")) {
		leave(a);
		deeper(b);
	} else if (!strcmp(how, "exit")) {
		end_threads(a);
	} else if (!strcmp(how, "exec")) {
		/* longjmp leaves the call without a return, then exec replaces the program: the
		 * same as exec inside the call. */
		if (!setjmp(back))
			calls_one(LEAVE, 0);
		execl("/proc/self/exe", argv[0], "now", argv[2], (char *)NULL);
		return 1;
	} else if (!strcmp(how, "hang")) {
		calls_one(HANG, 0);
	} else if (!strcmp(how, "time")) {
		time_calls(a);
	} else if (!strcmp(how, "sync")) {
		return sync_calls(a, b, argc > 4 ? argv[4] : "/dev/null");
	} else if (!strcmp(how, "spin")) {
		spin(a);
	} else if (!strcmp(how, "starve") && argc == 4) {
		return starve(argv[2], b);
	} else {
		return 2;
	}
	puts("done");
	return 0;
}
