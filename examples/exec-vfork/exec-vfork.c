// SPDX-License-Identifier: MIT
/*
 * A server runs a filter for each message: vfork(), close what the filter must not inherit, exec.
 * The parent sleeps in vfork() until the child calls exec. With a limit of 1024 open files that is
 * a moment. Then the limit is raised to a million and more, as container runtimes do, and the child
 * calls close() for every number up to it.
 */
#include "../incident.h"

#define NORMAL_MS 1000
#define FEW_FILES 1024
#define CLOSE_MS  600 /* the time for the many files, on any machine */
#define LIMIT_MS  150

static __attribute__((noinline)) int close_file(int fd)
{
	return close(fd) ? errno : 0;
}

/* In the child, which shares the parent's memory: only system calls. */
static __attribute__((noinline)) void close_inherited(int limit)
{
	for (int fd = STDERR_FILENO + 1; fd < limit; fd++)
		close_file(fd);
}

static __attribute__((noinline)) pid_t start_filter(int limit)
{
	char *const argv[] = {"/bin/true", NULL};
	pid_t pid = vfork();

	if (pid)
		return pid;
	close_inherited(limit);
	execv(argv[0], argv);
	_exit(127);
}

/* Milliseconds until the filter runs. */
static __attribute__((noinline)) double filter_message(int limit)
{
	double began = ms_now(), took;
	pid_t pid = start_filter(limit);

	took = ms_now() - began;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return took;
}

int main(void)
{
	int many_files = FEW_FILES;
	double began, took = 0;

	name_me("maild");
	while (took < CLOSE_MS / 20) {
		many_files *= 2;
		began = ms_now();
		close_inherited(many_files);
		took = ms_now() - began;
	}
	many_files *= CLOSE_MS / took;
	began = ms_now();
	while (ms_now() - began < NORMAL_MS) {
		filter_message(FEW_FILES);
		sleep_ms(10);
	}
	took = filter_message(many_files);
	incident("a filter was started after %.0f ms, limit %d ms", took, LIMIT_MS);
	return 0;
}
