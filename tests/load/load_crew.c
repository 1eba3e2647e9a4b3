// SPDX-License-Identifier: MIT
/*
 * A process of eight threads, each in a function of its own, that crashes: load_crew [HOW]. The
 * crashing thread is not the first; the others wait, like threads of a server.
 *
 *	segv	at address 0x10 (also without HOW)
 *	abort	by abort()
 *	wait	does not crash: says "ready" when all threads are in place
 *	bulk N	as segv, with N MiB of memory that is not zero
 */
#include "tests/helpers/kept.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CREW 7

static const char *how = "segv";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int pipe_fds[2];
static volatile int sink;
static volatile pid_t tids[CREW];
static int *volatile nowhere = (int *)0x10;

static KEPT void wait_cond(int n)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&cond, &lock);
}

static KEPT void wait_sem(int n)
{
	while (sem_wait(&sem))
		sink += n;
	sink++;
}

static KEPT void wait_read(int n)
{
	char room[3000];

	sink += (int)read(pipe_fds[0], room, sizeof(room)) + room[n];
}

static KEPT void wait_poll(int n)
{
	struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};

	sink += poll(&p, 1, -1);
}

static KEPT void wait_sleep(int n)
{
	struct timespec t = {1000, 0};

	sink += nanosleep(&t, NULL);
}

static KEPT void crash(int n)
{
	if (!strcmp(how, "wait"))
		wait_sem(n);
	else if (!strcmp(how, "abort"))
		abort();
	sink = *nowhere + n;
}

/* True when the thread waits: state S in /proc/self/task/TID/stat. */
static int sleeps(pid_t tid)
{
	char path[64], text[256] = "";
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = tid ? fopen(path, "r") : NULL;
	if (!f)
		return 0;
	p = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return p && p[2] == 'S';
}

static KEPT void when_all_wait(int n)
{
	for (int i = 0; i < CREW; i++)
		while (i != 3 && !sleeps(tids[i]))
			sched_yield();
	if (!strcmp(how, "wait")) {
		puts("ready");
		fflush(stdout);
	}
	crash(n);
	sink++;
}

static KEPT int work(int n, int depth)
{
	static void (*const places[])(int n) = {wait_cond, wait_sem,  wait_read, when_all_wait,
						wait_poll, wait_cond, wait_sleep};
	volatile char room[64] = {0};

	if (depth)
		return work(n, depth - 1) + room[depth];
	places[n](n);
	return ++sink;
}

static void *start(void *arg)
{
	int n = (int)(long)arg;

	tids[n] = (pid_t)syscall(SYS_gettid);
	sink += work(n, n);
	return NULL;
}

static KEPT void wait_all(pthread_t *threads)
{
	for (int i = 0; i < CREW; i++)
		pthread_join(threads[i], NULL);
	sink++;
}

int main(int argc, char **argv)
{
	size_t bulk = argc > 2 ? (size_t)atol(argv[2]) << 20 : 0;
	pthread_t threads[CREW];
	char *more = malloc(bulk + 1);

	if (argc > 1)
		how = argv[1];
	if (!more || sem_init(&sem, 0, 0) || pipe(pipe_fds))
		return 1;
	memset(more, 'x', bulk + 1);
	for (long i = 0; i < CREW; i++)
		if (pthread_create(&threads[i], NULL, start, (void *)i))
			return 1;
	wait_all(threads);
	free(more);
	return 0;
}
