/* SPDX-License-Identifier: MIT */
/*
 * All records of a dump in time order, oldest first. At most two blocks per ring are in memory, and
 * only blocks that overlap the wanted time are opened. Records that a ring holds out of order (an
 * interrupt between reading the clock and reserving space) are sorted within a block and across two
 * neighbours. Records of the same time are ordered by ring id.
 */
#pragma once

#include "dump/file/meta.h"

struct err;
struct reader;
struct timeline;

/* What is needed of an event's records besides the fields before their raw data. */
struct timeline_need {
	uint64_t
		raw_words; /* bit i: bytes 4 * i and up of the raw data; the last: all from there */
	bool stack;	   /* call chain, registers, stack */
};

#define TIMELINE_NEED_ALL ((struct timeline_need){UINT64_MAX, true})

/* Adds the bytes from `at` of the raw data. */
static inline void timeline_need_raw(struct timeline_need *n, uint32_t at, uint32_t bytes)
{
	for (uint64_t i = at / 4; bytes && i <= ((uint64_t)at + bytes - 1) / 4; i++)
		n->raw_words |= 1ull << (i < 63 ? i : 63);
}

struct timeline_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	uint64_t channels;	 /* bit i: channel i is wanted; 0: all */
	int32_t cpu;		 /* -1: all; rings of threads (cpu -1) are always in */
	/*
	 * What is not wanted need not be unpacked; that it isn't wanted has to be found out again
	 * of what comes, for not all can be left out. NULL: all are wanted. By event id; records
	 * that are no samples, or of no known event, always come:
	 */
	const bool *events;
	/*
	 * By event id as well: what is not needed of a record may not be unpacked, then its bytes
	 * say nothing. Type and thread of a tracepoint always come. NULL: all is needed.
	 */
	const struct timeline_need *needs;
	/* False: nothing is wanted of this thread at this time. */
	bool (*thread)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *ctx;
	/* Threads that load blocks ahead: a third one per ring is in memory then. */
	unsigned nr_helpers;
	/* By block of the reader: those that are bad become true, for whoever goes through one with
	 * several timelines and counts it once. NULL: nobody asks. */
	bool *bad;
};

struct timeline_record {
	struct bytes rec; /* whole record; borrowed until the next call */
	uint64_t time_ns; /* never goes back; of a record without one: of its neighbour in the ring
			   */
	const struct fmt_window *window;
	const struct meta_channel *channel;
	const struct meta_event *event; /* of samples; NULL when unknown or no sample */
	struct record_sample s; /* parsed; of other records the sample_id where there is one */
	uint32_t tid;		/* meta_tid_of */
};

/* `r` and `m` must outlive the timeline. 0, -ENOMEM. */
int timeline_open(struct reader *r, const struct meta *m, const struct timeline_options *opt,
		  struct timeline **out, struct err *err);
/* 1: *rec is set; 0: the end; negative: out of memory or so. A damaged block is skipped and
 * counted. */
int timeline_next(struct timeline *t, struct timeline_record *rec, struct err *err);
/*
 * The same in two steps, for whoever hands records on to other threads: of the first, only rec,
 * time_ns, window and channel are set, and event where it is known already; the second, which takes
 * longer, finds out the rest, also from a copy of rec.
 */
int timeline_next_bare(struct timeline *t, struct timeline_record *rec, struct err *err);
void timeline_describe(const struct meta *m, struct timeline_record *rec);
void timeline_close(struct timeline *t);

/* Blocks so far that could not be read or held no records where records should be. */
uint64_t timeline_nr_bad_blocks(const struct timeline *t);
