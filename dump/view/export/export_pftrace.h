/* SPDX-License-Identifier: MIT */
/*
 * The parts of `ringback export -f pftrace`:
 *
 *	export_pftrace.c	packets; the beginning; what goes where
 *	export_pftrace_sched.c	switches and wake-ups, as Perfetto's ftrace bundles of each CPU
 *	export_pftrace_stack.c	stacks, each kept once
 *	export_pftrace_pt.c	calls that Intel PT saw, as slices
 *	export_pftrace_track.c	all other events, the trigger and losses, as instants on tracks
 *
 * Times are of BOOTTIME, which Perfetto takes as the trace's own clock.
 */
#pragma once

#include "dump/view/export/export.h"

#include <perfetto.pb-c.h>

struct pf_sched;
struct pf_stacks;
struct pf_tracks;

struct pftrace {
	struct export *x;
	struct buf packed; /* the last packet */
	struct pf_sched *sched;
	struct pf_stacks *stacks;
	struct pf_tracks *tracks;
	bool begun; /* the first packet that resets what is kept once is out */
	int rc;	    /* the first error */
};

/* Sets an optional field of a message. */
#define PF_SET(m, field, v) ((m)->has_##field = 1, (m)->field = (v))

/* A moment of the dump's clock in that of the trace. */
uint64_t pf_ns(const struct pftrace *pf, uint64_t ns);
/* Writes the packet; those with timestamps of the sequence that keeps stacks once. */
void pf_put(struct pftrace *pf, Perfetto__TracePacket *packet);
/* Foreign text as a string of protobuf wants it, UTF-8, in `out`, which is returned. */
char *pf_text(char *out, size_t n, const char *text, size_t len);

int pf_sched_new(struct pftrace *pf, struct pf_sched **out);
void pf_sched_free(struct pf_sched *s);
/* True when the record is a switch or wake-up of a known CPU and was taken. */
bool pf_sched_take(struct pftrace *pf, const struct timeline_record *rec);
/* The same for the kernel's own record of a switch, which tells when a thread of a target comes
 * back. */
bool pf_sched_take_own(struct pftrace *pf, const struct timeline_record *rec);
/* Records of this CPU's switches were lost before what comes next. */
void pf_sched_lost(struct pftrace *pf, int32_t cpu);
/* Writes what is held back. */
void pf_sched_flush(struct pftrace *pf);

int pf_stacks_new(struct pf_stacks **out);
void pf_stacks_free(struct pf_stacks *s);
/* The number of the record's stack, 0: it has none. What is new of it is put into `packet`, which
 * has to be written before this is called again. */
uint32_t pf_stacks_id(struct pftrace *pf, const struct timeline_record *rec,
		      Perfetto__TracePacket *packet);
/* False: the sample has no stack. */
bool pf_stacks_take(struct pftrace *pf, const struct timeline_record *rec);

int pf_tracks_new(struct pf_tracks **out);
void pf_tracks_free(struct pf_tracks *t);
/* The trigger, and where each ring begins. */
void pf_tracks_begin(struct pftrace *pf);
/* The track of the record's thread, described when it is first met. */
uint64_t pf_tracks_of(struct pftrace *pf, const struct timeline_record *rec);
void pf_tracks_take(struct pftrace *pf, const struct timeline_record *rec);
void pf_tracks_lost(struct pftrace *pf, const struct timeline_record *rec, uint64_t nr);

/* All calls of the asked time; errors are in pf->rc. */
void pf_pt_put(struct pftrace *pf, struct err *err);
