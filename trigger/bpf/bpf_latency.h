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

#include "trigger/bpf/latency_shared.h"
#include "trigger/events/wakeup_ring.h"

struct rule;
struct sighting;
struct source_env;
struct bpf_latency;

struct bpf_latency_options {
	const struct rule *rule;	  /* borrowed during open only */
	unsigned nr_frames;		  /* of a note: 1 or BPF_LATENCY_FRAMES */
	unsigned nr_extra;		  /* u64s behind them */
	uint32_t stack_bytes;		  /* of the user stack, copied into what is told; 0: none */
	bool waits;			  /* wait.bpf.c, which needs BTF; else latency.bpf.c */
	struct bpf_latency_params params; /* threshold and while-running are the rule's */
};

/* Checks comparison and options of the rule; loads programs, opens rings. 0 or -errno. */
int bpf_latency_open(const struct bpf_latency_options *o, const struct source_env *env,
		     struct bpf_latency **out, struct err *err);
void bpf_latency_close(struct bpf_latency *w); /* NULL allowed */

/* Attaches the program `name` to the event `text` (as event_parse has it); NULL: where the program
 * says itself. Those attached first are detached first. */
int bpf_latency_attach(struct bpf_latency *w, const char *name, const char *text,
		       const struct source_env *env, struct err *err);
/* Threads that end, or whose stack goes with exec, are forgotten. */
int bpf_latency_attach_ends(struct bpf_latency *w, struct err *err);

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
