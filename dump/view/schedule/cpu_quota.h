/* SPDX-License-Identifier: MIT */
/* Waits for a CPU that a control group's CPU quota explains. The dump tells how often and for how
 * long a group was throttled, and not when: the waits of its threads do. Used by blame.c and why. */
#pragma once

#include "dump/view/schedule/schedule.h"

struct meta;
struct meta_cgroup;
struct process_history;

/* Shorter waits have other causes: migration between CPUs, or the time slice of another thread. */
#define CPU_QUOTA_MIN_NS 5000000ull

/* The most throttled group with a quota that contains the thread at `ns`; NULL: none. Borrowed. */
const struct meta_cgroup *cpu_quota_of(const struct meta *m, const struct process_history *p,
				       const struct schedule_thread *t, uint64_t ns);

/* True for a wait, of which `ns` are looked at, that began when the thread was taken off the CPU,
 * and which is long enough for a throttled group. */
static inline bool cpu_quota_is_wait(const struct span *s, uint64_t ns)
{
	return s->state == SPAN_READY && s->flags & SPAN_PREEMPTED && ns >= CPU_QUOTA_MIN_NS;
}

/* The sum of a thread's waits of this kind, and the time that is not in the records. */
struct cpu_quota_waits {
	uint64_t ns, longest_ns, unknown_ns;
	unsigned nr;
};

void cpu_quota_waits(const struct schedule *s, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
		     struct cpu_quota_waits *out);
