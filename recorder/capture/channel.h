/* SPDX-License-Identifier: MIT */
/*
 * A channel: events that share rings of one size and one sample layout. Decides the smallest layout
 * that loses nothing and makes the final perf_event_attr of each event. Opens nothing.
 *
 *	what is in it      sample_type
 *	tracepoints only   TIME RAW (common_type tells the event, common_pid the thread);
 *	                   TID outside of the initial pid namespace
 *	other events       TIME TID; IP without stacks; ADDR for faults; PERIOD where it varies
 *	more than one kind IDENTIFIER besides
 *	stack=fp           CALLCHAIN
 *	stack=dwarf:SIZE   CALLCHAIN of the kernel side, REGS_USER, STACK_USER
 *	a ring per thread  CPU
 *	an AUX event       TIME TID, of its few records: it is alone in its channel but for a dummy
 *	                   event that tells who ran when; its data goes into AUX areas beside the
 *	                   rings
 */
#pragma once

#include "dump/format/format.h"
#include "dump/format/record.h"
#include "recorder/config/config.h"
#include "trigger/kernel/event.h"

struct err;
struct target;

/* Where the walk finds time and thread in a sample, without taking it all apart; see window.c. */
struct channel_offsets {
	uint32_t time; /* byte offset in the record */
	uint32_t tid;  /* of the u32 tid; 0: none, then common_pid of RAW tells */
	uint32_t rest; /* where CALLCHAIN or RAW begins */
	bool chain, raw;
};

struct channel {
	char *name;
	uint32_t id;
	struct event_list events;
	uint32_t first_event; /* id of events.v[0] in the dump; the others follow */
	enum stack_kind stack;
	uint32_t stack_bytes;
	uint64_t ring_bytes;   /* per ring and bank, rounded */
	bool ring_bytes_given; /* asked for, so not to be shrunk silently */
	uint64_t aux_bytes;    /* of a ring's AUX area; 0: it has none. Then ... */
	bool aux_bytes_given;
	char *pmu;	   /* likewise: its name */
	unsigned nr_banks; /* ... this is 1, and events.v[0] is whose area it is */
	struct record_layout layout;
	struct channel_offsets at;
};

/* Parses the channel's events and decides its layout. `nr_banks` 1 or 2. */
int channel_new(const struct config_channel *c, uint32_t id, uint32_t first_event,
		unsigned nr_banks, const struct caps *caps, const struct target *t,
		struct channel **out, struct err *err);
void channel_free(struct channel *c);

/* Its event `i` is sleep-stacks: written by BPF programs (trigger/bpf/sleeps.h). */
bool channel_is_sleeps(const struct channel *c, size_t i);
/* Whether its event `i` leads a group: the first does of all that need none of their own. */
bool channel_leads(const struct channel *c, size_t i);
/* The attr of its event `i`, disabled when it leads a group that is not to be inherited. */
void channel_attr(const struct channel *c, size_t i, const struct target *t, bool leader,
		  struct perf_event_attr *attr);
