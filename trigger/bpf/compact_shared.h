/* SPDX-License-Identifier: MIT */
/*
 * Scheduler records of eight bytes, and the memory that holds them; shared by the programs
 * (compact.bpf.c) and their reader (recorder/capture/compact_layout.c).
 *
 * A CPU has two banks. Each has the form of a perf ring that is written backward (a head, then the
 * data), so trigger/kernel/ring.h reads it. The records are read from the newest to older ones: what
 * a record does not have follows from newer ones. The head has what the newest record does not have.
 *
 *	bits	    0-3   4-25	26-35	      36-37    38-63
 *	switch	    kind  prev	26-29 state,		time	thread that leaves, its state and priority;
 *				30-37 priority			the next one is who leaves later
 *	wake-ups    kind  tid	target CPU    context	time	a priority other than 120 is in a `more`
 *	migrate	    kind  tid	new CPU	      context	time	old CPU and priority are in a `more`
 *	more	    kind  4-11 priority, 12-21 CPU		of the next older record
 *	was	    kind  4-11 priority				of the running thread, from here back
 *	epoch	    kind  4-41 epoch				of all older records
 *
 * Time is in ns: its high bits, the epoch, change every 67 ms.
 */
#pragma once

#include <linux/types.h>

enum compact_kind {
	COMPACT_NONE,
	COMPACT_SWITCH,
	COMPACT_WAKING,
	COMPACT_WAKEUP,
	COMPACT_WAKEUP_NEW,
	COMPACT_MIGRATE,
	COMPACT_MORE,
	COMPACT_WAS,
	COMPACT_EPOCH
};

#define COMPACT_KINDS (COMPACT_MIGRATE + 1) /* that stand for events */

#define COMPACT_TID_SHIFT     4
#define COMPACT_TID_MASK      0x3fffffu
#define COMPACT_CPU_SHIFT     26
#define COMPACT_CPU_MASK      0x3ffu
#define COMPACT_STATE_SHIFT   26
#define COMPACT_STATE_MASK    0xfu /* n: prev_state is 1 << (n - 1); 0: it is 0 */
#define COMPACT_PRIO_SHIFT    30
#define COMPACT_PRIO_MASK     0xffu /* 255: -1 */
#define COMPACT_CONTEXT_SHIFT 36
#define COMPACT_HARDIRQ	      1u
#define COMPACT_SOFTIRQ	      2u
#define COMPACT_TIME_SHIFT    38
#define COMPACT_TIME_BITS     26
/* In `more` and `was`. */
#define COMPACT_MORE_PRIO_SHIFT 4
#define COMPACT_MORE_CPU_SHIFT	12
#define COMPACT_WAS_TID_SHIFT	12

#define COMPACT_EPOCH_BITS 38
#define COMPACT_EPOCH_MASK ((1ull << COMPACT_EPOCH_BITS) - 1)

#define COMPACT_PRIO	  120 /* of threads that have none of their own */
#define COMPACT_PREEMPTED 9u

/* At the place of data_head in struct perf_event_mmap_page. */
#define COMPACT_HEAD_AT	   1024u
#define COMPACT_HEAD_BYTES 4096u

struct compact_head {
	__u64 data_head; /* as in a perf ring: moves down from 0 */
	__u64 key;	 /* epoch of the newest record; above it the turn in which it was written */
	__u64 count_at;	 /* address of the CPU's preempt count; 0: unknown */
	__u32 tid, prio; /* of the thread that runs after the newest record */
};
