// SPDX-License-Identifier: MIT
/*
 * A relay of threads: each calls getpgid(n) 30 times, with n continuing from the thread before,
 * starts the next one and ends. So the running thread has inherited its events over many
 * generations. Runs for SECONDS (argument 1), prints the last number.
 */
#include "tests/helpers/now.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long last;
static uint64_t end;

static void *run(void *arg)
{
	pthread_t next;

	pthread_detach(pthread_self());
	for (int i = 0; i < 30; i++)
		syscall(SYS_getpgid, ++last);
	if (now_ns() < end) {
		if (pthread_create(&next, NULL, run, NULL))
			exit(1);
		return NULL;
	}
	printf("%ld\n", last);
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t first;

	end = now_ns() + (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 1e9);
	if (pthread_create(&first, NULL, run, NULL))
		return 1;
	for (;;)
		pause();
}
