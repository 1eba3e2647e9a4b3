// SPDX-License-Identifier: MIT
/*
 * A supervisor that checks its services by starting a program, 20 times a second as configured.
 * After a reload it takes the interval in seconds instead of milliseconds: 0. From then on it
 * starts one check after the other as fast as it can. top shows no busy process, since each lives
 * for a millisecond.
 */
#include "../incident.h"

#include <spawn.h>

#define RELOAD_MS 1000
#define STORM_MS  1000

static void run_check(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid;

	if (!posix_spawnp(&pid, argv[0], NULL, NULL, argv, NULL))
		waitpid(pid, NULL, 0);
}

static double interval_ms(double since_start_ms)
{
	return since_start_ms < RELOAD_MS ? 50 : 0.05 /* was meant to be 50 */;
}

int main(void)
{
	double began = ms_now(), since;
	int nr_checks = 0;

	name_me("supervisor");
	for (;;) {
		since = ms_now() - began;
		if (since > RELOAD_MS + STORM_MS)
			break;
		run_check();
		nr_checks++;
		sleep_ms(interval_ms(since));
	}
	incident("load is climbing, nothing in top");
	printf("%d checks\n", nr_checks);
	return 0;
}
