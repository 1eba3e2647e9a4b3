// SPDX-License-Identifier: MIT
/* Limits on memory and descriptors, and the rings that fit; see doctor.h. */
#include "recorder/cli/doctor.h"

#include "dump/base/str.h"
#include "trigger/kernel/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUP "limits"

/* The default preset: two banks of three channels with 11 events, and a sideband ring per CPU. */
#define DEFAULT_CHANNELS 3
#define DEFAULT_EVENTS	 11
#define BANKS		 2
#define SIDEBAND_BYTES	 (32u << 10)
/* Larger rings are rarely useful. */
#define MAX_RING_BYTES (8u << 20)
/* The share of memory that a recorder may use: 1/64. */
#define MEMORY_SHARE 64

static bool unlimited(const struct caps *c)
{
	/* perf_mmap() checks no limit if perf_event_paranoid is -1. */
	return c->ipc_lock || c->paranoid < 0 || c->memlock_bytes == RLIM_INFINITY;
}

static unsigned nr_rings(const struct doctor *d)
{
	/* Without tracepoints only the cpu-clock channel is recorded. */
	unsigned channels = d->caps.tracepoints && d->caps.tracefs ? DEFAULT_CHANNELS : 1;

	return channels * BANKS * d->cpus_online;
}

/* Bytes that this user may lock for rings; other programs may use some of it. */
static uint64_t mlock_budget(const struct doctor *d)
{
	return d->caps.mlock_kb * 1024 * d->cpus_online + d->caps.memlock_bytes;
}

/* The largest power of two of pages with which all rings and their control pages fit. */
static uint64_t recommend(const struct doctor *d)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), rings = nr_rings(d);
	uint64_t budget = d->mem_bytes / MEMORY_SHARE, best = page;

	if (!unlimited(&d->caps)) {
		uint64_t side = (SIDEBAND_BYTES + page) * d->cpus_online;
		uint64_t locked = mlock_budget(d);

		locked = locked > side ? locked - side : 0;
		if (locked < budget)
			budget = locked;
	}
	while (best * 2 <= MAX_RING_BYTES && (best * 2 + page) * rings <= budget)
		best *= 2;
	return best;
}

static void check_mlock(struct doctor *d)
{
	const struct caps *c = &d->caps;
	char lock[32], all[32];
	struct doctor_line *l;
	uint64_t want;

	if (unlimited(c)) {
		doctor_add(d, GROUP, "memory of rings", DOCTOR_OK, true, "no limit: %s",
			   c->ipc_lock	     ? "CAP_IPC_LOCK"
			   : c->paranoid < 0 ? "kernel.perf_event_paranoid is below 0"
					     : "RLIMIT_MEMLOCK is unlimited");
		return;
	}
	l = doctor_add(d, GROUP, "memory of rings", DOCTOR_LIMITED, true,
		       "%s for all of your rings: kernel.perf_event_mlock_kb=%" PRIu64
		       " for each of %u CPUs, and RLIMIT_MEMLOCK=%s",
		       str_fmt_size(all, sizeof(all), mlock_budget(d)), c->mlock_kb, d->cpus_online,
		       str_fmt_size(lock, sizeof(lock), c->memlock_bytes));
	/* For rings of 1 MiB, with their control pages and the sideband. */
	want = (uint64_t)DEFAULT_CHANNELS * BANKS * (1024 + 4) + 64;
	if (want <= c->mlock_kb)
		want = c->mlock_kb * 4;
	doctor_allow_sysctl(l, "kernel.perf_event_mlock_kb", (int64_t)want);
}

static void check_nofile(struct doctor *d)
{
	uint64_t need = (uint64_t)DEFAULT_EVENTS * BANKS * d->cpus_online + d->cpus_online + 64;
	struct doctor_line *l;

	if (d->caps.nofile >= need) {
		doctor_add(d, GROUP, "open events", DOCTOR_OK, true,
			   "RLIMIT_NOFILE can be %" PRIu64 "; the default preset needs %" PRIu64,
			   d->caps.nofile, need);
		return;
	}
	l = doctor_add(d, GROUP, "open events", DOCTOR_LIMITED, true,
		       "RLIMIT_NOFILE can be %" PRIu64 "; the default preset needs %" PRIu64,
		       d->caps.nofile, need);
	doctor_allow(l, "sudo prlimit --pid $$ --nofile=%" PRIu64, need * 2);
	doctor_keep(l,
		    "echo '* - nofile %" PRIu64 "' | sudo tee /etc/security/limits.d/ringback.conf",
		    need * 2);
}

static void check_rate(struct doctor *d)
{
	int64_t rate = 0, percent = 0;
	struct doctor_line *l;

	if (!setting_number("kernel/perf_event_max_sample_rate", &rate))
		return;
	setting_number("kernel/perf_cpu_time_max_percent", &percent);
	if (rate >= 99) {
		doctor_add(d, GROUP, "sampling rate", DOCTOR_OK, true,
			   "up to kernel.perf_event_max_sample_rate=%" PRId64
			   " Hz (kernel.perf_cpu_time_max_percent=%" PRId64 ")",
			   rate, percent);
		return;
	}
	l = doctor_add(d, GROUP, "sampling rate", DOCTOR_LIMITED, true,
		       "kernel.perf_event_max_sample_rate=%" PRId64
		       " Hz is below ringback's default of 99",
		       rate);
	doctor_allow_sysctl(l, "kernel.perf_event_max_sample_rate", 10000);
}

static void tell_stack(struct doctor *d)
{
	int64_t depth;

	if (setting_number("kernel/perf_event_max_stack", &depth))
		doctor_add(d, GROUP, "stack depth", DOCTOR_FACT, false,
			   "kernel.perf_event_max_stack=%" PRId64
			   " entries in frame-pointer stacks",
			   depth);
}

static void tell_rings(struct doctor *d)
{
	char total[32];
	bool mib;

	d->ring_bytes = recommend(d);
	mib = d->ring_bytes >= 1u << 20;
	d->total_ring_bytes = d->ring_bytes * nr_rings(d);
	doctor_add(d, GROUP, "ring size", DOCTOR_FACT, false,
		   "recommended: up to -m %" PRIu64 "%c; %u rings (channels x banks x CPUs) "
		   "take %s",
		   d->ring_bytes >> (mib ? 20 : 10), mib ? 'M' : 'K', nr_rings(d),
		   str_fmt_size(total, sizeof(total), d->total_ring_bytes));
}

void doctor_limits(struct doctor *d)
{
	check_mlock(d);
	check_nofile(d);
	check_rate(d);
	tell_stack(d);
	tell_rings(d);
}
