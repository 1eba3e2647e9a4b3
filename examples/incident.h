/* SPDX-License-Identifier: MIT */
/*
 * Code shared by the examples. incident() does what a real service would do when an operation took
 * too long: it asks the recorder for a dump. `ringback why` explains the calling thread first. The
 * rest of this file is about time, CPU work and CPU affinity.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static inline double ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline void sleep_ms(double ms)
{
	struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (long)(ms / 1e3)) * 1e6)};

	nanosleep(&t, NULL);
}

/* Uses up that much CPU time in the caller's own frame. */
static inline __attribute__((always_inline)) void work_ms(double ms)
{
	volatile uint64_t sum = 88172645463325252u;
	struct timespec t;
	double end = -1, used;

	for (;;) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		used = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
		if (end < 0)
			end = used + ms;
		if (used >= end)
			return;
		for (int i = 0; i < 5000; i++)
			sum = sum * 6364136223846793005u + 1442695040888963407u;
	}
}

static inline void name_me(const char *name)
{
	prctl(PR_SET_NAME, name);
}

/* The last CPU that the program is allowed to use. */
static inline int last_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	return last;
}

/* Pins the calling thread, and its later children, to this CPU. */
static inline void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline void real_time(int priority)
{
	struct sched_param p = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_FIFO, &p)) {
		perror("SCHED_FIFO (root is needed)");
		exit(1);
	}
}

static inline pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, arg)) {
		perror("pthread_create");
		exit(1);
	}
	return t;
}

/* Informs the user and asks the recorder for a dump; returns when it is written. With
 * RINGBACK_ASK=outside or rule it only informs: run.sh or a rule of the recorder asks. */
static inline __attribute__((format(printf, 1, 2))) void incident(const char *fmt, ...)
{
	char reason[200], *program = getenv("RINGBACK"), *ask = getenv("RINGBACK_ASK");
	char *argv[] = {"ringback", "trigger", "--reason", reason, NULL};
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s\n", reason);
	if (ask && strcmp(ask, "program") != 0) {
		sleep_ms(1500);
		return;
	}
	errno = posix_spawnp(&pid, program ? program : "ringback", NULL, NULL, argv, environ);
	if (errno)
		perror("ringback");
	else
		waitpid(pid, NULL, 0);
}

/*
 * A service with threads that serve requests until one of them was too slow, in any thread: this
 * asks for a dump, once.
 */
struct service {
	void (*serve)(void); /* one request */
	double limit_ms, pause_ms;
	atomic_bool slow; /* a request was too slow */
	atomic_bool done; /* and the dump is written: the threads end */
};

/* A thread of the service, for start(). */
static inline void *serve_requests(void *service)
{
	struct service *s = service;
	double began, took;

	name_me("request");
	while (!s->done) {
		began = ms_now();
		s->serve();
		took = ms_now() - began;
		if (took > s->limit_ms && !atomic_exchange(&s->slow, true)) {
			incident("a request took %.0f ms, limit %.0f ms", took, s->limit_ms);
			s->done = true;
		}
		if (s->pause_ms > 0)
			sleep_ms(s->pause_ms); /* the next customer */
	}
	return service;
}
