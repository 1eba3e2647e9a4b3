/* SPDX-License-Identifier: MIT */
/*
 * The packer; private to pack*.c.
 *
 *	pack_classes.c    first pass: assigns a class to each record (same length, same event),
 *	                  samples each class, assigns a role to each word
 *	pack_match.c      second pass: assigns a template to each record (same KEEP words), collects
 *	                  what was not predicted, class by class
 *	pack_templates.c  the templates
 *	pack_chains.c     the call chains, as a tree
 *	pack.c            writes the columns
 *
 * All memory is allocated once and bounded. A record that exceeds a limit goes to class 0, which
 * keeps records as bytes.
 */
#pragma once

#include "dump/packed/pack.h"
#include "dump/format/format.h"
#include "dump/packed/pack_chains.h"

#include <string.h>

#define MAX_RECORDS   PACK_RUN_RECORDS
#define MAX_CLASSES   64u
#define MAX_TEMPLATES 8192u
#define MAX_WORDS     256u		       /* of 4 bytes; the rest of a longer record is bulk */
#define NR_SAMPLES    64u		       /* records of a class that are examined */
#define ARENA_WORDS   (FMT_PACK_MAX_WORDS / 2) /* of 8 bytes: the templates */

/*
 * The position of a word: a byte offset, shifted by the chain (part 1), or by chain and bulk (2).
 */
struct pack_place {
	uint16_t at, part;
};

/* A word of 8 bytes, masked, by which templates differ. */
struct pack_key {
	struct pack_place place;
	uint64_t mask, factor; /* for hashing */
};

/* A word of 4 bytes whose values are collected. */
struct pack_value {
	struct pack_place place;
	uint32_t next; /* index of the next in packer.values */
};

struct pack_class {
	uint64_t key; /* the record's header without its chain */
	uint32_t event;
	uint32_t nr, kept; /* records; of these, not moved to class 0 */
	uint16_t words, chain_at, bulk_at, bulk_words;
	bool has_time, has_tid, changes;
	uint16_t tid_at, time_at; /* words */
	/* Samples: every `stride`-th record. */
	uint32_t stride, nr_samples;
	uint32_t sample[NR_SAMPLES];
	uint8_t role[MAX_WORDS];
	/*
	 * By word of 8 bytes: the bits that a template keeps, and of these the firm ones, which are
	 * equal in all records so far. Templates differ in the others, the loose words.
	 */
	uint32_t part_end[3]; /* ends of the parts of a record, in words of 8 bytes */
	uint64_t keep[MAX_WORDS / 2], firm[MAX_WORDS / 2], firm_value[MAX_WORDS / 2];
	struct pack_key loose[MAX_WORDS / 2];
	struct pack_value value[MAX_WORDS];	       /* VARY words first, then DIRECT */
	struct pack_place time, tid, same[8], prev[8]; /* TID and PREV words to be compared */
	uint16_t nr_loose, nr_vary, nr_values, nr_same, nr_prev;
	/* Start of its part of the packer's arrays. */
	uint32_t first_time, first_value;
	uint32_t nr_chains;
};

struct pack_template {
	uint64_t hash;
	uint32_t words; /* in the arena */
	uint32_t nr;	/* records */
	uint32_t chain; /* the last one */
	uint16_t succ;	/* the template that followed it last */
	uint16_t rank;
	uint8_t cls;
};

struct packer {
	/* The run. */
	const struct record_layout *layout;
	uint32_t time_off, tid_off, ip_off, chain_off, rest_off; /* bytes in a sample; 0: none */
	bool has_chain, has_raw;
	uint32_t nr_records;
	const uint8_t *rec[MAX_RECORDS];
	uint8_t cls[MAX_RECORDS];
	struct bytes tail;
	/* Classes. */
	struct pack_class classes[MAX_CLASSES];
	uint32_t nr_classes;
	uint16_t class_index[1024];
	/* Templates, from 1. */
	struct pack_template tpl[MAX_TEMPLATES];
	uint32_t nr_tpl;
	uint16_t tpl_index[4 * MAX_TEMPLATES]; /* by hash; the first 1 << index_bits are used */
	unsigned index_bits;
	uint64_t arena[ARENA_WORDS];
	uint32_t arena_used;
	/* Collected for the columns. */
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
	struct pack_chains chains;
	uint8_t split[1 << 16]; /* the record that is in both pieces */
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

/* Size of the addresses of a record's chain. */
static inline uint32_t chain_bytes(const struct packer *p, const uint8_t *rec)
{
	return (uint32_t)load64(rec + p->chain_off) * 8;
}

/* Word `w` of a record with a chain of `chain` bytes. */
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

/* A record with the bases for the positions in its three parts. */
struct pack_view {
	const uint8_t *base[3]; /* by pack_place.part */
	uint32_t chain;		/* bytes */
};

static inline void view_init(const struct packer *p, const struct pack_class *c, const uint8_t *rec,
			     struct pack_view *v)
{
	v->chain = c->chain_at != FMT_PACK_NONE ? chain_bytes(p, rec) : 0;
	v->base[0] = rec;
	v->base[1] = rec + v->chain;
	v->base[2] = v->base[1] + c->bulk_words * 4u;
}

static inline uint64_t at64(const struct pack_view *v, struct pack_place at)
{
	return load64(v->base[at.part] + at.at);
}

static inline uint32_t at32(const struct pack_view *v, struct pack_place at)
{
	return load32(v->base[at.part] + at.at);
}

/* The part of word `w`. */
static inline uint16_t part_of(const struct pack_class *c, uint32_t w)
{
	return w >= c->bulk_at ? 2 : w >= c->chain_at ? 1 : 0;
}

/* Computes the offsets of fields in the samples of a channel. */
void pack_classes_layout(struct packer *p, const struct record_layout *l);
/* First pass: fills p->rec, p->cls and the classes with their samples. -E2BIG: too many records;
 * -EBADMSG: data that is not a record spans both pieces. */
int pack_classes_sort(struct packer *p, const struct bytes *pieces, int nr);
/* Gives the words of all classes their roles. */
void pack_classes_plan(struct packer *p);
/* Second pass: collects what was not predicted. */
void pack_match(struct packer *p);

void pack_template_clear(struct packer *p);
/* Makes the bits `mask` of word `w` of 8 bytes loose. */
void pack_template_loosen(struct pack_class *c, uint32_t w, uint64_t mask);
/* Finds or adds the template of a record of class `cls`; 0: no room. */
uint32_t pack_template_find(struct packer *p, uint32_t cls, const struct pack_view *v);

/* Compares `nr` words of 8 bytes, masked with `keep`, with a template; 0: equal. */
static inline uint64_t words_differ(const uint8_t *at, const uint64_t *tpl, const uint64_t *keep,
				    uint32_t nr)
{
	typedef uint64_t pair __attribute__((vector_size(16)));
	pair differ = {0}, a, b, k;
	uint64_t last = 0;
	uint32_t w;

	for (w = 0; w + 1 < nr; w += 2) {
		memcpy(&a, at + w * 8, sizeof(a));
		memcpy(&b, tpl + w, sizeof(b));
		memcpy(&k, keep + w, sizeof(k));
		differ |= (a ^ b) & k;
	}
	if (w < nr)
		last = (load64(at + w * 8) ^ tpl[w]) & keep[w];
	return differ[0] | differ[1] | last;
}

/* Whether a record has template `t` of its class. The header is equal in the whole class. */
static inline bool pack_template_is(const struct packer *p, const struct pack_class *c,
				    const struct pack_view *v, const struct pack_template *t)
{
	const uint64_t *tpl = p->arena + t->words;
	const uint32_t *end = c->part_end;
	uint64_t differ = words_differ(v->base[0] + 8, tpl + 1, c->keep + 1, end[0] - 1);

	if (end[1] > end[0])
		differ |= words_differ(v->base[1] + end[0] * 8, tpl + end[0], c->keep + end[0],
				       end[1] - end[0]);
	if (end[2] > end[1])
		differ |= words_differ(v->base[2] + end[1] * 8, tpl + end[1], c->keep + end[1],
				       end[2] - end[1]);
	return !differ;
}
