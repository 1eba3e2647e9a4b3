/* SPDX-License-Identifier: MIT */
/*
 * The payload of a block of RECORDS with FMT_ENC_PACKED, as C; dump/format/PACKED.md is the same in
 * prose and tables. A part of format.h, which includes it.
 *
 *   fmt_pack │ fmt_pack_class ... │ roles │ constants │ lengths of streams │ streams
 */
#pragma once

#include <stdint.h>

struct fmt_pack {
	uint32_t nr_records;
	uint32_t content_bytes; /* of all records and the tail */
	uint64_t time_ns;	/* what the first record's time is counted back from */
	uint32_t first_tid;	/* the thread before the first record */
	uint32_t nr_classes;	/* fmt_pack_class that follow; class 0 has none */
	uint32_t nr_templates;	/* template 0 not counted */
	uint32_t nr_chains;
	uint32_t nr_shared; /* of these: referred to by number */
	uint32_t nr_addrs;
	uint32_t nr_streams;
	uint32_t tail_bytes; /* behind the last whole record, at the end of BULK */
};

/* Records that have the same words at the same places. */
struct fmt_pack_class {
	uint32_t nr_records;
	uint16_t words;	     /* of 4 bytes, chain and bulk not counted */
	uint16_t chain_at;   /* the chain stands before this word; FMT_PACK_NONE: it has none */
	uint16_t bulk_at;    /* as chain_at, not before it */
	uint16_t bulk_words; /* of 4 bytes */
	uint32_t flags;
};

#define FMT_PACK_NONE	 0xffffu
#define FMT_PACK_CHANGES 1u /* fmt_pack_class.flags: the thread is expected to be another one */

/* What a word of a record is, one byte each. */
enum fmt_pack_role {
	FMT_ROLE_CONST = 0,   /* the same in the whole class */
	FMT_ROLE_KEEP = 1,    /* the same in all records of a template */
	FMT_ROLE_VARY = 2,    /* as in the template's record before, or in the column */
	FMT_ROLE_DIRECT = 3,  /* in the column */
	FMT_ROLE_TIME = 4,    /* low half of the time; */
	FMT_ROLE_TIME_HI = 5, /* high half: the next word */
	FMT_ROLE_TID = 6,     /* the thread */
	FMT_ROLE_PREV = 7,    /* the thread of the record before */
	FMT_ROLE_SIZE = 8,   /* as CONST, with 8 times the chain's length added to its upper half */
	FMT_ROLE_NR = 9,     /* the chain's length */
	FMT_ROLE_IP = 10,    /* low half of the chain's second address; */
	FMT_ROLE_IP_HI = 11, /* high half: the next word */
};

/* Streams, in this order; from FMT_STREAM_CLASS on those of each class. */
enum fmt_pack_stream {
	FMT_STREAM_RUNS = 0,	  /* column: how often the next template was as expected */
	FMT_STREAM_TEMPLATES = 1, /* column: the template that came instead */
	FMT_STREAM_TID_RUNS = 2,
	FMT_STREAM_TIDS = 3,
	FMT_STREAM_CLASSES = 4,	   /* column: the class of each template from 1 on */
	FMT_STREAM_BACK = 5,	   /* column: for each chain the nodes there were, less the one it
				      branches off */
	FMT_STREAM_GROWN = 6,	   /* column: how many nodes each chain adds, one below the other */
	FMT_STREAM_FRAME_RUNS = 7, /* column: how often the next node's address was as expected */
	FMT_STREAM_FRAMES = 8,	   /* column: what came instead: a place in ADDRS */
	FMT_STREAM_ADDRS = 9,	   /* column: addresses, ascending, each less the one before */
	FMT_STREAM_BULK = 10,	   /* bytes */
	FMT_STREAM_CLASS = 11,
};

/* Streams of a class: these; then, for each word in turn that is KEEP, VARY or DIRECT, its column.
 */
enum {
	FMT_STREAM_CLASS_TIMES = 0,  /* column: time of the record before, less this one's */
	FMT_STREAM_CLASS_MASKS = 1,  /* column: bit i: its i-th VARY word is in the column; above
					them: the chain is in the column */
	FMT_STREAM_CLASS_CHAINS = 2, /* column: 0: the next chain that is not shared; else a
					shared one's number and 1 */
	FMT_STREAM_CLASS_WORDS = 3,
};

/* What a reader must be able to hold: of VARY words in a class; of words in all templates, each as
 * many as its class has; of nodes. */
#define FMT_PACK_MAX_VARY    24
#define FMT_PACK_MAX_RECORDS 32768u
#define FMT_PACK_MAX_WORDS   131072u
#define FMT_PACK_MAX_NODES   32768u
/* Threads whose successor is remembered, by their number modulo this. */
#define FMT_PACK_THREADS 4096u

/* Of a column of numbers. */
struct fmt_column {
	uint32_t nr;
	uint8_t kind;	    /* enum fmt_column_kind */
	uint8_t bits;	    /* CONST, FIXED: of a number */
	uint8_t nr_symbols; /* HUFFMAN: lengths of codes that follow, 4 bits each */
	uint8_t reserved;
};

enum fmt_column_kind {
	FMT_COLUMN_CONST = 0, /* one number, whole bytes: all are that */
	FMT_COLUMN_FIXED = 1,
	FMT_COLUMN_HUFFMAN = 2,
};

/* A stream of words is one byte, this, and a column of what it says; before it, with TABLE, the
 * table. */
enum fmt_column_coding {
	FMT_CODING_PLAIN = 0,
	FMT_CODING_DELTA = 1, /* difference to what it was before, folded: 0 -1 1 -2 2 ... */
	FMT_CODING_TABLE = 2, /* place in a table */
};

#define FMT_COLUMN_MAX_BITS 12	/* of a code */
#define FMT_COLUMN_SYMBOLS  136 /* numbers up to 2^64 - 1 */

_Static_assert(sizeof(struct fmt_pack) == 48, "fmt_pack");
_Static_assert(sizeof(struct fmt_pack_class) == 16, "fmt_pack_class");
_Static_assert(sizeof(struct fmt_column) == 8, "fmt_column");
