// SPDX-License-Identifier: MIT
/*
 * A price service whose main thread is pinned to one CPU, "for the cache". It needs 60 % of that
 * CPU. Then a cron job starts three compressions, and an old taskset pins them to the same CPU. The
 * service gets a quarter of the CPU, although the other CPUs are idle. It triggers a dump when its
 * answers have been late for a while.
 */
#include "../incident.h"

#include <signal.h>
#include <sys/resource.h>

#define NORMAL_MS 800
#define LIMIT_MS  25 /* of an answer */

static __attribute__((noinline)) void compress_block(void)
{
	work_ms(5);
}

/* The cron job: busy until killed. */
static pid_t start_compression(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	name_me("compress");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, -5);
	for (;;)
		compress_block();
}

static __attribute__((noinline)) void price_basket(void)
{
	work_ms(6);
}

int main(void)
{
	double began, due, now, late;
	pid_t compressions[3] = {0};
	int nr_late = 0;

	name_me("prices");
	stay_on(last_cpu());
	began = due = ms_now();
	while (nr_late < 20 && ms_now() - began < 15000) {
		if (!compressions[0] && ms_now() - began > NORMAL_MS)
			for (int i = 0; i < 3; i++)
				compressions[i] = start_compression();
		price_basket();
		now = ms_now();
		late = now - due - 10;
		if (late > LIMIT_MS && ++nr_late == 20)
			incident("baskets are priced %.0f ms late, limit %d ms", late, LIMIT_MS);
		/* One basket every 10 ms; overdue ones are skipped. */
		due = late > LIMIT_MS ? now : due + 10;
		if (due > ms_now())
			sleep_ms(due - ms_now());
	}
	for (int i = 0; i < 3; i++) {
		if (compressions[i] <= 0)
			continue;
		kill(compressions[i], SIGKILL);
		waitpid(compressions[i], NULL, 0);
	}
	return 0;
}
