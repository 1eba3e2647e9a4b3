// SPDX-License-Identifier: MIT
/*
 * Calls storm_hit() NR times, PER_SECOND per second, with a getppid(2) in each. Prints the number
 * of calls, and the times of the first and the last one (CLOCK_MONOTONIC, ns).
 *
 *	load_storm NR PER_SECOND
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void storm_hit(void);

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((noinline)) void storm_hit(void)
{
	syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? atol(argv[1]) : 0, rate = argc > 2 ? atol(argv[2]) : 0;
	int64_t start = now_ns();

	if (nr <= 0 || rate <= 0)
		return 2;
	for (long i = 0; i < nr; i++) {
		int64_t left = start + (int64_t)(1e9 * (double)i / (double)rate) - now_ns();
		struct timespec t = {.tv_nsec = left > 0 ? left : 0};

		if (left > 0)
			nanosleep(&t, NULL);
		storm_hit();
	}
	printf("%ld %" PRId64 " %" PRId64 "\n", nr, start, now_ns());
	return 0;
}
