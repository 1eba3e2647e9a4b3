/* SPDX-License-Identifier: MIT */
/*
 * One block of RECORDS in time order, limited to the wanted time, oldest first. Loading does the
 * expensive work and may run on another thread. It unpacks only the needed columns of a packed
 * block; records that differ little from their template are built when they are taken.
 * Zero-initialise; the memory is reused from block to block.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/record.h"

struct reader;
struct unpacker;

/* The answer of time_block_wish.ask() for a record. */
struct time_block_answer {
	bool wanted;
	const void *of; /* time_block_take() returns it for such records */
	/*
	 * The offset of the bytes (8, or 4 at the record's begin) that decided the answer: it holds
	 * for all records with the same bytes there. UINT32_MAX: the whole record; each is asked
	 * about.
	 */
	uint32_t told_by;
	uint32_t thread_at; /* offset of the thread id; UINT32_MAX: none */
	/* The needed parts, as far as `told_by` decides them too. */
	struct {
		bool all;
		bool chain;	/* the call chain */
		uint32_t from;	/* all bytes before this offset, and */
		uint64_t words; /* bit i: 4 bytes at from + 4 * i; the last: all from there on */
	} need;
};

struct time_block_wish {
	const struct record_layout *layout;
	uint64_t from_ns, to_ns; /* inclusive */
	/*
	 * Both may be NULL: all records are wanted. Unwanted records are returned too where the
	 * answer depends on a record that is not put together yet. Parts that are not needed may
	 * hold wrong values.
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
	struct buf record;   /* the record that loading examines */
	struct buf records;  /* records put together from a packed block */
	struct buf verdicts; /* one per template */
	struct buf moulds;   /* prototypes for the records of a template that differ little */
};

void time_block_free(struct time_block *b);

/*
 * Loads block `i`. 0; -EBADMSG when the block is incomplete (what could be read is there); -ENOMEM.
 */
int time_block_load(struct time_block *b, struct reader *r, size_t i,
		    const struct time_block_wish *w);

static inline bool time_block_empty(const struct time_block *b)
{
	return b->pos == b->nr;
}

/* The time of the oldest remaining record; the block must not be empty. */
static inline uint64_t time_block_head_ns(const struct time_block *b)
{
	return b->head_ns;
}

/* One taken record. */
struct time_block_record {
	struct bytes rec;
	const void *of; /* time_block_answer.of for it; NULL: none */
	/* The parsed record, except the time; NULL: the caller parses it with record_sample(). */
	const struct record_sample *s;
};

/* Takes the oldest record; it is borrowed until the next call, time_block_load() or
 * time_block_free(). */
void time_block_take(struct time_block *b, struct time_block_record *r);
