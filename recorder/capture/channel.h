/* SPDX-License-Identifier: MIT */
/*
 * A channel: events that share rings of one size and one sample layout. Chooses the smallest layout
 * that loses nothing and fills in the perf_event_attr of each event. Opens nothing.
 *
 *	contents           sample_type
 *	tracepoints only   TIME RAW (common_type tells the event, common_pid the thread);
 *	                   TID outside of the initial pid namespace
 *	other events       TIME TID; IP without stacks; ADDR for faults; PERIOD where it varies
 *	more than one kind also IDENTIFIER
 *	stack=fp           CALLCHAIN
 *	stack=dwarf:SIZE   CALLCHAIN of the kernel side, REGS_USER, STACK_USER
 *	a ring per thread  CPU
 *	an AUX event       TIME TID, for its few records. The channel has no other event except a
 *	                   dummy for context switches. The data goes into AUX areas beside the
 *	                   rings.
 */
#pragma once

#include "dump/format/format.h"
#include "dump/format/record.h"
#include "recorder/config/config.h"
#include "trigger/kernel/event.h"

struct compact;
struct compact_layout;
struct err;
struct target;

/* Offsets of time and thread in a sample, so that window.c need not parse all of it. */
struct channel_offsets {
	uint32_t time; /* byte offset in the record */
	uint32_t tid;  /* of the u32 tid; 0: none, use common_pid of RAW */
	uint32_t rest; /* start of CALLCHAIN or RAW */
	bool chain, raw;
};

struct channel {
	char *name;
	uint32_t id;
	struct event_list events;
	uint32_t first_event; /* id of events.v[0] in the dump; the others are consecutive */
	enum stack_kind stack;
	uint32_t stack_bytes;
	uint64_t ring_bytes;   /* per ring and bank, rounded */
	int64_t horizon_ns;    /* rings are resized to hold this time; 0: they keep their size */
	bool ring_bytes_given; /* requested, so it must not be shrunk silently */
	uint64_t aux_bytes;    /* size of a ring's AUX area; 0: none. If set, ... */
	bool aux_bytes_given;
	char *pmu;	   /* ... this is the name of its PMU */
	unsigned nr_banks; /* ... this is 1, and events.v[0] is the AUX event */
	struct record_layout layout;
	struct channel_offsets at;
	bool wants_compact;
	struct compact_layout *compact; /* NULL: perf writes the rings */
	struct compact *programs;	/* recording.c's */
};

/* Parses the channel's events and chooses its layout. `nr_banks`: 1 or 2. */
int channel_new(const struct config_channel *c, uint32_t id, uint32_t first_event,
		unsigned nr_banks, const struct caps *caps, const struct target *t,
		struct channel **out, struct err *err);
void channel_free(struct channel *c);

/* Whether BPF programs can write the channel's records in eight bytes: a few scheduler events of the
 * whole system, without stacks and filters, in two banks that are not resized. */
bool channel_can_be_compact(const struct channel *c, const struct caps *caps,
			    const struct target *t);

/* Whether event `i` is sleep-stacks, which BPF programs write (trigger/bpf/sleeps.h). */
bool channel_is_sleeps(const struct channel *c, size_t i);
/* The distance from TIME to the end of a record that is no sample. */
uint32_t channel_time_tail(const struct channel *c);
/* Whether event `i` leads a group: events with own_group, and the first of the others. */
bool channel_leads(const struct channel *c, size_t i);
/* The attr of event `i`. A leader's is disabled unless it is inherited. */
void channel_attr(const struct channel *c, size_t i, const struct target *t, bool leader,
		  struct perf_event_attr *attr);
