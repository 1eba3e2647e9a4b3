/* SPDX-License-Identifier: MIT */
/*
 * The event sleep-stacks: samples that a BPF program writes (trigger/bpf/sleeps.h) and the schedule
 * reads (dump/view/schedule/schedule.h). Included by both sides of the file and by the program
 * itself.
 *
 * A thread that goes to sleep where it slept last time has no sample of its own: the place is that
 * of its last sample, which is at most SLEEP_RENEW_NS older and in the same ring.
 */
#pragma once

#include <linux/types.h>

/* What the event is called in a dump: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT. */
#define SLEEP_STACKS "sleep-stacks"

/* Before a place is written again though the thread sleeps there all the time. */
#define SLEEP_RENEW_NS 100000000ull
/* From such a sleep on, who ends it is worth a stack. */
#define SLEEP_LONG_NS 1000000ull
/* A sample lies so near to the record of the switch or the wake-up that it belongs to. */
#define SLEEP_NEAR_NS 200000ull

enum sleep_kind {
	SLEEP_BEGINS = 1, /* the sample is of the thread that goes to sleep */
	SLEEP_ENDS,	  /* of the thread that wakes `tid` */
};

/* What a sample's RAW begins with; the kernel may pad it. */
struct sleep_sample {
	__u32 kind; /* enum sleep_kind */
	__u32 tid;  /* whose sleep it is */
};
