/* SPDX-License-Identifier: MIT */
/*
 * All records of a dump in time order, oldest first. At most two blocks per ring are in memory, and
 * only blocks that overlap the wanted time are opened. A ring can hold records out of order,
 * because an interrupt can come between reading the clock and reserving space; these are sorted
 * within a block and across two neighbours. Records of the same time are ordered by ring id.
 */
#pragma once

#include "dump/file/meta.h"

struct err;
struct reader;
struct timeline;

/* The needed parts of an event's records, besides the fields before their raw data. */
struct timeline_need {
	uint64_t raw_words; /* bit i: raw data from byte 4 * i; the last: all from there */
	bool stack;	    /* call chain, registers, stack */
};

#define TIMELINE_NEED_ALL ((struct timeline_need){UINT64_MAX, true})

/* Adds `bytes` bytes at offset `at` of the raw data. */
static inline void timeline_need_raw(struct timeline_need *n, uint32_t at, uint32_t bytes)
{
	for (uint64_t i = at / 4; bytes && i <= ((uint64_t)at + bytes - 1) / 4; i++)
		n->raw_words |= 1ull << (i < 63 ? i : 63);
}

struct timeline_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	uint64_t channels;	 /* bit i: channel i is wanted; 0: all */
	int32_t cpu;		 /* -1: all; rings of threads (cpu -1) are always included */
	/*
	 * By event id. Records of unwanted events need not be unpacked, but some are returned all
	 * the same, so the caller has to check again. Records that are no samples, or of unknown
	 * events, are always returned. NULL: all are wanted.
	 */
	const bool *events;
	/*
	 * By event id too. Parts of a record that are not needed may stay packed; their bytes are
	 * then undefined. Type and thread of a tracepoint are always valid. NULL: all parts are
	 * needed.
	 */
	const struct timeline_need *needs;
	/* False: no record of this thread at this time is wanted. */
	bool (*thread)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *ctx;
	/* Threads that load blocks ahead; each ring then has a third block in memory. */
	unsigned nr_helpers;
	/* By index of the reader's blocks: set to true for damaged ones, so that several timelines
	 * over one reader count each block once. May be NULL. */
	bool *bad;
};

struct timeline_record {
	struct bytes rec; /* whole record; borrowed until the next call */
	uint64_t time_ns; /* never decreases; a record without a time has its neighbour's */
	const struct fmt_window *window;
	const struct meta_channel *channel;
	const struct meta_event *event; /* for samples; NULL when unknown or not a sample */
	struct record_sample s;		/* parsed; for other records the sample_id, if any */
	uint32_t tid;			/* meta_tid_of */
};

/* `r` and `m` must outlive the timeline. 0, -ENOMEM. */
int timeline_open(struct reader *r, const struct meta *m, const struct timeline_options *opt,
		  struct timeline **out, struct err *err);
/* 1: *rec is set; 0: the end; negative: an error such as -ENOMEM. Damaged blocks are skipped and
 * counted. */
int timeline_next(struct timeline *t, struct timeline_record *rec, struct err *err);
/*
 * timeline_next() in two steps, for callers that hand records to other threads. The first sets only
 * rec, time_ns, window, channel, and event if it is already known. The second takes longer and sets
 * the rest; it also works on a copy of rec.
 */
int timeline_next_bare(struct timeline *t, struct timeline_record *rec, struct err *err);
void timeline_describe(const struct meta *m, struct timeline_record *rec);
void timeline_close(struct timeline *t);

/* Blocks so far that could not be read or held invalid records. */
uint64_t timeline_nr_bad_blocks(const struct timeline *t);
