/* SPDX-License-Identifier: MIT */
/*
 * Stacks of sleeps, chosen in the kernel: the event sleep-stacks (dump/base/sleepstack.h). A thread
 * that goes to sleep where it slept last time gets no sample: an event loop costs a comparison a
 * sleep in place of a stack.
 *
 *	sched_switch ──▶ same place as last time? ──no──▶ sample in the CPU's ring: TID, CALLCHAIN,
 *	sched_waking ──▶ slept for long?          ──yes─▶ RAW struct sleep_sample
 *
 * Needs BPF (CAP_BPF and CAP_PERFMON), BTF of the kernel (/sys/kernel/btf/vmlinux) and Linux 6.4:
 * older ones allocate a task's storage from the page allocator, which may wake kswapd and so must
 * not be done in a switch (kernel/bpf/bpf_local_storage.c).
 * Called by session.c, which owns it, and recording.c, which adds the events of its rings. Programs
 * end with the recorder, also when it is killed.
 */
#pragma once

struct err;
struct sleeps;

/* Loads the programs; they write nothing yet. 0, -EOPNOTSUPP where that can't be, with the reason.
 */
int sleeps_open(struct sleeps **out, struct err *err);
/* `fd`: the event of that CPU's ring and bank (0 or 1), in place of the one before. The kernel
 * holds the event until sleeps_drop(), which leaves another's alone. 0 or -errno. */
int sleeps_add(struct sleeps *s, int cpu, unsigned bank, int fd);
void sleeps_drop(struct sleeps *s, int cpu, unsigned bank, int fd);
/* From here on the programs run. 0 or -errno. */
int sleeps_start(struct sleeps *s, struct err *err);
/* Another bank records: every place is written again. */
void sleeps_renew(struct sleeps *s);
void sleeps_close(struct sleeps *s);
