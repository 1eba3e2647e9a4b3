/* SPDX-License-Identifier: MIT */
/*
 * What a packer is made of; private to pack*.c.
 *
 *	packclass.c   goes through the run once: each record gets a class (same length, same event),
 *	              some of each class are looked at, and each word gets a role
 *	packmatch.c   goes through it again: each record gets a template (same KEEP words), and what
 *	              is not as expected is collected, class by class
 *	packchain.c   the call chains met, as a tree
 *	pack.c        writes all that as columns
 *
 * All memory is taken once and is bounded; what finds no more room goes to class 0, whose records
 * are kept as they are.
 */
#pragma once

#include "dump/pack.h"
#include "dump/format.h"
#include "dump/packchain.h"

#include <string.h>

#define MAX_RECORDS   PACK_RUN_RECORDS
#define MAX_CLASSES   64u
#define MAX_TEMPLATES 8192u
#define MAX_WORDS     256u /* of 4 bytes; what is behind them in a long record is bulk */
#define NR_SAMPLES    64u  /* records of a class that are looked at */
#define ARENA_WORDS   (FMT_PACK_MAX_WORDS / 2) /* of 8 bytes: the templates */

struct pack_class {
	uint64_t key; /* the record's header without its chain; and the event: */
	uint32_t event;
	uint32_t nr, kept; /* records; of these, not in class 0 after all */
	uint16_t words, chain_at, bulk_at, bulk_words;
	bool has_time, has_tid, changes;
	uint16_t tid_at, time_at; /* words */
	uint32_t recent;	  /* the template last met */
	/* Samples: every `stride`-th record. */
	uint32_t stride, nr_samples;
	uint32_t sample[NR_SAMPLES];
	uint8_t role[MAX_WORDS];
	/* By word of 8 bytes: what must be as in the template, and what may vary. */
	uint64_t keep[MAX_WORDS / 2], vary[MAX_WORDS / 2];
	uint16_t vary_at[FMT_PACK_MAX_VARY];
	uint16_t direct_at[MAX_WORDS];
	uint16_t same_at[8], prev_at[8]; /* TID and PREV words to be compared */
	uint8_t nr_vary, nr_same, nr_prev;
	uint16_t nr_direct;
	/* Where its share of the packer's arrays begins. */
	uint32_t first_time, first_value;
	uint32_t nr_values[FMT_PACK_MAX_VARY + MAX_WORDS]; /* VARY words first, then DIRECT */
	uint32_t nr_chains;
};

struct template
{
	uint32_t words; /* in the arena */
	uint32_t nr;	/* records */
	uint32_t rank;
	uint32_t chain; /* the last one */
	uint32_t succ;	/* the template that came after it last */
	uint16_t cls;
	uint64_t hash;
};

struct packer {
	/* Of the run. */
	const struct record_layout *layout;
	uint32_t time_off, tid_off, ip_off, chain_off, rest_off; /* bytes in a sample; 0: none */
	bool has_chain, has_raw;
	uint32_t nr_records;
	const uint8_t *rec[MAX_RECORDS];
	uint8_t cls[MAX_RECORDS];
	uint64_t raw_bytes; /* of class 0, with the tail */
	struct bytes tail;
	/* Classes. */
	struct pack_class classes[MAX_CLASSES];
	uint32_t nr_classes;
	uint16_t class_index[1024];
	/* Templates, from 1. */
	struct template tpl[MAX_TEMPLATES];
	uint32_t nr_tpl;
	uint16_t tpl_index[4 * MAX_TEMPLATES];
	uint64_t arena[ARENA_WORDS];
	uint32_t arena_used;
	/* What is written. */
	uint32_t runs[MAX_RECORDS], misses[MAX_RECORDS];
	uint32_t tid_runs[MAX_RECORDS], tids[MAX_RECORDS];
	uint32_t nr_runs, nr_tid_runs;
	uint32_t tid_succ[FMT_PACK_THREADS];
	uint64_t time_ns;
	uint32_t first_tid;
	uint64_t times[MAX_RECORDS];
	uint32_t masks[MAX_RECORDS];
	uint32_t chain_refs[MAX_RECORDS];
	uint32_t values[PACK_RUN_BYTES / 4], deltas[PACK_RUN_BYTES / 4];
	struct chains chains;
	uint8_t split[1 << 16]; /* the record that lies in both pieces */
	uint8_t out[PACK_RUN_BYTES + (64 << 10)];
};

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bytes of the chain's addresses in a record of `c`, which has one. */
static inline uint32_t chain_bytes(const struct packer *p, const uint8_t *rec)
{
	return (uint32_t)load64(rec + p->chain_off) * 8;
}

/* Word `w` of a record whose chain has that many bytes. */
static inline uint32_t word_of(const struct pack_class *c, const uint8_t *rec, uint32_t chain,
			       uint32_t w)
{
	uint32_t off = w * 4;

	if (w >= c->chain_at)
		off += chain;
	if (w >= c->bulk_at)
		off += c->bulk_words * 4u;
	return load32(rec + off);
}

/* Where things are in the samples of a channel. */
void packclass_layout(struct packer *p, const struct record_layout *l);
/* First pass: p->rec, p->cls, classes with their samples. -E2BIG: too many records; -EBADMSG: what
 * is no record lies in both pieces. */
int packclass_sort(struct packer *p, const struct bytes *pieces, int nr);
/* Gives the words of all classes their roles. */
void packclass_plan(struct packer *p);
/* Second pass. */
void packmatch(struct packer *p);
