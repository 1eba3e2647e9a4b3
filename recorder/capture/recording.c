// SPDX-License-Identifier: MIT
/*
 * All rings of a recording and the freeze; see recording.h. The freeze allocates nothing and makes
 * only system calls on event descriptors.
 */
#include "recorder/capture/recording_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "trigger/kernel/clock.h"
#include "dump/base/thread_pool.h"
#include "recorder/base/log.h"
#include "recorder/capture/manifest.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"
#include "recorder/capture/sideband_rings.h"
#include "trigger/bpf/compact.h"
#include "trigger/bpf/sleeps.h"
#include "trigger/events/aux_pause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bounds the rings kept for the next dump when a CPU goes on- and offline repeatedly. */
#define MAX_OFFLINE_PER_CPU 4
/* Attempts to open events on a CPU that goes on- and offline. */
#define MAX_TRIES 5

/* ---- rings ---- */

static int keep_banks(struct recording *r, struct banks *b)
{
	if (!array_room(r->banks, r->nr_banks))
		return -ENOMEM;
	r->banks[r->nr_banks++] = b;
	return 0;
}

/* ---- brakes of traces; rings that BPF programs write ---- */

static int join_brakes(const struct recording *r, const struct banks *b)
{
	int fd = r->brakes ? banks_trace_fd(b) : -1;

	return fd < 0 ? 0 : aux_pauses_add_trace(r->brakes, b->cpu, fd, b->notes->fd);
}

/* The event of a bank that BPF programs write to; -1: none. */
static int sleeps_fd(const struct banks *b, unsigned bank)
{
	const struct bank *k = &b->bank[bank];

	for (size_t i = 0; i < k->nr_fds; i++)
		if (channel_is_sleeps(b->channel, k->event[i]))
			return k->fds[i];
	return -1;
}

static int join_sleeps(const struct recording *r, const struct banks *b)
{
	int rc = 0;

	for (unsigned i = 0; r->sleeps && i < b->nr_banks && !rc; i++)
		if (sleeps_fd(b, i) >= 0)
			rc = sleeps_add(r->sleeps, b->cpu, i, sleeps_fd(b, i));
	return rc;
}

int recording_join_ring(const struct recording *r, const struct banks *b)
{
	int rc = join_sleeps(r, b);

	if (r->sleeps && sleeps_fd(b, 0) >= 0)
		sleeps_renew(r->sleeps);
	return rc;
}

static void leave(const struct recording *r, const struct banks *b)
{
	if (r->brakes && banks_trace_fd(b) >= 0)
		aux_pauses_drop_trace(r->brakes, banks_trace_fd(b));
	for (unsigned i = 0; r->sleeps && i < b->nr_banks; i++)
		sleeps_drop(r->sleeps, b->cpu, i, sleeps_fd(b, i));
	if (b->channel->compact && b->bank[0].nr_fds)
		compact_drop(b->channel->programs, b->cpu, b->bank[0].fds[0]);
}

int recording_join_brakes(struct recording *r, struct aux_pauses *b, struct err *err)
{
	int rc = 0;

	r->brakes = b;
	for (size_t i = 0; i < r->nr_banks && !rc; i++)
		rc = join_brakes(r, r->banks[i]);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

int recording_join_sleeps(struct recording *r, struct sleeps *s, struct err *err)
{
	int rc = 0;

	r->sleeps = s;
	for (size_t i = 0; i < r->nr_banks && !rc; i++)
		rc = join_sleeps(r, r->banks[i]);
	return rc ? err_sys(err, rc, "can't hand events to BPF programs") : sleeps_start(s, err);
}

static void end_banks(const struct recording *r, struct banks *b)
{
	leave(r, b);
	banks_close(b);
}

/* A PMU with an AUX area takes one event for each CPU: names the channel that has it. */
static int busy(const struct recording *r, const struct channel *c, int rc, struct err *err)
{
	for (size_t i = 0; i < c->id; i++) {
		const struct channel *other = r->channels[i];

		if (!other->pmu || strcmp(other->pmu, c->pmu))
			continue;
		err_set(err, rc,
			"can't open %s: %s takes one event on each CPU, and channel %s of this "
			"recorder has it",
			c->events.v[0]->name, c->pmu, other->name);
		err_hint(err, "record one channel of this PMU");
	}
	return rc;
}

/* Without it a channel would have no rings. */
static int check_served(const struct recording *r, struct err *err)
{
	const struct target *t = r->target;

	for (size_t i = 0; i < r->nr_channels; i++) {
		const char *pmu = r->channels[i]->pmu;
		bool served = !pmu || t->per_thread || !t->nr_cpus;
		char cpus[200];

		for (size_t k = 0; k < t->nr_cpus && !served; k++)
			served = pmu_serves_cpu(pmu, t->cpus[k]);
		if (served || !pmu_cpus(pmu, cpus, sizeof(cpus)))
			continue;
		err_set(err, -EINVAL,
			"channel %s: %s serves only CPUs %s, none of which is to be recorded",
			r->channels[i]->name, pmu, cpus);
		err_hint(err, "-C %s", cpus);
		return -EINVAL;
	}
	return 0;
}

static int open_banks(struct recording *r, struct channel *c, int cpu, pid_t tid, struct err *err)
{
	struct banks *b;
	int rc;

	if (c->pmu && cpu >= 0 && !pmu_serves_cpu(c->pmu, cpu))
		return 0;
	rc = banks_take_over(c, r->target, r->from, cpu, &b, err);
	if (rc == -ENOENT)
		rc = banks_open(c, r->target, r->caps, cpu, tid, &b, err);
	if (rc == -EBUSY && c->pmu)
		rc = busy(r, c, rc, err);
	if (rc == -ENOMEM && c->pmu)
		r->no_area = c;
	if (rc)
		return rc;
	rc = join_brakes(r, b);
	rc = rc ? rc : join_sleeps(r, b);
	rc = rc ? rc : keep_banks(r, b);
	if (rc) {
		end_banks(r, b);
		return err_sys(err, rc, "can't keep the rings of channel %s", c->name);
	}
	r->nr_changes++;
	if (r->started) {
		banks_start(b);
		banks_start_again(b);
	}
	return 0;
}

static int open_cpu(struct recording *r, int cpu, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->nr_channels && !rc; i++)
		rc = open_banks(r, r->channels[i], cpu, -1, err);
	return rc;
}

/* Closes all but the first `keep`. */
static void close_banks(struct recording *r, size_t keep)
{
	while (r->nr_banks > keep)
		end_banks(r, r->banks[--r->nr_banks]);
}

/*
 * A CPU may go offline after it was found online; that is not an error, it is recorded once it is
 * back. Retries, because it may be back at once, and because missing hardware gives the same error.
 */
static int open_cpu_unless_gone(struct recording *r, int cpu, struct err *err)
{
	size_t before = r->nr_banks;
	int rc = 0;

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		rc = open_cpu(r, cpu, err);
		if (rc != -ENODEV || !r->target->follow_cpus)
			return rc;
		close_banks(r, before);
		if (!setting_cpu_online(cpu))
			return 0;
	}
	return rc;
}

static int open_all_cpus(struct recording *r, struct err *err)
{
	const struct target *t = r->target;
	int rc = 0;

	for (size_t i = 0; i < t->nr_cpus && !rc; i++)
		rc = open_cpu_unless_gone(r, t->cpus[i], err);
	return rc;
}

/* Opens a ring for each thread. A thread that has ended is skipped as long as there are others. */
static int open_all_threads(struct recording *r, struct err *err)
{
	const struct target *t = r->target;
	int rc = 0;

	for (size_t i = 0; i < t->nr_tids; i++) {
		size_t before = r->nr_banks;

		rc = 0;
		for (size_t k = 0; k < r->nr_channels && !rc; k++)
			rc = open_banks(r, r->channels[k], -1, t->tids[i], err);
		if (rc == -ESRCH)
			close_banks(r, before);
		else if (rc)
			return rc;
	}
	return r->nr_banks ? 0 : rc;
}

static int open_all_banks(struct recording *r, struct err *err)
{
	return r->target->per_thread ? open_all_threads(r, err) : open_all_cpus(r, err);
}

/* ---- life ---- */

int recording_open(const struct config_channel *channels, size_t nr, unsigned nr_banks,
		   const struct ring_size_memory *memory, const struct caps *caps, struct target *t,
		   struct kept *from, struct recording **out, struct err *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	bool shrunk = false;
	int rc;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->caps = caps;
	r->target = t;
	r->from = from;
	event_raise_nofile();
	rc = recording_add_channels(r, channels, nr, nr_banks, err);
	if (!rc)
		rc = target_refresh(t, err);
	if (!rc)
		rc = sideband_rings_open(t, caps, from, &r->sides, err);
	if (!rc && memory && !recording_has_horizon(r))
		rc = recording_size_rings(r, memory, err);
	if (!rc)
		recording_open_programs(r);
	if (!rc)
		rc = check_served(r, err);
	while (!rc && (rc = open_all_banks(r, err))) {
		bool over_limit = rc == -EPERM && !caps->ipc_lock && recording_shrink(r);

		if (!over_limit && !(rc == -ENOMEM && recording_halve_area(r)))
			break;
		close_banks(r, 0);
		shrunk |= over_limit;
		rc = 0;
	}
	if (!rc)
		rc = recording_open_pool(r, err);
	if (rc) {
		recording_close(r);
		return rc;
	}
	for (size_t i = 0; recording_unfinished(r) && i < r->nr_banks; i++)
		if (r->banks[i]->channel->compact && !r->banks[i]->frozen)
			banks_join_unfinished(r->banks[i], recording_unfinished(r));
	if (shrunk)
		recording_say_shrunk(r);
	r->from = NULL;
	*out = r;
	return 0;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	thread_pool_free(r->pool);
	free(r->aux);
	close_banks(r, 0);
	free(r->banks);
	sideband_rings_close(r->sides);
	manifest_free(r->manifest);
	for (size_t i = 0; i < r->nr_channels; i++) {
		compact_close(r->channels[i]->programs);
		channel_free(r->channels[i]);
	}
	free(r->channels);
	free(r);
}

int recording_start(struct recording *r, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->nr_channels && !rc; i++)
		if (r->channels[i]->compact)
			rc = compact_start(r->channels[i]->programs, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_start(r->banks[i]);
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_start_again(r->banks[i]);
	if (r->brakes)
		aux_pauses_settled(r->brakes);
	r->started = true;
	return 0;
}

/* ---- freeze ---- */

#define OVERLAP_NS 20000u

void recording_overlap(void)
{
	uint64_t until_ns = clock_ns() + OVERLAP_NS;

	while (clock_ns() < until_ns)
		;
}

/* They are counted for all CPUs, so they are told of one. */
static void note_missed(struct recording *r)
{
	const struct channel *last = NULL;

	for (size_t i = 0; i < r->nr_banks; i++) {
		struct banks *b = r->banks[i];

		b->missed = 0;
		if (!b->channel->compact || b->offline || (last && b->channel->id <= last->id))
			continue;
		last = b->channel;
		b->missed = compact_missed(last->programs);
	}
}

void recording_freeze(struct recording *r, struct recording_freeze *f)
{
	uint64_t t0 = clock_ns(), t1, t2, t3;
	bool resumed = recording_unfinished(r); /* a dump for which the banks were turned already */

	for (size_t i = 0; i < r->nr_banks; i++)
		banks_enable_spare(r->banks[i]);
	if (r->sleeps)
		sleeps_renew(r->sleeps);
	recording_overlap();
	t1 = clock_ns();
	for (size_t i = 0; i < r->nr_channels && !resumed; i++)
		if (r->channels[i]->compact)
			compact_turn(r->channels[i]->programs);
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_pause(r->banks[i]);
	t2 = clock_ns();
	if (r->pool && r->nr_banks)
		thread_pool_expect(r->pool);
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_pause(r->banks[i]);
	t2 = clock_ns();
	recording_stop_traces(r);
	t3 = clock_ns();
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_disable_frozen(r->banks[i]);
	*f = (struct recording_freeze){
		.enable_ns = t1 - t0,
		.pause_ns = t2 - t1,
		.disable_ns = clock_ns() - t3,
		.first_paused_ns = t1,
		.last_paused_ns = t2,
	};
	note_missed(r);
}

void recording_release(struct recording *r)
{
	for (size_t i = 0; i < r->nr_banks; i++)
		banks_release(r->banks[i]);
}

static void drop_banks(struct recording *r, size_t i)
{
	r->nr_changes++;
	end_banks(r, r->banks[i]);
	memmove(&r->banks[i], &r->banks[i + 1], (--r->nr_banks - i) * sizeof(struct banks *));
}

void recording_settle(struct recording *r, bool committed)
{
	if (r->aux && committed)
		recording_note_aux(r);
	for (size_t i = r->nr_banks; i-- > 0;)
		if (banks_settle(r->banks[i], committed))
			drop_banks(r, i);
}

/* ---- hotplug ---- */

bool recording_wants_cpu(const struct recording *r, int cpu)
{
	return target_wants_cpu(r->target, cpu);
}

/* Retires the rings of a CPU among the first `nr`. */
static void retire(struct recording *r, int cpu, size_t nr)
{
	size_t nr_offline = 0;

	for (size_t i = nr; i-- > 0;) {
		struct banks *b = r->banks[i];

		if (b->cpu != cpu)
			continue;
		if (!b->offline) {
			r->nr_changes++;
			leave(r, b);
			banks_retire(b);
		}
		if (++nr_offline > MAX_OFFLINE_PER_CPU * r->nr_channels) {
			log_warn("CPU %d goes off and on faster than dumps are made: the oldest "
				 "records of channel %s on it are dropped",
				 cpu, b->channel->name);
			drop_banks(r, i);
		}
	}
}

int recording_cpu_online(struct recording *r, int cpu, struct err *err)
{
	size_t nr_banks = r->nr_banks;
	int rc;

	if (target_is_tasks(r->target) && sideband_rings_has_cpu(r->sides, cpu))
		return 0;
	rc = sideband_rings_add(r->sides, cpu, err);
	if (!rc && recording_wants_cpu(r, cpu))
		rc = open_cpu(r, cpu, err);
	if (rc) {
		close_banks(r, nr_banks);
		return rc;
	}
	/* Rings from before the CPU went offline, perhaps unnoticed. */
	sideband_rings_drop_older(r->sides, cpu);
	retire(r, cpu, nr_banks);
	return 0;
}

void recording_cpu_offline(struct recording *r, int cpu)
{
	if (!target_is_tasks(r->target))
		retire(r, cpu, r->nr_banks);
}

static bool is_among(const int *cpus, size_t nr, int cpu)
{
	for (size_t i = 0; i < nr; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

int recording_recount_cpus(struct recording *r, struct err *err)
{
	int *cpus = NULL;
	size_t nr = 0;
	int rc = target_cpus(false, &cpus, &nr, err);

	for (size_t i = 0; i < nr && !rc; i++)
		rc = recording_cpu_online(r, cpus[i], err);
	/* Backwards, since the call may remove elements. */
	for (size_t i = r->nr_banks; i-- > 0 && !rc;)
		if (i < r->nr_banks && !is_among(cpus, nr, r->banks[i]->cpu))
			recording_cpu_offline(r, r->banks[i]->cpu);
	free(cpus);
	return rc;
}

/* ---- queries ---- */

size_t recording_nr_channels(const struct recording *r)
{
	return r->nr_channels;
}

const struct channel *recording_channel(const struct recording *r, size_t i)
{
	return r->channels[i];
}

bool recording_is_compact(const struct recording *r)
{
	for (size_t i = 0; i < r->nr_channels; i++)
		if (r->channels[i]->compact)
			return true;
	return false;
}

void recording_attr(const struct recording *r, const struct channel *c, size_t i,
		    struct perf_event_attr *attr)
{
	channel_attr(c, i, r->target, channel_leads(c, i), attr);
}

size_t recording_nr_banks(const struct recording *r)
{
	return r->nr_banks;
}

struct banks *recording_banks(struct recording *r, size_t i)
{
	return r->banks[i];
}

struct banks *const *recording_all_banks(const struct recording *r, size_t *nr)
{
	*nr = r->nr_banks;
	return r->banks;
}

uint64_t recording_ring_bytes(const struct recording *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nr_banks; i++)
		sum += banks_bytes(r->banks[i]);
	for (size_t i = 0; i < r->nr_banks; i++)
		sum += banks_aux_bytes(r->banks[i]);
	return sum + sideband_rings_bytes(r->sides);
}

struct ring *const *recording_sideband(const struct recording *r, size_t *nr)
{
	return sideband_rings_rings(r->sides, nr);
}

const struct record_layout *recording_sideband_layout(const struct recording *r)
{
	return sideband_rings_layout(r->sides);
}

bool recording_target_ended(struct recording *r)
{
	return sideband_rings_ended(r->sides);
}
