/* SPDX-License-Identifier: MIT */
/*
 * Stacks of sleeping threads, selected in the kernel: the event sleep-stacks
 * (dump/base/sleepstack.h). A thread that goes to sleep at the same place as last time gets no
 * sample, so an event loop costs one comparison per sleep instead of one stack.
 *
 *	sched_switch ──▶ same place as last time? ──no──▶ sample in the CPU's ring: TID, CALLCHAIN,
 *	sched_waking ──▶ slept for long?          ──yes─▶ RAW struct sleep_sample
 *
 * Needs BPF (CAP_BPF and CAP_PERFMON), BTF of the kernel (/sys/kernel/btf/vmlinux) and Linux 6.4.
 * Older kernels allocate task storage from the page allocator, which may wake kswapd and so is
 * forbidden inside a switch (kernel/bpf/bpf_local_storage.c).
 *
 * session.c calls and owns it; recording.c adds the events of its rings. The kernel detaches the
 * programs when the recorder exits, even if it is killed.
 */
#pragma once

struct err;
struct sleeps;

/* Loads the programs without attaching them. 0, or -EOPNOTSUPP with the reason. */
int sleeps_open(struct sleeps **out, struct err *err);
/* Sets the event of a CPU's ring in `bank` (0 or 1); replaces the previous one. The kernel holds
 * the event until sleeps_drop(), which does nothing if the entry is not `fd`. 0 or -errno. */
int sleeps_add(struct sleeps *s, int cpu, unsigned bank, int fd);
void sleeps_drop(struct sleeps *s, int cpu, unsigned bank, int fd);
/* Attaches the programs. 0 or -errno. */
int sleeps_start(struct sleeps *s, struct err *err);
/* Call when the other bank starts to record: every thread's next sleep gets a sample again. */
void sleeps_renew(struct sleeps *s);
void sleeps_close(struct sleeps *s);

/* The descriptors that keep the programs running when the recorder ends: SLEEPS_FDS of them. */
#define SLEEPS_FDS 4
void sleeps_fds(const struct sleeps *s, int fds[SLEEPS_FDS]);
/* Stops programs that another recorder left running: they write no more. */
void sleeps_silence(const int fds[SLEEPS_FDS]);
