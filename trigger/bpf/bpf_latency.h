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
struct stopwatch;

/* Notes of calls within calls of one thread. */
#define STOPWATCH_FRAMES 4
#define STOPWATCH_EXTRA	 8
#define STOPWATCH_CALLS	 16384

/* What is noted of a beginning. */
struct stopwatch_frame {
	uint64_t began_ns; /* 0: the frame is free, as are those behind it */
	uint64_t place;	   /* whatever the source's programs want to know later */
	uint64_t told;	   /* what took long was told by a call within it */
};

/* What a program tells: the RAW data of a sample. */
struct stopwatch_record {
	uint32_t kind;
	uint32_t pid, tid; /* pid 0: not known */
	uint32_t reserved;
	uint64_t began_ns, ended_ns; /* ended_ns 0: still going on */
	char comm[16];
	uint64_t extra[STOPWATCH_EXTRA];
};
enum { STOPWATCH_OVER, STOPWATCH_BEGUN };

struct stopwatch_options {
	const struct rule *rule; /* borrowed during open only */
	unsigned nr_frames;	 /* of a note: 1 or STOPWATCH_FRAMES */
	unsigned nr_extra;	 /* u64s behind them */
	uint32_t stack_bytes;	 /* of the user stack, copied into what is told; 0: none */
};

/* Checks comparison and options of the rule; opens maps and rings. 0 or -errno. */
int stopwatch_open(const struct stopwatch_options *o, const struct source_env *env,
		   struct stopwatch **out, struct err *err);
void stopwatch_close(struct stopwatch *w); /* NULL allowed */

/* ---- pieces of programs ----
 * Registers r1 to r5 and r0 are lost. The frame of a program, from r10 down:
 *	-8   key: the thread's id, 4 bytes
 *	-STOPWATCH_NOTE_AT    a note
 *	-STOPWATCH_RECORD_AT  a record
 */
#define STOPWATCH_KEY_AT    8
#define STOPWATCH_NOTE_AT   160
#define STOPWATCH_RECORD_AT 288

/* Key = id of the current thread; r0 = its pid_tgid. */
void stopwatch_key(struct bpf_code *c);
/* r0 = the note of the key, or 0. */
void stopwatch_find(const struct stopwatch *w, struct bpf_code *c);
/* Stores the note in the frame under the key. `flags`: BPF_ANY or BPF_NOEXIST. */
void stopwatch_note(const struct stopwatch *w, struct bpf_code *c, int ctx, int flags);
void stopwatch_drop(const struct stopwatch *w, struct bpf_code *c);
/* A note was made or changed; with while-running the recorder has to know. */
void stopwatch_begun(const struct stopwatch *w, struct bpf_code *c, int ctx);
/* Tells the record in the frame; the caller has filled in pid, tid, times, comm, extra. */
void stopwatch_tell(const struct stopwatch *w, struct bpf_code *c, int ctx);
/* goto `label` unless `duration` (a register) is more than the threshold. */
void stopwatch_unless_over(const struct stopwatch *w, struct bpf_code *c, int duration, int label);

/* ---- programs ---- */

/* Loads the code and puts it on the event `text` (as event_parse has it). */
int stopwatch_attach(struct stopwatch *w, const struct bpf_code *c, enum bpf_prog_type type,
		     const char *text, const struct source_env *env, struct err *err);
/* Threads that end, or whose stack goes with exec (`own_exec`: also when it keeps its id), are
 * forgotten. */
int stopwatch_attach_ends(struct stopwatch *w, bool own_exec, const struct source_env *env,
			  struct err *err);

/* ---- for source_ops ---- */

int stopwatch_fd(const struct stopwatch *w);
/* 1: *rec is what was told (or seen still running), and *what has who, when, duration and
 * threshold; the source adds its lines. 0: nothing (more). */
int stopwatch_ready(struct stopwatch *w, struct stopwatch_record *rec, struct sighting *what,
		    struct err *err);
uint64_t stopwatch_skip(struct stopwatch *w);
int stopwatch_cpu(struct stopwatch *w, int cpu, bool online, struct err *err);
bool stopwatch_trouble(const struct stopwatch *w, char *out, size_t n);
/* What while-running costs, for source_plan.costs; appends. */
void stopwatch_costs(const struct stopwatch *w, char *out, size_t n);
