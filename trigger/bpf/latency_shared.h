/* SPDX-License-Identifier: MIT */
/* What programs that measure durations and the recorder have in common; see bpf_latency.h. */
#pragma once

#include <linux/types.h>

/* Notes of calls within calls of one thread. */
#define BPF_LATENCY_FRAMES 4
#define BPF_LATENCY_EXTRA  8
#define BPF_LATENCY_CALLS  16384
#define BPF_LATENCY_ARGS   6

/* What is noted of a beginning. */
struct bpf_latency_frame {
	__u64 began_ns; /* 0: the frame is free, as are those behind it */
	__u64 place;	/* whatever the source's programs want to know later */
	__u64 told;	/* what took long was told by a call within it */
};

/* What a program tells: the RAW data of a sample. */
struct bpf_latency_record {
	__u32 kind;
	__u32 pid, tid; /* pid 0: not known */
	__u32 reserved;
	__u64 began_ns, ended_ns; /* ended_ns 0: still going on */
	char comm[16];
	__u64 extra[BPF_LATENCY_EXTRA];
};
enum { BPF_LATENCY_OVER, BPF_LATENCY_BEGUN };

/* Constants to the verifier: what is not asked for costs nothing. */
struct bpf_latency_params {
	__u64 threshold_ns;
	__u8 while_running;
	/* latency: exec is the end, also when the thread keeps its id. */
	__u8 own_exec;
	/* runqueue and offcpu */
	__u8 off_cpu;
	char comm[16]; /* only threads of this name; "": all */
	/* syscall: offsets in the tracepoints' fields */
	__s64 number; /* -1: any */
	__u32 number_at, args_at, nr_args, result_at;
};

/*
 * Whether somebody looks (while-running):
 *
 *	ASLEEP ──a call: told──▶ BUSY ──a look──▶ QUIET ──a look that finds nothing open──▶ ASLEEP
 *	                          ▲──────a call──────┘
 */
enum { AWAKE_ASLEEP, AWAKE_QUIET, AWAKE_BUSY };

struct bpf_latency_state {
	__u64 awake;
	__u64 nr_full, nr_untold; /* not timed: no room; not told: no ring */
};

/* What `place` of a note says for runqueue: why the thread waits. For offcpu it is the state. */
enum { WAIT_PREEMPTED, WAIT_WOKEN };
