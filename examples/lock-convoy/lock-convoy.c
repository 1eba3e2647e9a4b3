// SPDX-License-Identifier: MIT
/*
 * A shop whose six workers become slow together. Each request does a little work, then writes a
 * line to the audit log under one lock. A line took 20 us; with signing switched on it takes 3 ms,
 * still under the lock. From then on the workers queue for the lock and the CPUs idle. A worker
 * whose request takes far too long triggers a dump.
 */
#include "../incident.h"

#include <stdatomic.h>

#define WORKERS	   6
#define SIGNING_MS 900 /* when signing is switched on */
#define LIMIT_MS   15  /* of a request */

static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool signing, done;
static atomic_int nr_slow, nr_requests;

static __attribute__((noinline)) void sign_line(void)
{
	work_ms(3);
}

static __attribute__((noinline)) void write_audit_line(void)
{
	pthread_mutex_lock(&audit_lock);
	if (signing)
		sign_line();
	else
		work_ms(0.02);
	pthread_mutex_unlock(&audit_lock);
}

static __attribute__((noinline)) void handle_request(void)
{
	work_ms(0.2);
	write_audit_line();
	atomic_fetch_add(&nr_requests, 1);
}

static void *worker(void *arg)
{
	char name[16];
	double began, took;

	snprintf(name, sizeof(name), "shop-%d", (int)(intptr_t)arg);
	name_me(name);
	while (!done) {
		began = ms_now();
		handle_request();
		took = ms_now() - began;
		/* Triggers only after many slow requests, when the convoy is established. */
		if (took > LIMIT_MS && atomic_fetch_add(&nr_slow, 1) == 250) {
			incident("a request took %.0f ms, limit %d ms", took, LIMIT_MS);
			done = true;
		}
		sleep_ms(2); /* the next customer */
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	double began = ms_now();

	for (int i = 0; i < WORKERS; i++)
		threads[i] = start(worker, (void *)(intptr_t)i);
	while (!done && ms_now() - began < 20000) {
		sleep_ms(50);
		if (ms_now() - began > SIGNING_MS)
			signing = true;
	}
	done = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d requests, %d of them slow\n", nr_requests, nr_slow);
	return 0;
}
