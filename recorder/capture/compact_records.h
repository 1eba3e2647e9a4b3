/* SPDX-License-Identifier: MIT */
/*
 * What compact records (trigger/bpf/compact_shared.h) say, and the same as samples of perf: in a dump
 * a compact channel is as the channel of a perf ring would be. Pure: works on any memory.
 */
#pragma once

#include "trigger/bpf/compact_shared.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/ring.h"

#include <stdint.h>

struct compact_layout;
struct err;

/* What follows from newer records; begin with the bank's head. */
struct compact_reader {
	uint64_t epoch, more;
	uint32_t tid; /* of the thread that runs */
	int32_t prio;
};

struct compact_event {
	enum compact_kind kind;
	uint32_t context; /* COMPACT_HARDIRQ, COMPACT_SOFTIRQ */
	uint64_t ns;
	uint32_t running;	 /* tid of the thread in which it happened */
	uint32_t tid, next_tid;	 /* who leaves, wakes up or moves; who comes */
	int32_t prio, next_prio; /* of these */
	uint32_t state;		 /* as prev_state of sched_switch */
	uint32_t cpu, old_cpu;	 /* target or new CPU; of migrate also the old one */
};

/* Where the programs keep it beside the ring. */
static inline const struct compact_head *compact_head_of(const struct ring *r)
{
	return (const struct compact_head *)((const uint8_t *)r->page + COMPACT_HEAD_AT);
}

void compact_begin(struct compact_reader *r, const struct compact_head *head);
/* Reads the next older record. 1: an event; 0: it only tells of others; -EBADMSG: it is none. */
int compact_read(struct compact_reader *r, uint64_t record, struct compact_event *e);

/* From the formats of the channel's tracepoints in tracefs. 0 or -errno. */
int compact_layout_new(const struct event_list *events, struct compact_layout **out,
		       struct err *err);
void compact_layout_free(struct compact_layout *l);
/* Size of the event's sample: TIME and RAW. 0: the channel has no such event. */
uint32_t compact_sample_bytes(const struct compact_layout *l, enum compact_kind kind);
/* Writes the sample; the names are those of tid and next_tid. */
void compact_sample(const struct compact_layout *l, const struct compact_event *e,
		    const char comm[16], const char next_comm[16], uint8_t *out);

/* No record becomes more bytes of samples than this many times its own. */
#define COMPACT_GROWTH 16
