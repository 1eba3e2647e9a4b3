/* SPDX-License-Identifier: MIT */
/* Constants and structs shared by the BPF programs that measure durations and the recorder; see
 * bpf_latency.h. */
#pragma once

#include <linux/types.h>

/* Nested calls timed per thread. */
#define BPF_LATENCY_FRAMES 4
#define BPF_LATENCY_EXTRA  8
#define BPF_LATENCY_CALLS  16384
#define BPF_LATENCY_ARGS   6

/* The start of a call; a note holds one or more. */
struct bpf_latency_frame {
	__u64 began_ns; /* 0: this frame and all after it are free */
	__u64 place;	/* meaning depends on the program: stack pointer, WAIT_*, state */
	__u64 told;	/* 1: a nested call already reported the delay */
};

/* A record that a program writes: the RAW data of a sample. */
struct bpf_latency_record {
	__u32 kind;
	__u32 pid, tid; /* pid 0: unknown */
	__u32 reserved;
	__u64 began_ns, ended_ns; /* ended_ns 0: still running */
	char comm[16];
	__u64 extra[BPF_LATENCY_EXTRA];
};
enum { BPF_LATENCY_OVER, BPF_LATENCY_BEGUN };

/* Constants for the verifier, which removes the code of options that are off. */
struct bpf_latency_params {
	__u64 threshold_ns;
	__u8 while_running;
	/* latency: exec ends the call, even if the thread keeps its id */
	__u8 own_exec;
	/* runqueue and offcpu */
	__u8 off_cpu;
	char comm[16]; /* only threads of this name; a * ends it and matches any rest; "": all */
	/* syscall: offsets of fields in the tracepoint records */
	__s64 number; /* -1: any */
	__u32 number_at, args_at, nr_args, result_at;
};

/*
 * bpf_latency_state.awake, for while-running. In ASLEEP the recorder's timer is stopped, so the
 * next call that begins writes a BPF_LATENCY_BEGUN record.
 *
 *	ASLEEP ──a call begins──▶ BUSY ──a look──▶ QUIET ──a look that finds no open call──▶ ASLEEP
 *	                           ▲───a call begins───┘
 */
enum { AWAKE_ASLEEP, AWAKE_QUIET, AWAKE_BUSY };

struct bpf_latency_state {
	__u64 awake;
	__u64 nr_full, nr_untold; /* calls not timed: map full; not reported: no ring */
};

/* `place` of a note for runqueue: why the thread waits. For offcpu it is the thread's state. */
enum { WAIT_PREEMPTED, WAIT_WOKEN };
