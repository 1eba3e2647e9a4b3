// SPDX-License-Identifier: MIT
/*
 * A service in a container limited to 30 % of a CPU: 30 ms in each 100 ms. Ordinary requests need
 * little. A burst of larger ones uses up the 30 ms at once, and the kernel throttles all its
 * threads for the remaining 70 ms, even on an idle machine. Averages look fine; single requests
 * take 20 times as long.
 */
#include "../incident.h"

#include "../cgroup.h"

#define NORMAL_MS 900
#define BURST_MS  1000
#define LIMIT_MS  50

static __attribute__((noinline)) void answer(double ms)
{
	work_ms(ms);
}

static void run_service(void)
{
	double start_ms = ms_now(), began, took, worst = 0;

	name_me("api");
	while (ms_now() - start_ms < NORMAL_MS + BURST_MS || worst < LIMIT_MS) {
		began = ms_now();
		answer(began - start_ms < NORMAL_MS ? 0.5 : 12);
		took = ms_now() - began;
		worst = took > worst ? took : worst;
		sleep_ms(5);
	}
	incident("a request took %.0f ms, limit %d ms", worst, LIMIT_MS);
	exit(0);
}

int main(void)
{
	/* The default period is 100 ms. */
	static const struct group_limit limit = {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "30000",
						 "cpu.max", "30000 100000"};
	struct group g;
	int status = 0;
	pid_t pid;

	if (group_make(&g, "api", &limit)) {
		perror("no control group with a CPU quota (root is needed)");
		return 77;
	}
	pid = fork();
	if (!pid) {
		if (group_enter(&g))
			_exit(77);
		run_service();
	}
	waitpid(pid, &status, 0);
	group_remove(&g);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
