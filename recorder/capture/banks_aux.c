// SPDX-License-Identifier: MIT
/* The trace of one ring: its AUX area and its records; see banks.h. Called by banks.c and recording.c;
 * threads of the pool copy and measure. */
#include "recorder/capture/banks_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* Resuming after a copy needs a tick on the trace's CPU, some 10 us; this is the maximum wait. */
#define GO_ON_NS 2000000ull

/* BTS writes whole records and leaves the rest of the area unused (bts_buffer_setup_aux() in
 * arch/x86/events/intel/bts.c). */
static uint64_t used_bytes(const struct channel *c)
{
	return c->aux_bytes - (strcmp(c->pmu, "intel_bts") ? 0 : c->aux_bytes % 24);
}

/* The largest area to be tried for a driver that refuses a smaller one. */
#define TRY_BYTES (1u << 20)

/* A driver that does not want an area says ENOMEM, whatever the reason. -ENOMEM: a smaller one may
 * be possible. */
static int explain(const struct banks *b, int rc, const struct caps *caps, struct err *err)
{
	const struct channel *c = b->channel;
	const struct event *e = c->events.v[0];
	const struct ring *ring = &b->bank[0].aux_ring;
	char size[32], least[32];

	if (rc != -ENOMEM || aux_is_possible(ring, c->aux_bytes, true))
		return event_strerror(err, rc, e->name, &e->attr, -1, -1, c->aux_bytes, caps);
	if (aux_is_possible(ring, c->aux_bytes, false)) {
		err_set(err, -EOPNOTSUPP,
			"can't record %s: its driver has no overwrite mode, it writes for a reader "
			"that keeps up",
			e->name);
		err_hint(err, "perf record can read it");
		return -EOPNOTSUPP;
	}
	for (uint64_t n = 2 * c->aux_bytes; n <= TRY_BYTES; n *= 2) {
		if (!aux_is_possible(ring, n, true))
			continue;
		err_set(err, -EINVAL, "can't record %s: its driver needs an AUX area of %s, not %s",
			e->name, str_fmt_size(least, sizeof(least), n),
			str_fmt_size(size, sizeof(size), c->aux_bytes));
		err_hint(err, "--channel '%s:%s;size=%luK'", c->name, e->name,
			 (unsigned long)(n >> 10));
		return -EINVAL;
	}
	return event_strerror(err, rc, e->name, &e->attr, -1, -1, c->aux_bytes, caps);
}

static int open_area(struct banks *b, const struct caps *caps, struct err *err)
{
	const struct channel *c = b->channel;
	int rc;

	b->aux = calloc(1, sizeof(*b->aux));
	b->records = calloc(1, sizeof(*b->records));
	b->watch = calloc(1, sizeof(*b->watch));
	if (!b->aux || !b->records || !b->watch)
		return err_set(err, -ENOMEM, "out of memory");
	rc = aux_open(b->aux, &b->bank[0].aux_ring, c->aux_bytes, used_bytes(c));
	if (rc)
		return explain(b, rc, caps, err);
	b->aux->window.event = c->first_event;
	rc = aux_records_open(b->records, &b->bank[0].ring);
	return rc ? err_sys(err, rc, "no memory for the records of channel %s", c->name) : 0;
}

/* Opens the event of aux_resume.h. Only trying shows whether events may stop this trace. */
static int open_notes(struct banks *b, const struct target *t, const struct caps *caps)
{
	if (!t->system || b->cpu < 0 || (caps && !caps->aux_pause))
		return 0;
	b->notes = calloc(1, sizeof(*b->notes));
	if (!b->notes)
		return -ENOMEM;
	if (aux_resume_open(b->notes, b->bank[0].fds[0], b->cpu)) {
		free(b->notes);
		b->notes = NULL;
	}
	return 0;
}

int banks_open_aux(struct banks *b, const struct target *t, const struct caps *caps,
		   struct err *err)
{
	int rc = open_area(b, caps, err);

	if (!rc)
		trace_watch_init(b->watch, t->system && b->cpu >= 0);
	if (!rc && (rc = open_notes(b, t, caps)))
		err_set(err, rc, "out of memory");
	return rc;
}

void banks_close_aux(struct banks *b)
{
	if (b->aux)
		aux_close(b->aux);
	if (b->records)
		aux_records_close(b->records);
	if (b->notes)
		aux_resume_close(b->notes);
	free(b->aux);
	free(b->records);
	free(b->watch);
	free(b->notes);
}

uint64_t banks_aux_bytes(const struct banks *b)
{
	return b->aux ? aux_bytes(b->aux) + b->bank[0].aux_ring.map_bytes +
				b->records->copy.map_bytes
		      : 0;
}

int banks_trace_fd(const struct banks *b)
{
	return b->notes && !b->offline ? b->bank[0].fds[0] : -1;
}

/* Applies to the AUX events only, not to other events that write into the ring. */
static void aux_ioctl(struct bank *b, unsigned long request)
{
	for (size_t i = 0; i < b->nr_fds; i++)
		if (!b->event[i])
			ioctl(b->fds[i], request, 0);
}

void banks_start_again(struct banks *b)
{
	if (b->aux && !b->offline)
		bank_leaders_ioctl(b->active, PERF_EVENT_IOC_ENABLE);
}

/* The first start arms the ring. */
void banks_trace_starts(struct banks *b)
{
	struct bank *a = b->active;

	if (a->state == BANK_SPARE)
		a->aux_ring.armed_head = b->watch->seen_head = b->records->told_head =
			ring_head(&a->aux_ring);
	trace_watch_starts(b->watch, a->fds[0]);
}

void banks_trace_stops(struct banks *b)
{
	trace_watch_stops(b->watch, &b->active->aux_ring, channel_time_tail(b->channel));
}

/* A rule's event may have stopped the trace earlier. */
void banks_trace_stopped(struct banks *b)
{
	uint64_t since_ns = b->notes ? aux_resume_stands(b->notes, NULL) : 0;

	aux_stopped(b->aux, &b->active->aux_ring, since_ns);
	aux_records_stopped(b->records, &b->active->aux_ring, &b->active->ring);
	trace_watch_stopped(b->watch, &b->active->aux_ring, b->active->fds[0], b->aux->started.ns,
			    b->aux->window.stop_cycles_ns);
}

void banks_will_stop(struct banks *b)
{
	b->stopped = false;
	b->copying = b->aux && !b->offline;
}

void banks_stop_aux(struct banks *b)
{
	struct bank *copy = &b->bank[1];

	if (!b->offline) {
		banks_trace_stops(b);
		aux_ioctl(b->active, PERF_EVENT_IOC_DISABLE);
		banks_trace_stopped(b);
	}
	/* The records continue and are not cut at a dump: the area may have data as old as they
	 * are. */
	copy->armed_ns = b->active->armed_ns;
	copy->paused_ns = b->last_paused_ns = b->aux->window.stop_cycles_ns;
	b->frozen_oldest_ns = banks_oldest(b);
	copy->state = BANK_FROZEN;
	b->frozen = copy;
	b->stopped = true;
}

/* Enabling does not resume a trace that a rule's event has stopped; that needs the tick. */
static void go_on(struct banks *b)
{
	bool stood = b->notes && aux_resume_stands(b->notes, NULL);

	if (stood)
		aux_resume_let_run(b->notes, clock_ns());
	banks_trace_starts(b);
	aux_ioctl(b->active, PERF_EVENT_IOC_ENABLE);
	if (stood)
		aux_resume_wait(b->notes, GO_ON_NS);
	aux_started(b->aux);
	b->copying = false;
}

static void restart(struct banks *b)
{
	aux_ioctl(b->active, PERF_EVENT_IOC_DISABLE);
	aux_ioctl(b->active, PERF_EVENT_IOC_ENABLE);
}

int banks_watch_fd(const struct banks *b)
{
	return b->aux ? b->bank[0].aux_ring.fd : -1;
}

/* While the area is copied, the watch belongs to another thread. */
#define COPY_WAIT_NS 10000000ull

uint64_t banks_start_ended(struct banks *b, uint64_t now_ns, uint32_t *reason)
{
	struct trace_watch *w = b->watch;
	struct bank *a = b->active;

	if (!b->aux || b->offline)
		return 0;
	if (b->copying)
		return now_ns + COPY_WAIT_NS;
	trace_watch_look(w, &a->aux_ring, channel_time_tail(b->channel), a->fds[0],
			 b->aux->started.ns);
	*reason = w->since_ns ? w->reason : 0;
	if (!*reason || trace_watch_due(w) > now_ns)
		return trace_watch_due(w);
	if (w->reason == FMT_STOP_REFUSED)
		aux_ioctl(a, PERF_EVENT_IOC_DISABLE);
	trace_watch_starts(w, a->fds[0]);
	aux_ioctl(a, PERF_EVENT_IOC_ENABLE);
	trace_watch_tried(w, a->fds[0], clock_ns());
	return trace_watch_due(w);
}

bool banks_stands(const struct banks *b, uint64_t *last_ns)
{
	return b->notes && !b->offline && !b->copying && aux_resume_stands(b->notes, last_ns);
}

bool banks_let_run(struct banks *b, uint64_t until_ns)
{
	uint64_t last_ns;

	if (!banks_stands(b, &last_ns))
		return false;
	if (last_ns >= until_ns)
		return true;
	if (aux_resume_let_run(b->notes, clock_ns()))
		restart(b);
	return false;
}

bool banks_take_brakes(struct banks *b)
{
	if (!b->notes || b->offline)
		return true;
	if (b->copying)
		return false;
	restart(b);
	return true;
}

void banks_copy_aux(struct banks *b)
{
	if (!b->aux)
		return;
	while (!b->stopped) /* another thread is about to stop it */
		sched_yield();
	aux_copy(b->aux);
	if (!b->offline)
		go_on(b);
}

void banks_measure_aux(struct banks *b)
{
	if (!b->aux)
		return;
	aux_records_copy(b->records, &b->active->aux_ring, &b->active->ring,
			 channel_time_tail(b->channel));
	b->bank[1].ring = b->records->copy;
	aux_measure(b->aux, aux_records_told(b->records, &b->active->aux_ring, b->aux->size));
}
