// SPDX-License-Identifier: MIT
/*
 * Short-lived processes: starts COUNT (argument 1), two at a time, each by fork and exec of this
 * program. A process names itself "p<its pid>", then calls getpgid(its pid) for 5 ms. So the
 * argument of a getpgid call gives the caller's name. Prints the number of processes.
 */
#include "tests/helpers/now.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int live(void)
{
	uint64_t end = now_ns() + 5000000;
	char name[16];

	snprintf(name, sizeof(name), "p%d", getpid());
	prctl(PR_SET_NAME, name);
	while (now_ns() < end) {
		for (volatile int i = 0; i < 20000; i++)
			;
		syscall(SYS_getpgid, getpid());
	}
	return 0;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1, running = 0;

	if (argc > 1 && !strcmp(argv[1], "live"))
		return live();
	for (int i = 0; i < count; i++) {
		pid_t pid;

		if (running == 2 && wait(NULL) > 0)
			running--;
		pid = fork();
		if (pid < 0)
			return 1;
		if (!pid) {
			execl("/proc/self/exe", argv[0], "live", NULL);
			_exit(127);
		}
		running++;
	}
	while (wait(NULL) > 0)
		;
	printf("%d\n", count);
	return 0;
}
