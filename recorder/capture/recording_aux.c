// SPDX-License-Identifier: MIT
/* The AUX areas of a recording in a freeze: a thread pool stops traces, copies and measures areas. Called by recording.c. */
#include "recorder/capture/recording_impl.h"

#include "dump/base/err.h"
#include "dump/base/thread_pool.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads that copy AUX areas. */
#define MAX_COPIERS 8

/* Stops traces until none is left to be stopped. Several threads do it together. */
static void stop_aux(struct recording *r)
{
	size_t i;

	while ((i = atomic_fetch_add(&r->next_stop, 1)) < r->nr_banks)
		if (r->banks[i]->aux)
			banks_stop_aux(r->banks[i]);
}

static void copy_aux(void *ctx, size_t i)
{
	struct recording *r = ctx;

	stop_aux(r);
	banks_copy_aux(r->banks[i]);
}

static void measure_aux(void *ctx, size_t i)
{
	struct recording *r = ctx;

	banks_measure_aux(r->banks[i]);
}

void recording_stop_traces(struct recording *r)
{
	if (!r->pool || !r->nr_banks)
		return;
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_will_stop(r->banks[i]);
	atomic_store(&r->next_stop, 0);
	thread_pool_start(r->pool, copy_aux, r, r->nr_banks);
	stop_aux(r);
}

void recording_wait_copied(struct recording *r)
{
	if (!r->pool || !r->nr_banks)
		return;
	thread_pool_finish(r->pool);
	/* Only when all are copied: measuring earlier would keep the remaining traces stopped
	 * longer. */
	thread_pool_start(r->pool, measure_aux, r, r->nr_banks);
	thread_pool_finish(r->pool);
}

/* Uses real-time priority if that is allowed, else the best nice value, like the main loop's
 * thread: a trace is paused until its area is copied. */
static void run_first(void)
{
	struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}

int recording_open_pool(struct recording *r, struct err *err)
{
	struct thread_pool_options opt = {
		.name = "ringback-copy",
		.stack_bytes = 256u << 10,
		.started = run_first,
	};
	unsigned nr = setting_cpus_online(), nr_areas = 0;
	bool any = false;
	int rc;

	for (size_t i = 0; i < r->nr_channels; i++)
		any |= r->channels[i]->aux_bytes > 0;
	for (size_t i = 0; i < r->nr_banks; i++)
		nr_areas += r->banks[i]->aux != NULL;
	if (!any)
		return 0;
	r->aux = calloc(r->nr_channels, sizeof(*r->aux));
	if (!r->aux)
		return err_set(err, -ENOMEM, "out of memory");
	if (nr > nr_areas)
		nr = nr_areas ? nr_areas : 1;
	opt.nr_threads = nr < MAX_COPIERS ? nr : MAX_COPIERS;
	rc = thread_pool_new(&opt, &r->pool);
	return rc ? err_sys(err, rc, "can't start a thread that copies AUX areas") : 0;
}

void recording_note_aux(struct recording *r)
{
	memset(r->aux, 0, r->nr_channels * sizeof(*r->aux));
	for (size_t i = 0; i < r->nr_banks; i++) {
		const struct banks *b = r->banks[i];
		struct recording_aux *a = &r->aux[b->channel->id];

		if (!b->aux)
			continue;
		a->bytes += b->aux->window.bytes;
		a->new_bytes += b->aux->window.new_bytes;
		if (b->aux->window.blackout_ns > a->blackout_ns)
			a->blackout_ns = b->aux->window.blackout_ns;
		if (b->aux->window.copy_ns > a->copy_ns)
			a->copy_ns = b->aux->window.copy_ns;
	}
}
