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

struct timeblock {
	struct buf payload;
	struct unpacker *unpacker; /* NULL until the first packed block */
	bool packed;
	struct buf entries;
	size_t pos, nr;
	struct buf record;
};

void timeblock_free(struct timeblock *b);

/*
 * Loads block `i`, whose records have that layout; times from..to (inclusive) are wanted. 0;
 * -EBADMSG when it is not whole, with what could be read in it; -ENOMEM.
 */
int timeblock_load(struct timeblock *b, struct reader *r, size_t i, const struct record_layout *l,
		   uint64_t from_ns, uint64_t to_ns);

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
