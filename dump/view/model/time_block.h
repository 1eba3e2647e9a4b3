/* SPDX-License-Identifier: MIT */
/*
 * One block of RECORDS in time order, limited to the wanted time, oldest first. Loading does the
 * expensive work and may run on another thread. Of a packed block it unpacks only the needed
 * columns; records that differ little from their template are built when they are taken.
 * Zero-initialise; the memory is reused from block to block.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/record.h"

struct reader;
struct unpacker;

/* What can be said of a record when it is asked whether somebody wants it. */
struct time_block_answer {
	bool wanted;
	const void
		*of; /* time_block_take() gives it with each record that `told_by` tells to be so */
	/* The bytes (8, or 4 at the record's begin) by which this was told; records that are the
	 * same there need not be asked. UINT32_MAX: all of it, each has to be asked. */
	uint32_t told_by;
	uint32_t thread_at; /* where its thread stands; UINT32_MAX: nowhere */
	/* What is needed of it, as far as `told_by` tells that too. */
	struct {
		bool all;
		bool chain;    /* the call chain */
		uint32_t from; /* what is before, and... */
		uint64_t
			words; /* bit i: the 4 bytes at from + 4 * i. The last: all from there on */
	} need;
};

struct time_block_wish {
	const struct record_layout *layout;
	uint64_t from_ns, to_ns; /* inclusive */
	/*
	 * Both may be NULL: all are wanted. Some that are not wanted come all the same: whatever
	 * can't be told without putting a record together. What is not needed of a record need
	 * not be right.
	 */
	void (*ask)(void *ctx, struct bytes rec, struct time_block_answer *a);
	bool (*thread)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *ctx;
};

struct time_block {
	struct buf payload;
	struct unpacker *unpacker; /* NULL until the first packed block */
	bool packed;
	struct buf entries;
	size_t pos, nr;
	uint64_t head_ns;    /* of the record at pos */
	struct buf record;   /* one that is looked at while loading */
	struct buf records;  /* put together, of a packed block */
	struct buf verdicts; /* one a template */
	struct buf moulds;   /* what records of a template that differ in little are cast in */
};

void time_block_free(struct time_block *b);

/* Loads block `i`. 0; -EBADMSG when it is not whole, with what could be read in it; -ENOMEM. */
int time_block_load(struct time_block *b, struct reader *r, size_t i,
		    const struct time_block_wish *w);

static inline bool time_block_empty(const struct time_block *b)
{
	return b->pos == b->nr;
}

/* The time of the oldest record left; the block must not be empty. */
static inline uint64_t time_block_head_ns(const struct time_block *b)
{
	return b->head_ns;
}

/* A record as it is taken. */
struct time_block_record {
	struct bytes rec;
	const void *of; /* what was answered of such records; NULL: nothing */
	/* It taken apart, but for its time; NULL: record_sample() has to do it. */
	const struct record_sample *s;
};

/* Takes that record: borrowed until the next call, time_block_load() or time_block_free(). */
void time_block_take(struct time_block *b, struct time_block_record *r);
