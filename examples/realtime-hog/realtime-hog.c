// SPDX-License-Identifier: MIT
/*
 * A dashboard and a daemon that reads a sensor run on the same CPU; the daemon has a real-time
 * priority, since its samples must be on time. Each takes half a millisecond, until the sensor is
 * unplugged: read() fails at once, and the daemon tries again at once. As long as it does, no
 * ordinary thread gets this CPU.
 */
#include "../incident.h"

#include <signal.h>

#define NORMAL_MS    1000
#define UNPLUGGED_MS 600
#define LIMIT_MS     100

static __attribute__((noinline)) void take_sample(void)
{
	work_ms(0.5);
}

/* The mistake: EAGAIN is not waited for. */
static __attribute__((noinline)) void retry_read(int sensor)
{
	double began = ms_now();
	char sample;

	while (read(sensor, &sample, 1) < 0 && errno == EAGAIN)
		if (ms_now() - began >= UNPLUGGED_MS)
			break; /* plugged in again */
}

static void run_sensord(int sensor)
{
	double began = ms_now();

	name_me("sensord");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (ms_now() - began < NORMAL_MS) {
		take_sample();
		sleep_ms(20);
	}
	retry_read(sensor);
	for (;;) {
		take_sample();
		sleep_ms(20);
	}
}

static __attribute__((noinline)) void draw_dashboard(void)
{
	work_ms(0.3);
}

int main(void)
{
	struct sched_param priority = {.sched_priority = 50};
	double due, took = 0;
	int sensor[2];
	pid_t pid;

	if (pipe2(sensor, O_NONBLOCK)) {
		perror("pipe2");
		return 1;
	}
	stay_on(last_cpu());
	pid = fork();
	if (!pid)
		run_sensord(sensor[0]);
	name_me("dashboard");
	if (sched_setscheduler(pid, SCHED_FIFO, &priority)) {
		perror("SCHED_FIFO (root is needed)");
		kill(pid, SIGKILL);
		return 77;
	}
	for (double began = ms_now(); took < LIMIT_MS && ms_now() - began < 3 * NORMAL_MS;) {
		due = ms_now() + 5;
		sleep_ms(5);
		draw_dashboard();
		took = ms_now() - due;
	}
	if (took < LIMIT_MS) {
		kill(pid, SIGKILL);
		fprintf(stderr, "real-time threads are throttled here\n");
		return 77;
	}
	incident("a page was ready %.0f ms after it was due, limit %d ms", took, LIMIT_MS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
