// SPDX-License-Identifier: MIT
/*
 * The channels of a recording before their rings are opened: what is recorded, in which form, and in
 * rings of which size. Called by recording.c.
 */
#include "recorder/capture/recording_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/log.h"
#include "recorder/capture/compact_records.h"
#include "trigger/bpf/compact.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RING_BYTES (16u << 10)
#define MIN_AUX_BYTES  (64u << 10)

/* ---- channels ---- */

static int add_channel(struct recording *r, const struct config_channel *cc, unsigned nr_banks,
		       struct err *err)
{
	uint32_t first = 0;
	int rc;

	if (!array_room(r->channels, r->nr_channels))
		return err_set(err, -ENOMEM, "out of memory");
	if (r->nr_channels) {
		const struct channel *last = r->channels[r->nr_channels - 1];

		first = last->first_event + (uint32_t)last->events.nr;
	}
	rc = channel_new(cc, (uint32_t)r->nr_channels, first, nr_banks, r->caps, r->target,
			 &r->channels[r->nr_channels], err);
	if (rc) {
		err_prefix(err, "channel %s", cc->name);
		return rc;
	}
	r->nr_channels++;
	return 0;
}

/* The kernel's answer decides whether the channel is compact. With rings that are taken over the
 * programs are, too. */
static int open_programs(struct recording *r, struct channel *c, struct err *err)
{
	unsigned kinds = 0;
	int rc;

	for (size_t i = 0; i < c->events.nr; i++)
		kinds |= 1u << compact_kind(c->events.v[i]->name);
	rc = compact_layout_new(&c->events, &c->compact, err);
	if (rc)
		return rc;
	rc = banks_take_programs(c, r->target, r->from, &c->programs);
	if (rc == -ENOENT)
		rc = compact_open(c->ring_bytes, kinds, &c->programs, err);
	else if (rc)
		err_sys(err, rc, "can't take over the BPF programs of channel %s", c->name);
	if (!rc)
		return 0;
	compact_layout_free(c->compact);
	c->compact = NULL;
	return rc;
}

void recording_open_programs(struct recording *r)
{
	for (size_t i = 0; i < r->nr_channels; i++) {
		struct channel *c = r->channels[i];
		struct err err = ERR_INIT;

		if (!c->wants_compact || !channel_can_be_compact(c, r->caps, r->target))
			continue;
		if (open_programs(r, c, &err))
			log_verbose("channel %s: records of perf instead of compact ones: %s",
				    c->name, err.what);
	}
}

/* Replaces a channel with tracepoints if the user may not open those: adds an event that records
 * when threads of the target ran and were taken off their CPU. */
static int add_own_switches(struct recording *r, const struct config_channel *instead,
			    unsigned nr_banks, struct err *err)
{
	char events[] = "dummy";
	struct config_channel own = *instead;

	if (r->target->system || !strstr(instead->events, "sched:sched_switch"))
		return 0;
	own.events = events;
	own.stack = STACK_NONE;
	return add_channel(r, &own, nr_banks, err);
}

int recording_add_channels(struct recording *r, const struct config_channel *cc, size_t nr,
			   unsigned nr_banks, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		rc = add_channel(r, &cc[i], nr_banks, err);
		/* A preset skips channels that are not permitted; an explicitly requested channel
		 * must work. */
		if (rc && cc[i].optional && (rc == -EACCES || rc == -EPERM || rc == -ENOENT)) {
			log_warn_err(err);
			rc = add_own_switches(r, &cc[i], nr_banks, err);
		}
	}
	if (!rc && !r->nr_channels) {
		rc = err_set(err, -EACCES, "no channel of the preset may be recorded by this user");
		err_hint(err, "ringback doctor tells what is missing");
	}
	return rc;
}

/* ---- sizes ---- */

/* Halves the rings with a default size; false when none can be smaller. */
bool recording_shrink(struct recording *r)
{
	bool any = false;

	for (size_t i = 0; i < r->nr_channels; i++) {
		struct channel *c = r->channels[i];
		uint64_t least = c->stack == STACK_DWARF ? 256u << 10 : MIN_RING_BYTES;

		if (c->aux_bytes > MIN_AUX_BYTES && !c->aux_bytes_given) {
			c->aux_bytes /= 2;
			any = true;
		}
		if (c->ring_bytes_given || c->ring_bytes <= least || c->compact)
			continue;
		c->ring_bytes /= 2;
		any = true;
	}
	return any;
}

/* Some drivers need an area of one piece. */
bool recording_halve_area(struct recording *r)
{
	struct channel *c = r->no_area;
	char was[32], is[32];

	if (!c || c->aux_bytes <= MIN_AUX_BYTES)
		return false;
	r->no_area = NULL;
	c->aux_bytes /= 2;
	log_warn("channel %s: no memory for an AUX area of %s; trying %s", c->name,
		 str_fmt_size(was, sizeof(was), 2 * c->aux_bytes),
		 str_fmt_size(is, sizeof(is), c->aux_bytes));
	return true;
}

/* Logs it when rings are larger than their preset's default. */
static void say_sizes(const struct recording *r, uint64_t budget)
{
	char text[400] = "", size[32];
	size_t n = 0;

	for (size_t i = 0; i < r->nr_channels && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", i ? ", " : "",
				      r->channels[i]->name,
				      str_fmt_size(size, sizeof(size), r->channels[i]->ring_bytes));
	log_info("rings share %s of memory (--memory); each is, per CPU and bank: %s",
		 str_fmt_size(size, sizeof(size), budget), text);
}

int recording_size_rings(struct recording *r, const struct ring_size_memory *memory,
			 struct err *err)
{
	const struct target *t = r->target;
	uint64_t budget =
		ring_size_budget(memory, ring_size_machine(), setting_cpus_online(), r->caps);
	struct ring_size *sizes = calloc(r->nr_channels, sizeof(*sizes));

	if (!sizes)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nr_channels; i++) {
		const struct channel *c = r->channels[i];

		sizes[i] = (struct ring_size){
			.bytes = c->ring_bytes,
			.nr_rings = (t->per_thread ? t->nr_tids : t->nr_cpus) * c->nr_banks,
			.fixed = c->ring_bytes_given || c->aux_bytes,
		};
	}
	if (ring_size_divide(sizes, r->nr_channels, budget)) {
		for (size_t i = 0; i < r->nr_channels; i++)
			r->channels[i]->ring_bytes = sizes[i].bytes;
		say_sizes(r, budget);
	}
	free(sizes);
	return 0;
}

/* The memory is then for what rings need (resize.h). */
bool recording_has_horizon(const struct recording *r)
{
	for (size_t i = 0; i < r->nr_channels; i++)
		if (r->channels[i]->horizon_ns)
			return true;
	return false;
}

void recording_say_shrunk(const struct recording *r)
{
	for (size_t i = 0; i < r->nr_channels; i++) {
		const struct channel *c = r->channels[i];
		char size[32], aux[32] = "", *and = "";

		if (c->aux_bytes) {
			str_fmt_size(aux, sizeof(aux), c->aux_bytes);
			and = ", AUX areas of ";
		}
		log_info("channel %s: rings of %s%s%s, what the mlock limit "
			 "(kernel.perf_event_mlock_kb) leaves",
			 c->name, str_fmt_size(size, sizeof(size), c->ring_bytes), and, aux);
	}
}
