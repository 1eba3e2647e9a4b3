/* SPDX-License-Identifier: MIT */
/*
 * The event sleep-stacks: samples that a BPF program writes (trigger/bpf/sleeps.h) and the schedule
 * reads (dump/view/schedule/schedule.h). Both and the program include this.
 *
 * A sleep at the same place as the thread's last one has no sample: its place is that of the last
 * sample, which is at most SLEEP_RENEW_NS older and in the same ring.
 */
#pragma once

#include <linux/types.h>

/* The event's name in a dump; it is PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT. */
#define SLEEP_STACKS "sleep-stacks"

/* A thread's place is written again after this time, even if unchanged. */
#define SLEEP_RENEW_NS 100000000ull
/* A sleep at least this long gets a sample of its waker. */
#define SLEEP_LONG_NS 1000000ull
/* Maximum time between a sample and the record of its switch or wake-up. */
#define SLEEP_NEAR_NS 200000ull

enum sleep_kind {
	SLEEP_BEGINS = 1, /* the sample is of the thread that goes to sleep */
	SLEEP_ENDS,	  /* of the thread that wakes `tid` */
};

/* The start of a sample's RAW data; the kernel may pad it. */
struct sleep_sample {
	__u32 kind; /* enum sleep_kind */
	__u32 tid;  /* of the sleeping thread */
};
