// SPDX-License-Identifier: MIT
/*
 * A sampler reads a sensor: it asks ten times whether the value is there, with sleeps of 1 ms in
 * between, so a reading takes 10 ms. Then its launcher begins to save power: it sets its own timer
 * slack to 60 ms and restarts the sampler. The slack is inherited: the kernel may end each sleep of
 * 1 ms up to 60 ms later, and it does, since it has no reason to handle the timer earlier.
 */
#include "../incident.h"

#include <signal.h>

#define NORMAL_MS 900
#define POLLS	  10
#define LIMIT_MS  150
#define SLACK_NS  60000000ul

static volatile unsigned int nr_polls;

static __attribute__((noinline)) bool value_is_there(void)
{
	return ++nr_polls % POLLS == 0;
}

static __attribute__((noinline)) void wait_a_little(void)
{
	sleep_ms(1);
}

/* Milliseconds until the sensor had its value. */
static __attribute__((noinline)) double read_sensor(void)
{
	double began = ms_now();

	while (!value_is_there())
		wait_a_little();
	return ms_now() - began;
}

/* Samples for that long; asks for a dump and ends when a reading takes too long. */
static void sample(double ms)
{
	double began = ms_now(), took;

	name_me("sampler");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (ms_now() - began < ms) {
		took = read_sensor();
		if (took > LIMIT_MS) {
			incident("a reading took %.0f ms, limit %d ms", took, LIMIT_MS);
			break;
		}
		sleep_ms(1);
	}
	_exit(0);
}

static void run_sampler(double ms)
{
	pid_t pid = fork();

	if (!pid)
		sample(ms);
	waitpid(pid, NULL, 0);
}

static __attribute__((noinline)) void save_power(void)
{
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

int main(void)
{
	name_me("launcher");
	run_sampler(NORMAL_MS);
	save_power();
	run_sampler(10000);
	return 0;
}
