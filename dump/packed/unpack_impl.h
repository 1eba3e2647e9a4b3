/* SPDX-License-Identifier: MIT */
/*
 * The unpacker; private to unpack*.c. Parts are unpacked when first needed and marked in `have`.
 */
#pragma once

#include "dump/packed/column.h"
#include "dump/packed/unpack.h"

#include <string.h>

#define MAX_CLASSES 256u

enum { HAVE_TIMES = 1, HAVE_TIDS = 2, HAVE_CHAINS = 4, HAVE_OFFSETS = 8 };

/* A word that differs from record to record. */
struct varying_word {
	uint16_t word;
	uint8_t role;
	uint32_t values; /* VARY, DIRECT: index of the first in unpack_class.values */
};

struct unpack_class {
	struct fmt_pack_class f;
	const uint8_t *roles;
	const uint8_t *constants; /* CONST and SIZE words, u32 each */
	uint32_t first_stream;
	uint32_t first_record; /* start of its part of the arrays by class */
	uint32_t nr_templates;
	uint32_t nr_vary, nr_direct;
	bool has_chain, has_time, has_tid;
	uint16_t tid_at;
	bool have_masks, have_fixed; /* `masks`; `images` */
	uint8_t have_values;	     /* enum unpack_part: which `values` are valid */
	uint64_t needed;	     /* bit i: UNPACK_NEEDED includes word i */
	struct buf masks;	     /* u32 per record */
	struct buf images;	     /* u32 per word and template: CONST and KEEP words, others 0 */
	struct buf values;	     /* u32 per record: VARY words, then DIRECT ones */
	struct buf varying;	     /* struct varying_word, of what have_values says */
	size_t nr_varying;
};

struct unpacker {
	struct fmt_pack h;
	struct bytes payload;
	unsigned have;
	struct buf streams; /* struct bytes each */
	struct unpack_class classes[MAX_CLASSES];
	uint32_t max_class; /* classes up to it may own memory */
	/* By record. */
	struct buf tpl;	    /* u16 */
	struct buf ordinal; /* u32: index of the record in its class */
	struct buf times;   /* u64 */
	struct buf tids;    /* u32: [0] before the first record, then after each */
	struct buf offsets; /* u32 */
	struct buf bulk;    /* u32: offset of its part in BULK */
	/* By class and record. */
	struct buf tpl_by_class;   /* u16: template, counted within the class */
	struct buf chain_by_class; /* u32: chain */
	/* By template. */
	struct buf tpl_class; /* u32 */
	struct buf tpl_place; /* u32: counted within the class */
	/* Chains. */
	struct buf leaf, depth_of_chain; /* u32 per chain */
	struct buf parent, addr;	 /* u16 per node */
	struct buf addrs;		 /* u64 */
	struct buf scratch;
};

static inline uint32_t unpack_class_of(const struct unpacker *u, uint32_t tpl)
{
	return tpl ? ((const uint32_t *)u->tpl_class.p)[tpl - 1] : 0;
}

static inline struct bytes stream_of(const struct unpacker *u, uint32_t i)
{
	return ((const struct bytes *)u->streams.p)[i];
}

/* Sets `err` and returns rc. */
int unpack_broken(struct err *err, int rc, const char *what);
/* Unpacks everything that records need except the columns of their class. */
int unpack_need_all(struct unpacker *u);

/* Room for `nr` items of `size` bytes, discarding the content. 0 or -ENOMEM. */
int unpack_room(struct buf *b, size_t nr, size_t size);

/* A column of exactly `nr` numbers from a stream. */
int unpack_column32(struct bytes stream, uint32_t nr, struct buf *out);
/* A column of up to `max` numbers. */
int unpack_column32_upto(struct bytes stream, uint32_t max, struct buf *out, uint32_t *nr);

/* A stream of words: numbers, differences or indexes in a table. */
struct word_stream {
	uint8_t coding;
	uint32_t nr, at;
	struct buf v, table;
	uint32_t nr_table;
};
int words_open(struct word_stream *w, struct bytes stream, uint32_t max);
void words_close(struct word_stream *w);
/* The next word; `last` is the previous value. 0 or -EBADMSG. */
int words_next(struct word_stream *w, uint32_t last, uint32_t *v);

int unpack_masks(struct unpacker *u, struct unpack_class *c);
/* Images, and the values of a class that `part` needs. */
int unpack_words(struct unpacker *u, uint32_t cls, enum unpack_part part);
/* The chain of each record, and the tree. */
int unpack_chains(struct unpacker *u);
/* Writes the addresses of a chain, innermost first. */
void unpack_chain(const struct unpacker *u, uint32_t chain, uint8_t *dst);
/* The second address of a chain with at least two. */
uint64_t unpack_chain_second(const struct unpacker *u, uint32_t chain);
