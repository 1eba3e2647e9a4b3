// SPDX-License-Identifier: MIT
/*
 * Switches that the kernel counts: two threads pass a byte to and fro for SECONDS (argument 1). Prints,
 * for the first of them, "TID FROM_NS TO_NS SWITCHES": how often it has left a CPU between two times of
 * CLOCK_MONOTONIC.
 */
#include "tests/helpers/now.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int to[2], fro[2];

static void *other(void *arg)
{
	char c;

	while (read(to[0], &c, 1) == 1 && write(fro[1], &c, 1) == 1)
		;
	return NULL;
}

static uint64_t nr_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw + (uint64_t)u.ru_nivcsw;
}

/* A time and the number at it: no switch lies between reading both. */
static uint64_t at(uint64_t *nr)
{
	uint64_t ns;

	do {
		*nr = nr_switches();
		ns = now_ns();
	} while (nr_switches() != *nr);
	return ns;
}

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) * 1000000000u;
	uint64_t from_ns, to_ns, before, after;
	pthread_t thread;
	char c = 0;

	if (pipe(to) || pipe(fro) || pthread_create(&thread, NULL, other, NULL))
		return 1;
	from_ns = at(&before);
	while (now_ns() < end) {
		if (write(to[1], &c, 1) != 1 || read(fro[0], &c, 1) != 1)
			return 1;
		usleep(20);
	}
	to_ns = at(&after);
	printf("%ld %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", syscall(SYS_gettid), from_ns, to_ns,
	       after - before);
	return 0;
}
