/* SPDX-License-Identifier: MIT */
/*
 * Durations that are measured and judged in the kernel, by BPF programs: what latency:, syscall:,
 * runqueue and offcpu: have in common. A program notes in a map when a thread began something;
 * another takes the note away when it is over, and tells (a record in a tap's ring, which wakes the
 * recorder) only when that took longer than the threshold.
 *
 *	begins ──▶ calls: tid → began ──▶ ends: longer than the threshold? ──▶ ring ──▶ recorder
 *	                  └──────── a look each threshold/2, with while-running ────────────┘
 *
 * Bounded: what does not fit into the map is not timed, and counted. Threads that end inside are
 * taken out by a program on sched_process_exit.
 */
#pragma once

#include "trigger/bpf/bpf.h"
#include "trigger/events/wakeup_ring.h"

struct event;
struct rule;
struct sighting;
struct source_env;
struct bpf_latency;

/* Notes of calls within calls of one thread. */
#define BPF_LATENCY_FRAMES 4
#define BPF_LATENCY_EXTRA  8
#define BPF_LATENCY_CALLS  16384

/* What is noted of a beginning. */
struct bpf_latency_frame {
	uint64_t began_ns; /* 0: the frame is free, as are those behind it */
	uint64_t place;	   /* whatever the source's programs want to know later */
	uint64_t told;	   /* what took long was told by a call within it */
};

/* What a program tells: the RAW data of a sample. */
struct bpf_latency_record {
	uint32_t kind;
	uint32_t pid, tid; /* pid 0: not known */
	uint32_t reserved;
	uint64_t began_ns, ended_ns; /* ended_ns 0: still going on */
	char comm[16];
	uint64_t extra[BPF_LATENCY_EXTRA];
};
enum { BPF_LATENCY_OVER, BPF_LATENCY_BEGUN };

struct bpf_latency_options {
	const struct rule *rule; /* borrowed during open only */
	unsigned nr_frames;	 /* of a note: 1 or BPF_LATENCY_FRAMES */
	unsigned nr_extra;	 /* u64s behind them */
	uint32_t stack_bytes;	 /* of the user stack, copied into what is told; 0: none */
};

/* Checks comparison and options of the rule; opens maps and rings. 0 or -errno. */
int bpf_latency_open(const struct bpf_latency_options *o, const struct source_env *env,
		     struct bpf_latency **out, struct err *err);
void bpf_latency_close(struct bpf_latency *w); /* NULL allowed */

/* ---- pieces of programs ----
 * Registers r1 to r5 and r0 are lost. The frame of a program, from r10 down:
 *	-8   key: the thread's id, 4 bytes
 *	-BPF_LATENCY_NOTE_AT    a note
 *	-BPF_LATENCY_RECORD_AT  a record
 */
#define BPF_LATENCY_KEY_AT    8
#define BPF_LATENCY_NOTE_AT   160
#define BPF_LATENCY_RECORD_AT 288

/* Key = id of the current thread; r0 = its pid_tgid. */
void bpf_latency_key(struct bpf_code *c);
/* r0 = the note of the key, or 0. */
void bpf_latency_find(const struct bpf_latency *w, struct bpf_code *c);
/* Stores the note in the frame under the key. `flags`: BPF_ANY or BPF_NOEXIST. */
void bpf_latency_note(const struct bpf_latency *w, struct bpf_code *c, int ctx, int flags);
void bpf_latency_drop(const struct bpf_latency *w, struct bpf_code *c);
/* A note was made or changed; with while-running the recorder has to know. */
void bpf_latency_begun(const struct bpf_latency *w, struct bpf_code *c, int ctx);
/* Tells the record in the frame; the caller has filled in pid, tid, times, comm, extra. */
void bpf_latency_tell(const struct bpf_latency *w, struct bpf_code *c, int ctx);
/* goto `label` unless `duration` (a register) is more than the threshold. */
void bpf_latency_unless_over(const struct bpf_latency *w, struct bpf_code *c, int duration,
			     int label);

/* ---- programs ---- */

/* Loads the code and puts it on the event `text` (as event_parse has it). */
int bpf_latency_attach(struct bpf_latency *w, const struct bpf_code *c, enum bpf_prog_type type,
		       const char *text, const struct source_env *env, struct err *err);
/* Threads that end, or whose stack goes with exec (`own_exec`: also when it keeps its id), are
 * forgotten. */
int bpf_latency_attach_ends(struct bpf_latency *w, bool own_exec, const struct source_env *env,
			    struct err *err);

/* ---- for source_ops ---- */

int bpf_latency_fd(const struct bpf_latency *w);
/* 1: *rec is what was told (or seen still running), and *what has who, when, duration and
 * threshold; the source adds its lines. 0: nothing (more). */
int bpf_latency_ready(struct bpf_latency *w, struct bpf_latency_record *rec, struct sighting *what,
		      struct err *err);
uint64_t bpf_latency_skip(struct bpf_latency *w);
int bpf_latency_cpu(struct bpf_latency *w, int cpu, bool online, struct err *err);
bool bpf_latency_trouble(const struct bpf_latency *w, char *out, size_t n);
/* What while-running costs, for source_plan.costs; appends. */
void bpf_latency_costs(const struct bpf_latency *w, char *out, size_t n);
