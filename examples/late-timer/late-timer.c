// SPDX-License-Identifier: MIT
/*
 * A node sends a heartbeat every 20 ms so that the cluster knows it is alive. The timer is
 * punctual, but one beat is 200 ms late: a driver thread with real-time priority polls its device
 * on the same CPU, and this time the device does not answer. The heartbeat thread, of normal
 * priority, was woken on time but did not get the CPU. The cluster declares the node dead.
 */
#include "../incident.h"

#include <stdatomic.h>

#define PERIOD_MS 20
#define LIMIT_MS  120

static atomic_bool done;
static atomic_bool device_hangs;

static __attribute__((noinline)) void poll_device(double ms)
{
	work_ms(ms);
}

static void *driver(void *arg)
{
	name_me("fieldbus");
	real_time(50);
	while (!done) {
		poll_device(device_hangs ? 200 : 0.1);
		device_hangs = false;
		sleep_ms(5);
	}
	return NULL;
}

static void sleep_until(double ms)
{
	struct timespec t = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (long)(ms / 1e3)) * 1e6)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static __attribute__((noinline)) void send_heartbeat(void)
{
	work_ms(0.05);
}

int main(void)
{
	double began, due, late;
	pthread_t thread;

	name_me("heartbeat");
	stay_on(last_cpu());
	thread = start(driver, NULL);
	began = due = ms_now();
	for (;;) {
		due += PERIOD_MS;
		sleep_until(due);
		late = ms_now() - due;
		send_heartbeat();
		if (late > LIMIT_MS || due - began > 10000)
			break;
		if (due - began > 1000)
			device_hangs = true;
	}
	incident("the heartbeat came %.0f ms late", late);
	done = true;
	pthread_join(thread, NULL);
	return 0;
}
