// SPDX-License-Identifier: MIT
/*
 * Many sleeping processes: starts COUNT (argument 1), the i-th named "many-<i>", and prints
 * "ready". For each line on stdin every process wakes up once, runs and sleeps again; then it
 * prints "done". All end when stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rounds alternate between two pipes: a process that ran waits at the other one, so none reads
 * twice in a round. */
struct rounds {
	int go[2][2], ran[2];
};

static void child(const struct rounds *r, int nr)
{
	char name[16], c;

	snprintf(name, sizeof(name), "many-%d", nr);
	prctl(PR_SET_NAME, name);
	close(r->go[0][1]);
	close(r->go[1][1]);
	c = '\0';
	if (write(r->ran[1], &c, 1) != 1)
		_exit(1);
	for (int round = 0; read(r->go[round % 2][0], &c, 1) == 1; round++)
		if (write(r->ran[1], &c, 1) != 1)
			break;
	_exit(0);
}

static int wait_for_all(const struct rounds *r, int count)
{
	char c;

	for (int i = 0; i < count; i++)
		if (read(r->ran[0], &c, 1) != 1)
			return -1;
	return 0;
}

static int wake_all(const struct rounds *r, int round, int count)
{
	char c = 'x';

	for (int i = 0; i < count; i++)
		if (write(r->go[round % 2][1], &c, 1) != 1)
			return -1;
	return wait_for_all(r, count);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100, started = 0, rc = 0;
	struct rounds r;
	char line[64];

	if (pipe(r.go[0]) || pipe(r.go[1]) || pipe(r.ran))
		return 1;
	for (; started < count; started++) {
		pid_t pid = fork();

		if (!pid)
			child(&r, started);
		if (pid < 0)
			break;
	}
	if (started < count || wait_for_all(&r, started)) {
		fprintf(stderr, "load_many: only %d processes could be started\n", started);
		rc = 1;
	} else {
		puts("ready");
		fflush(stdout);
		for (int round = 0; fgets(line, sizeof(line), stdin); round++) {
			if (wake_all(&r, round, count))
				return 1;
			puts("done");
			fflush(stdout);
		}
	}
	close(r.go[0][1]);
	close(r.go[1][1]);
	while (wait(NULL) > 0)
		;
	return rc;
}
