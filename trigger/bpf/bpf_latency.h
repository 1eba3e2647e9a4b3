/* SPDX-License-Identifier: MIT */
/*
 * Durations measured in the kernel by BPF programs, for latency:, syscall:, runqueue and offcpu:.
 * One program stores a note in a map when a thread begins a call or a wait. Another removes the
 * note at the end, and only if the duration exceeds the threshold writes a record into a tap's
 * ring (wakeup_ring.h), which wakes the recorder.
 *
 *	begins ──▶ calls: tid → began ──▶ ends: longer than the threshold? ──▶ ring ──▶ recorder
 *	                  └──────── poll every threshold/2, with while-running ─────────────┘
 *
 * The map is bounded: calls that do not fit are counted, but not timed. A program on
 * sched_process_exit removes the notes of threads that exit.
 */
#pragma once

#include "trigger/bpf/latency_shared.h"
#include "trigger/events/wakeup_ring.h"

struct rule;
struct sighting;
struct source_env;
struct bpf_latency;

struct bpf_latency_options {
	const struct rule *rule;	  /* borrowed during open only */
	unsigned nr_frames;		  /* in a note: 1 or BPF_LATENCY_FRAMES */
	unsigned nr_extra;		  /* u64s after the frames */
	uint32_t stack_bytes;		  /* of the user stack, copied with each record; 0: none */
	bool waits;			  /* wait.bpf.c, which needs BTF; else latency.bpf.c */
	struct bpf_latency_params params; /* threshold and while-running come from the rule */
};

/* Checks the rule's comparison and options, loads the programs, opens the rings. 0 or -errno. */
int bpf_latency_open(const struct bpf_latency_options *o, const struct source_env *env,
		     struct bpf_latency **out, struct err *err);
void bpf_latency_close(struct bpf_latency *w); /* NULL allowed */

/* Attaches the program `name` to the event `text` (in event_parse() syntax); NULL: to the
 * tracepoint in its SEC(). Programs are detached in the order they were attached. */
int bpf_latency_attach(struct bpf_latency *w, const char *name, const char *text,
		       const struct source_env *env, struct err *err);
/* Removes the notes of threads that exit or call exec. */
int bpf_latency_attach_ends(struct bpf_latency *w, struct err *err);

/* ---- for source_ops ---- */

int bpf_latency_fd(const struct bpf_latency *w);
/* 1: *rec is a finished call, or one still running; *what has the thread, the times, duration and
 * threshold, and the source adds its lines. 0: no more records. */
int bpf_latency_ready(struct bpf_latency *w, struct bpf_latency_record *rec, struct sighting *what,
		      struct err *err);
uint64_t bpf_latency_skip(struct bpf_latency *w);
int bpf_latency_cpu(struct bpf_latency *w, int cpu, bool online, struct err *err);
bool bpf_latency_trouble(const struct bpf_latency *w, char *out, size_t n);
/* Appends the cost of while-running to source_plan.costs. */
void bpf_latency_costs(const struct bpf_latency *w, char *out, size_t n);
