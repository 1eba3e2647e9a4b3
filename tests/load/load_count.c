// SPDX-License-Identifier: MIT
/*
 * A load that counts: calls getpgid(1), getpgid(2), ... as fast as it can, so that the argument
 * identifies each system call, and moves between CPUs 0 and 1 every 5 ms if there are two. Prints
 * its tid, runs for SECONDS (argument 1) and until it has counted so many numbers on each CPU
 * (argument 2), and prints the last number. After each 200 it sleeps for a number of us (argument 3).
 */
#include "tests/helpers/now.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 1e9);
	long least = argc > 2 ? atol(argv[2]) : 0, there[2] = {0};
	useconds_t pause_us = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
	uint64_t next_move = 0, now = now_ns();
	int cpu = 0;
	long n = 0;

	printf("%ld\n", syscall(SYS_gettid));
	fflush(stdout);
	while (now < end || there[0] < least || there[1] < least) {
		for (int i = 0; i < 200; i++)
			syscall(SYS_getpgid, ++n);
		there[cpu] += 200;
		if (pause_us)
			usleep(pause_us);
		now = now_ns();
		if (now >= next_move) {
			cpu = !cpu;
			move_to(cpu);
			next_move = now + 5000000;
		}
	}
	printf("%ld\n", n);
	return 0;
}
