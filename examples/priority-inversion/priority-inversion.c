// SPDX-License-Identifier: MIT
/*
 * A rover with one CPU. The bus manager (high priority) takes the bus lock briefly every 50 ms. The
 * weather task (low priority) takes it to publish data. The radio (medium priority) does not need
 * it. Sometimes the radio has much to send just when the weather task holds the lock: it preempts
 * the weather task, so the bus manager waits for the radio despite its higher priority. A lock with
 * PTHREAD_PRIO_INHERIT prevents this.
 */
#include "../incident.h"

#include <semaphore.h>
#include <stdatomic.h>

#define LIMIT_MS 150 /* the bus manager's watchdog */

static pthread_mutex_t bus_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t radio_has_data;
static atomic_bool done;
static atomic_int storm;

static __attribute__((noinline)) void send_images(double ms)
{
	work_ms(ms);
}

static void *radio(void *arg)
{
	name_me("radio");
	real_time(20);
	while (!done) {
		sem_wait(&radio_has_data);
		if (!done)
			send_images(300);
	}
	return NULL;
}

static __attribute__((noinline)) void publish_weather(void)
{
	pthread_mutex_lock(&bus_lock);
	work_ms(1);
	if (storm == 1) { /* the weather task takes images, which wakes the radio */
		storm = 2;
		sem_post(&radio_has_data);
	}
	work_ms(2);
	pthread_mutex_unlock(&bus_lock);
}

static void *weather(void *arg)
{
	name_me("weather");
	real_time(10);
	while (!done) {
		publish_weather();
		sleep_ms(7);
	}
	return NULL;
}

static __attribute__((noinline)) double distribute_bus_data(void)
{
	double began = ms_now();

	pthread_mutex_lock(&bus_lock);
	work_ms(0.1);
	pthread_mutex_unlock(&bus_lock);
	return ms_now() - began;
}

static void *bus_manager(void *arg)
{
	double began = ms_now(), took;

	name_me("bus_manager");
	real_time(30);
	while (!done) {
		took = distribute_bus_data();
		if (took > LIMIT_MS || ms_now() - began > 10000) {
			incident("bus data came after %.0f ms, limit %d ms", took, LIMIT_MS);
			done = true;
			sem_post(&radio_has_data);
		}
		sleep_ms(5);
		if (ms_now() - began > 1000 && !storm)
			storm = 1;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];

	stay_on(last_cpu());
	sem_init(&radio_has_data, 0, 0);
	threads[0] = start(radio, NULL);
	threads[1] = start(weather, NULL);
	threads[2] = start(bus_manager, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
