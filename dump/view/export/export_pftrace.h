/* SPDX-License-Identifier: MIT */
/*
 * The parts of `ringback export -f pftrace`:
 *
 *	export_pftrace.c	packets; the beginning; dispatch of records
 *	export_pftrace_sched.c	switches and wake-ups, as Perfetto's ftrace bundles of each CPU
 *	export_pftrace_stack.c	stacks, each kept once
 *	export_pftrace_pt.c	calls that Intel PT recorded, as slices
 *	export_pftrace_track.c	all other events, the trigger and losses, as instants on tracks
 *
 * Times are BOOTTIME, Perfetto's own clock.
 */
#pragma once

#include "dump/view/export/export.h"
#include "dump/view/export/proto.h"

/* Fields of perfetto.proto that several parts write. */
enum {
	PACKET_FTRACE_EVENTS = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_SYSTEM_INFO = 45,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
};
enum {
	TRACK_EVENT_ANNOTATION = 4,
	TRACK_EVENT_TYPE = 9,
	TRACK_EVENT_UUID = 11,
	TRACK_EVENT_CATEGORY = 22,
	TRACK_EVENT_NAME = 23,
	TRACK_EVENT_CALLSTACK = 56,
};
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_THREAD = 4, TRACK_PARENT };

struct pf_sched;
struct pf_stacks;
struct pf_tracks;

struct pftrace {
	struct export *x;
	struct text packet; /* the one being written */
	struct pf_sched *sched;
	struct pf_stacks *stacks;
	struct pf_tracks *tracks;
	bool begun; /* the first packet, which resets interned data, is written */
	int rc;	    /* the first error */
};

/* Converts a time of the dump's clock to the trace's. */
uint64_t pf_ns(const struct pftrace *pf, uint64_t ns);
/* Empties pf->packet, adds the timestamp of `ns` in the dump's clock, and returns it. */
struct text *pf_begin(struct pftrace *pf, uint64_t ns);
/* Writes pf->packet. */
void pf_put(struct pftrace *pf);
/* Untrusted text as UTF-8, for protobuf, in `out`, which is returned. */
char *pf_text(char *out, size_t n, const char *text, size_t len);

int pf_sched_new(struct pftrace *pf, struct pf_sched **out);
void pf_sched_free(struct pf_sched *s);
/* True when the record is a switch or wake-up of a known CPU and was taken. */
bool pf_sched_take(struct pftrace *pf, const struct timeline_record *rec);
/* The same for PERF_RECORD_SWITCH, which shows when a thread of a target returns to a CPU. */
bool pf_sched_take_own(struct pftrace *pf, const struct timeline_record *rec);
/* Notes that switches of this CPU were lost before its next event. */
void pf_sched_lost(struct pftrace *pf, int32_t cpu);
/* Writes the pending bundles. */
void pf_sched_flush(struct pftrace *pf);

int pf_stacks_new(struct pf_stacks **out);
void pf_stacks_free(struct pf_stacks *s);
/* The number of the record's stack; 0: it has none. Adds new interned data to pf->packet. */
uint32_t pf_stacks_id(struct pftrace *pf, const struct timeline_record *rec);
/* False: the sample has no stack. */
bool pf_stacks_take(struct pftrace *pf, const struct timeline_record *rec);

int pf_tracks_new(struct pf_tracks **out);
void pf_tracks_free(struct pf_tracks *t);
/* The trigger, and where each ring begins. */
void pf_tracks_begin(struct pftrace *pf);
/* The track of the record's thread; describes it at its first use. */
uint64_t pf_tracks_of(struct pftrace *pf, const struct timeline_record *rec);
void pf_tracks_take(struct pftrace *pf, const struct timeline_record *rec);
void pf_tracks_lost(struct pftrace *pf, const struct timeline_record *rec, uint64_t nr);

/* Writes the calls of the requested time; errors are in pf->rc. */
void pf_pt_put(struct pftrace *pf, struct err *err);
