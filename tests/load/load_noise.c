// SPDX-License-Identifier: MIT
/*
 * An incompressible load: system calls with random values in all six arguments, as fast as
 * possible, one thread per CPU. Runs for SECONDS (argument 1). Prints "ready" when all threads run.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t noise(uint64_t *seed)
{
	uint64_t v = *seed += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

/* getppid(2) ignores its arguments. */
static void *call(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg << 32;

	for (;;)
		syscall(SYS_getppid, noise(&seed), noise(&seed), noise(&seed), noise(&seed),
			noise(&seed), noise(&seed));
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread;

	for (long i = 0; i < cpus; i++)
		if (pthread_create(&thread, NULL, call, (void *)(uintptr_t)(i + 1)))
			return 1;
	puts("ready");
	fflush(stdout);
	nanosleep(&t, NULL);
	_exit(0);
}
