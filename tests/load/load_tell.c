// SPDX-License-Identifier: MIT
/*
 * A program that talks to the recorder through trigger/client/ringback.h:
 *
 *	load_tell trigger REASON	prints what ringback_trigger() returned
 *	load_tell fork REASON		the same from a child that inherits its parent's connection
 *	load_tell storm NR PER_SECOND	triggers at that rate; prints how many were sent
 *	load_tell beat MS NR [stall MS]...
 *					NR heartbeats, MS apart, then none for MS; prints the number
 *					of heartbeats received, and on stderr "late N": how many the
 *					machine delayed by 200 ms or more
 *	load_tell wait SECONDS		until a trigger is taken; prints the number of tries
 */
#include "trigger/client/ringback.h"

#include <sys/wait.h>

static void sleep_ns(int64_t ns)
{
	struct timespec t;

	t.tv_sec = (time_t)(ns / 1000000000);
	t.tv_nsec = (long)(ns % 1000000000);
	nanosleep(&t, NULL);
}

static int from_child(const char *reason)
{
	int status = 1;
	pid_t pid;

	ringback_trigger("of the parent");
	pid = fork();
	if (!pid)
		_exit(ringback_trigger(reason) ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	printf("%d\n", (int)pid);
	return status ? 1 : 0;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void storm(long nr, long per_second)
{
	int64_t start = now_ns();
	long sent = 0, i;

	for (i = 0; i < nr; i++) {
		int64_t due = start + i * (1000000000 / per_second), now = now_ns();

		if (due > now)
			sleep_ns(due - now);
		sent += ringback_trigger("storm") == 0;
	}
	printf("%ld\n", sent);
}

#define LATE_NS 200000000

static void beat(int argc, char **argv)
{
	long heard = 0, late = 0, i, ms = atol(argv[2]);

	for (i = 0; i < atol(argv[3]); i++) {
		int64_t before = now_ns();

		heard += ringback_heartbeat() == 0;
		sleep_ns(ms * 1000000);
		late += now_ns() - before > ms * 1000000 + LATE_NS;
	}
	for (i = 5; i < argc; i += 2)
		sleep_ns(atol(argv[i]) * 1000000);
	printf("%ld\n", heard);
	fprintf(stderr, "late %ld\n", late);
}

static int wait_for_it(long seconds)
{
	long tries;

	for (tries = 1; tries <= seconds * 100; tries++) {
		if (!ringback_trigger("at last")) {
			printf("%ld\n", tries);
			return 0;
		}
		sleep_ns(10000000);
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "trigger"))
		printf("%d\n", ringback_trigger(argv[2]));
	else if (!strcmp(argv[1], "fork"))
		return from_child(argv[2]);
	else if (!strcmp(argv[1], "wait"))
		return wait_for_it(atol(argv[2]));
	else if (!strcmp(argv[1], "storm") && argc > 3)
		storm(atol(argv[2]), atol(argv[3]));
	else if (!strcmp(argv[1], "beat") && argc > 3)
		beat(argc, argv);
	else
		return 2;
	return 0;
}
