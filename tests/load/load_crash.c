// SPDX-License-Identifier: MIT
/*
 * Ends by a signal, or survives one: load_crash HOW [NAME [COUNT]]. NAME is the name of its
 * threads. Each way to crash has a known call path: main outer middle crash.
 *
 *	segv fpe ill trap abort		a fault of its own
 *	queue				SIGSEGV by sigqueue() to itself
 *	deep				recursion until the stack is at its end
 *	threads				two threads at once, at a barrier
 *	storm				COUNT children that crash, one after the other
 *	wait				says "ready" and waits for a signal
 *	handled				COUNT faults, each with a handler that jumps out of it
 *	ignored				COUNT ignored signals
 *	reset				a fault with a handler that resets itself and returns, so
 *					that the fault repeats
 *	kill term			SIGKILL, SIGTERM
 */
#include "tests/helpers/crash_path.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *how, *name;
static sigjmp_buf back;
static volatile int zero;
static pthread_barrier_t barrier;

/* Call it after the thread has its name: rules match by name. */
static void say_when(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("crash %lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	fflush(stdout);
}

static __attribute__((noinline)) void crash(void)
{
	if (!strcmp(how, "fpe"))
		sink = 100 / zero;
	else if (!strcmp(how, "ill"))
		__builtin_trap();
	else if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "queue"))
		sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = 7});
	else if (!strcmp(how, "kill"))
		raise(SIGKILL);
	else if (!strcmp(how, "term"))
		raise(SIGTERM);
	else if (!strcmp(how, "deep"))
		sink = deep(0);
	else
		*nowhere = 1;
	sink++;
}

static void jump(int sig)
{
	siglongjmp(back, 1);
}

static void once(int sig)
{
	signal(sig, SIG_DFL);
}

static void handled(int count)
{
	signal(SIGSEGV, jump);
	for (volatile int i = 0; i < count; i++)
		if (!sigsetjmp(back, 1))
			outer();
}

static void ignored(int count)
{
	signal(SIGABRT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (int i = 0; i < count; i++) {
		kill(getpid(), SIGABRT);
		kill(getpid(), SIGQUIT);
	}
}

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&barrier);
	outer();
	return NULL;
}

static void threads(void)
{
	pthread_t t[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void storm(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			outer();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 1;

	how = argc > 1 ? argv[1] : "segv";
	name = argc > 2 ? argv[2] : "load_crash";
	prctl(PR_SET_NAME, name);
	/* The sanitizers install handlers. */
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	if (!strcmp(how, "handled")) {
		handled(count);
	} else if (!strcmp(how, "ignored")) {
		ignored(count);
	} else if (!strcmp(how, "storm")) {
		storm(count);
	} else if (!strcmp(how, "wait")) {
		puts("ready");
		fflush(stdout);
		pause();
	} else {
		if (!strcmp(how, "reset"))
			signal(SIGSEGV, once);
		say_when();
		if (!strcmp(how, "threads"))
			threads();
		else
			outer();
	}
	return 0;
}
