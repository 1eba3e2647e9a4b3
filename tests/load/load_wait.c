// SPDX-License-Identifier: MIT
/*
 * Runs a command that crashes, COUNT times: load_wait COUNT COMMAND [ARG]... The command prints
 * "crash NS" (CLOCK_MONOTONIC) right before its crash. Prints one line per run, "11 742": the
 * signal and the microseconds until the command had ended; microseconds -1: it printed no "crash";
 * signal 0: it ended otherwise. A run longer than 5 s is killed. RLIMIT_CORE is 0: no core file,
 * but a pipe handler still runs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static pid_t victim;

static void too_long(int sig)
{
	kill(victim, SIGKILL);
}

static long long when(int fd)
{
	char text[4096];
	size_t n = 0;
	ssize_t got;
	char *at = NULL;

	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	for (char *next = text; (next = strstr(next, "crash ")); next++)
		at = next;
	return at ? atoll(at + 6) : 0;
}

int main(int argc, char **argv)
{
	struct rlimit none = {0, 0};
	int status, fds[2], count = argc > 1 ? atoi(argv[1]) : 0;
	long long began, ended;

	signal(SIGALRM, too_long);
	for (int i = 0; i < count && argc > 2; i++) {
		if (pipe(fds))
			return 1;
		victim = fork();
		if (!victim) {
			setrlimit(RLIMIT_CORE, &none);
			dup2(fds[1], 1);
			close(fds[0]);
			close(fds[1]);
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		close(fds[1]);
		alarm(5);
		while (waitpid(victim, &status, 0) < 0)
			;
		ended = now_ns();
		alarm(0);
		began = when(fds[0]);
		close(fds[0]);
		printf("%d %lld\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		       began ? (ended - began) / 1000 : -1);
		fflush(stdout);
	}
	return 0;
}
