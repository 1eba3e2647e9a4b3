// SPDX-License-Identifier: MIT
/* Chooses the layout and attr of channels; see channel.h. Called by recording.c at start. */
#include "recorder/capture/channel.h"

#include "dump/base/err.h"
#include "dump/base/sleepstack.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/compact_records.h"
#include "recorder/trace/trace_watch.h"
#include "recorder/capture/target.h"
#include "trigger/bpf/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_RING_BYTES (1u << 20)
/* A record is up to 64 KiB long if it contains a stack copy, and a ring must hold several. */
#define MIN_DWARF_RING_BYTES (256u << 10)
#define DEFAULT_AUX_BYTES    (4u << 20)
/* Size of the ring beside an AUX area: room for some thousands of context switches. */
#define AUX_RING_BYTES (256u << 10)

/* Whether the period can differ between samples, so that each sample must record it. */
static bool period_varies(const struct event *e)
{
	bool clock =
		e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						       e->attr.config == PERF_COUNT_SW_TASK_CLOCK);

	return e->attr.freq && !clock;
}

/*
 * For threads recorded alone, sched_switch tells only when they leave a CPU, since it runs in the
 * thread that leaves. The kernel's PERF_RECORD_SWITCH tells when they come back. It needs no
 * tracefs: with a dummy event, users get it for their own threads.
 */
static bool tells_switches(const struct event *e, const struct target *t)
{
	return !t->system &&
	       (!strcmp(e->name, "sched:sched_switch") ||
		(e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_DUMMY));
}

static bool has_switches(const struct channel *c, const struct target *t)
{
	for (size_t i = 0; i < c->events.nr; i++)
		if (tells_switches(c->events.v[i], t))
			return true;
	return false;
}

static uint64_t choose_sample_type(const struct channel *c, const struct caps *caps,
				   const struct target *t)
{
	uint64_t type = PERF_SAMPLE_TIME;
	size_t nr_tracepoints = 0, nr_others = 0;

	if (c->aux_bytes)
		return type | PERF_SAMPLE_TID | (t->per_thread ? PERF_SAMPLE_CPU : 0);
	for (size_t i = 0; i < c->events.nr; i++) {
		const struct event *e = c->events.v[i];

		if (e->kind == EVENT_TRACEPOINT)
			nr_tracepoints++;
		else
			nr_others++;
		if (e->sample_addr)
			type |= PERF_SAMPLE_ADDR;
		if (period_varies(e))
			type |= PERF_SAMPLE_PERIOD;
		if (channel_is_sleeps(c, i))
			type |= PERF_SAMPLE_RAW;
	}
	if (nr_tracepoints)
		type |= PERF_SAMPLE_RAW;
	if (nr_others || !caps->initial_pidns || has_switches(c, t))
		type |= PERF_SAMPLE_TID;
	if (nr_others + (nr_tracepoints ? 1 : 0) > 1)
		type |= PERF_SAMPLE_IDENTIFIER;
	if (c->stack != STACK_NONE)
		type |= PERF_SAMPLE_CALLCHAIN;
	else if (nr_others)
		type |= PERF_SAMPLE_IP;
	if (c->stack == STACK_DWARF)
		type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	if (t->per_thread)
		type |= PERF_SAMPLE_CPU;
	return type;
}

/* Computes offsets from the kernel's order of fields; see record.h. */
static void find_offsets(struct channel *c)
{
	static const struct {
		uint64_t bit;
		uint32_t bytes;
	} fields[] = {
		{PERF_SAMPLE_IDENTIFIER, 8}, {PERF_SAMPLE_IP, 8},   {PERF_SAMPLE_TID, 8},
		{PERF_SAMPLE_TIME, 8},	     {PERF_SAMPLE_ADDR, 8}, {PERF_SAMPLE_CPU, 8},
		{PERF_SAMPLE_PERIOD, 8},
	};
	uint32_t off = sizeof(struct perf_event_header);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!(c->layout.sample_type & fields[i].bit))
			continue;
		if (fields[i].bit == PERF_SAMPLE_TIME)
			c->at.time = off;
		if (fields[i].bit == PERF_SAMPLE_TID)
			c->at.tid = off + 4; /* pid, tid */
		off += fields[i].bytes;
	}
	c->at.rest = off;
	c->at.chain = c->layout.sample_type & PERF_SAMPLE_CALLCHAIN;
	c->at.raw = c->layout.sample_type & PERF_SAMPLE_RAW;
}

/* ---- AUX ---- */

/* Adds context switches: without them a trace of code can't be assigned to threads. */
static int add_switches(struct channel *c, struct err *err)
{
	const struct perf_event_attr *of = &c->events.v[0]->attr;
	struct event *e = calloc(1, sizeof(*e));

	if (!e || !(e->name = strdup("dummy"))) {
		event_free(e);
		return err_set(err, -ENOMEM, "out of memory");
	}
	e->kind = EVENT_SOFTWARE;
	e->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(e->attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.context_switch = 1,
		.exclude_user = of->exclude_user,
		.exclude_kernel = of->exclude_kernel,
		.exclude_hv = of->exclude_hv,
	};
	return event_list_add(&c->events, e, err);
}

/* Turns a channel with an AUX event into an AUX channel; it must be the only event. */
static int become_aux(struct channel *c, const struct config_channel *cc, struct err *err)
{
	const struct event *e = NULL;

	for (size_t i = 0; i < c->events.nr && !e; i++)
		if (c->events.v[i]->has_aux)
			e = c->events.v[i];
	if (!e)
		return 0;
	if (c->events.nr > 1) {
		err_set(err, -EINVAL,
			"%s has an AUX area and can't share a channel with other events", e->name);
		err_hint(err, "give it a channel of its own: --channel 'trace:%s;size=4M'",
			 e->name);
		return -EINVAL;
	}
	if (cc->stack != STACK_NONE && cc->stack_given) {
		err_set(err, -EINVAL,
			"%s writes a trace and no samples: there are no stacks to record", e->name);
		err_hint(err, "leave out stack=");
		return -EINVAL;
	}
	c->aux_bytes = cc->ring_bytes ? cc->ring_bytes : DEFAULT_AUX_BYTES;
	c->aux_bytes = ring_round(c->aux_bytes, (size_t)sysconf(_SC_PAGESIZE));
	c->aux_bytes_given = cc->ring_bytes_given;
	c->pmu = strndup(e->name, strcspn(e->name, "/")); /* up to the terms of the event */
	if (!c->pmu)
		return err_set(err, -ENOMEM, "out of memory");
	return add_switches(c, err);
}

/* Rings of tasks can't be opened again: tasks that have been started since would be missed. */
static int take_horizon(struct channel *c, const struct config_channel *cc, const struct target *t,
			struct err *err)
{
	bool possible = !c->aux_bytes && !target_is_tasks(t);

	if (possible)
		c->horizon_ns = cc->horizon_ns;
	if (possible || !cc->horizon_given)
		return 0;
	err_set(err, -EINVAL,
		c->aux_bytes ? "an AUX area can't have a time as its size"
			     : "rings of processes can't have a time as their size");
	err_hint(err, "give a size, such as 8M");
	return -EINVAL;
}

int channel_new(const struct config_channel *cc, uint32_t id, uint32_t first_event,
		unsigned nr_banks, const struct caps *caps, const struct target *t,
		struct channel **out, struct err *err)
{
	struct channel *c = calloc(1, sizeof(*c));
	uint64_t bytes = cc->ring_bytes ? cc->ring_bytes : DEFAULT_RING_BYTES;
	int rc = -ENOMEM;

	if (!c || !(c->name = strdup(cc->name))) {
		err_set(err, rc, "out of memory");
		goto fail;
	}
	rc = event_parse(cc->events, caps, &c->events, err);
	if (!rc)
		rc = become_aux(c, cc, err);
	rc = rc ? rc : take_horizon(c, cc, t, err);
	if (rc)
		goto fail;
	if (c->aux_bytes)
		bytes = AUX_RING_BYTES;
	c->stack = c->aux_bytes ? STACK_NONE : cc->stack;
	if (c->stack == STACK_DWARF && bytes < MIN_DWARF_RING_BYTES)
		bytes = MIN_DWARF_RING_BYTES;
	c->id = id;
	c->wants_compact = cc->compact;
	c->first_event = first_event;
	c->stack_bytes = cc->stack_bytes;
	/* Such a PMU allows one event at a time, so the copy of the area stands in for a second
	 * bank. */
	c->nr_banks = c->aux_bytes ? 1 : nr_banks;
	c->ring_bytes = ring_round(bytes, (size_t)sysconf(_SC_PAGESIZE));
	c->ring_bytes_given = cc->ring_bytes_given && !c->aux_bytes && !c->horizon_ns;
	c->layout = (struct record_layout){
		.sample_type = choose_sample_type(c, caps, t),
		.regs_user = c->stack == STACK_DWARF ? event_user_regs() : 0,
		.sample_id_all = true,
	};
	find_offsets(c);
	*out = c;
	return 0;
fail:
	channel_free(c);
	return rc;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	event_list_free(&c->events);
	compact_layout_free(c->compact);
	free(c->pmu);
	free(c->name);
	free(c);
}

bool channel_can_be_compact(const struct channel *c, const struct caps *caps,
			    const struct target *t)
{
	if (!t->system || !caps->initial_pidns || c->nr_banks != 2 || c->stack != STACK_NONE ||
	    c->horizon_ns)
		return false;
	for (size_t i = 0; i < c->events.nr; i++)
		if (c->events.v[i]->filter || !compact_kind(c->events.v[i]->name))
			return false;
	return true;
}

bool channel_is_sleeps(const struct channel *c, size_t i)
{
	return !strcmp(c->events.v[i]->name, SLEEP_STACKS);
}

/* The sample_id at its end has TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER, as far as they are
 * sampled. */
uint32_t channel_time_tail(const struct channel *c)
{
	uint64_t t = c->layout.sample_type;

	return 8 + (t & PERF_SAMPLE_CPU ? 8 : 0) + (t & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
}

bool channel_leads(const struct channel *c, size_t i)
{
	if (c->events.v[i]->own_group)
		return true;
	while (i-- > 0)
		if (!c->events.v[i]->own_group)
			return false;
	return true;
}

void channel_attr(const struct channel *c, size_t i, const struct target *t, bool leader,
		  struct perf_event_attr *attr)
{
	*attr = c->events.v[i]->attr;
	attr->size = sizeof(*attr);
	attr->sample_type = c->layout.sample_type;
	attr->sample_id_all = 1;
	if (tells_switches(c->events.v[i], t))
		attr->context_switch = 1;
	if (c->events.v[i]->has_aux)
		attr->read_format = TRACE_WATCH_FORMAT;
	attr->write_backward = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->inherit = t->inherit;
	/* Siblings follow their leader, so only the leader is switched: one call per group and CPU.
	 * Inherited events must stay enabled; see banks.h. */
	attr->disabled = leader && (!t->inherit || c->aux_bytes);
	/* Nothing waits for these rings: the highest watermark saves the kernel wake-up
	 * attempts. */
	attr->watermark = 1;
	attr->wakeup_watermark = UINT32_MAX;
	if (c->stack == STACK_DWARF) {
		attr->exclude_callchain_user = 1;
		attr->sample_regs_user = c->layout.regs_user;
		attr->sample_stack_user = c->stack_bytes;
	}
}
