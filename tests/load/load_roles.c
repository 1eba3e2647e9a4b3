// SPDX-License-Identifier: MIT
/*
 * Threads with known behaviour, for SECONDS (argument 1): "burner" spends all its time in
 * burn_cycles(), on a CPU shared with "rival", which is nicer and so waits for it; "holder" keeps a
 * lock for 20 ms at a time, and "waiter" sleeps in wait_for_lock() until holder releases it. With
 * "crash" as argument 2, a child named "victim" dies of SIGSEGV once a second. Prints "ready" when
 * all threads run.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;
static int shared_cpu;

static void pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void __attribute__((noinline)) burn_cycles(void)
{
	for (;;)
		sink++;
}

/* The nice value puts the thread above other load where permitted. */
static void role(const char *name, int nice)
{
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
}

static void share_cpu(const char *name, int nice)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(shared_cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	role(name, nice);
}

static void *burner(void *arg)
{
	share_cpu("burner", -10);
	burn_cycles();
	return NULL;
}

static void *rival(void *arg)
{
	share_cpu("rival", -7);
	burn_cycles();
	return NULL;
}

static void *holder(void *arg)
{
	role("holder", -15);
	for (;;) {
		pthread_mutex_lock(&lock);
		pause_ms(20);
		pthread_mutex_unlock(&lock);
		pause_ms(2);
	}
	return NULL;
}

static void __attribute__((noinline)) wait_for_lock(void)
{
	pthread_mutex_lock(&lock);
	sink++;
	pthread_mutex_unlock(&lock);
}

static void *waiter(void *arg)
{
	role("waiter", -15);
	for (;;) {
		wait_for_lock();
		pause_ms(4); /* by then holder has the lock again */
	}
	return NULL;
}

static void crash_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "victim");
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static void *(*const roles[])(void *) = {burner, rival, holder, waiter};
	int seconds = argc > 1 ? atoi(argv[1]) : 1;
	cpu_set_t set;
	pthread_t t;

	sched_getaffinity(0, sizeof(set), &set);
	while (shared_cpu < CPU_SETSIZE - 1 && !CPU_ISSET(shared_cpu, &set))
		shared_cpu++;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (pthread_create(&t, NULL, roles[i], NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < seconds; i++) {
		pause_ms(1000);
		if (argc > 2 && !strcmp(argv[2], "crash"))
			crash_child();
	}
	_exit(0);
}
