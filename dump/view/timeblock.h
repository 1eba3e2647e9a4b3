/* SPDX-License-Identifier: MIT */
/*
 * One block of RECORDS in the order of time: what of it lies in the asked time, oldest first.
 * Records are put together one by one as they are taken; of a packed block only the columns that
 * are needed for that are unpacked. Zero-initialise; its memory is used again from block to block.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/record.h"

struct err;
struct reader;
struct unpacker;

/* What can be said of a record when it is asked whether somebody wants it. */
struct timeblock_answer {
	bool wanted;
	/* The bytes (8, or 4 at the record's begin) by which this was told; records that are the
	 * same there need not be asked. UINT32_MAX: all of it, each has to be asked. */
	uint32_t told_by;
	uint32_t thread_at; /* where its thread stands; UINT32_MAX: nowhere */
};

struct timeblock_wish {
	const struct record_layout *layout;
	uint64_t from_ns, to_ns; /* inclusive */
	/*
	 * Both may be NULL: all are wanted. Some that are not wanted come all the same: whatever
	 * can't be told without putting a record together.
	 */
	void (*ask)(void *ctx, struct bytes rec, struct timeblock_answer *a);
	bool (*thread)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *ctx;
};

struct timeblock {
	struct buf payload;
	struct unpacker *unpacker; /* NULL until the first packed block */
	bool packed;
	struct buf entries;
	size_t pos, nr;
	struct buf record;
	struct buf verdicts; /* one byte a template */
};

void timeblock_free(struct timeblock *b);

/* Loads block `i`. 0; -EBADMSG when it is not whole, with what could be read in it; -ENOMEM. */
int timeblock_load(struct timeblock *b, struct reader *r, size_t i, const struct timeblock_wish *w);

static inline bool timeblock_empty(const struct timeblock *b)
{
	return b->pos == b->nr;
}

/* The time of the oldest record left; the block must not be empty. */
uint64_t timeblock_head_ns(const struct timeblock *b);

/*
 * Takes that record; *rec is borrowed until the next call. -EBADMSG when it can't be put together:
 * then the block is empty. -ENOMEM.
 */
int timeblock_take(struct timeblock *b, struct bytes *rec);
