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
	uint64_t time_ns;	/* time before the first record */
	uint32_t first_tid;	/* the thread before the first record */
	uint32_t nr_classes;	/* with class 0, which has no fmt_pack_class */
	uint32_t nr_templates;	/* without template 0 */
	uint32_t nr_chains;
	uint32_t nr_shared; /* of these, referred to by number */
	uint32_t nr_addrs;
	uint32_t nr_streams;
	uint32_t tail_bytes; /* after the last complete record, at the end of BULK */
};

/* Records with the same layout of words. */
struct fmt_pack_class {
	uint32_t nr_records;
	uint16_t words;	     /* of 4 bytes, without chain and bulk */
	uint16_t chain_at;   /* the chain is before this word; FMT_PACK_NONE: no chain */
	uint16_t bulk_at;    /* likewise; at least chain_at */
	uint16_t bulk_words; /* of 4 bytes */
	uint32_t flags;
};

#define FMT_PACK_NONE	 0xffffu
#define FMT_PACK_CHANGES 1u /* fmt_pack_class.flags: the thread is expected to change */

/* How to restore a word of a record; one byte each. */
enum fmt_pack_role {
	FMT_ROLE_CONST = 0,   /* the same in the whole class */
	FMT_ROLE_KEEP = 1,    /* the same in all records of a template */
	FMT_ROLE_VARY = 2,    /* as in the template's previous record, or in the column */
	FMT_ROLE_DIRECT = 3,  /* in the column */
	FMT_ROLE_TIME = 4,    /* low half of the time; */
	FMT_ROLE_TIME_HI = 5, /* high half: the next word */
	FMT_ROLE_TID = 6,     /* the thread */
	FMT_ROLE_PREV = 7,    /* the previous record's thread */
	FMT_ROLE_SIZE = 8,   /* as CONST, with 8 times the chain's length added to its upper half */
	FMT_ROLE_NR = 9,     /* the chain's length */
	FMT_ROLE_IP = 10,    /* low half of the chain's second address; */
	FMT_ROLE_IP_HI = 11, /* high half: the next word */
};

/* Streams, in this order; from FMT_STREAM_CLASS on those of each class. */
enum fmt_pack_stream {
	FMT_STREAM_RUNS = 0,	  /* column: numbers of correctly predicted templates */
	FMT_STREAM_TEMPLATES = 1, /* column: the templates not predicted */
	FMT_STREAM_TID_RUNS = 2,
	FMT_STREAM_TIDS = 3,
	FMT_STREAM_CLASSES = 4,	   /* column: the class of each template from 1 on */
	FMT_STREAM_BACK = 5,	   /* column: where each chain branches off, in nodes back */
	FMT_STREAM_GROWN = 6,	   /* column: how many nodes each chain adds */
	FMT_STREAM_FRAME_RUNS = 7, /* column: numbers of correctly predicted addresses */
	FMT_STREAM_FRAMES = 8,	   /* column: indexes in ADDRS of the addresses not predicted */
	FMT_STREAM_ADDRS = 9,	   /* column: addresses, ascending, each minus the previous one */
	FMT_STREAM_BULK = 10,	   /* bytes */
	FMT_STREAM_CLASS = 11,
};

/* Streams of a class: these, then one for each KEEP, VARY or DIRECT word in order. */
enum {
	FMT_STREAM_CLASS_TIMES = 0,  /* column: time of the previous record minus this one's */
	FMT_STREAM_CLASS_MASKS = 1,  /* column: bit i: the i-th VARY word is in its column; the bit
					above them: the chain is in CHAINS */
	FMT_STREAM_CLASS_CHAINS = 2, /* column: 0: the next chain that is not shared; else the
					number of a shared chain + 1 */
	FMT_STREAM_CLASS_WORDS = 3,
};

/* Limits of what a reader must hold: VARY words of a class, records, words of all templates (each
 * has as many as its class), nodes. */
#define FMT_PACK_MAX_VARY    24
#define FMT_PACK_MAX_RECORDS 32768u
#define FMT_PACK_MAX_WORDS   131072u
#define FMT_PACK_MAX_NODES   32768u
/* Size of the thread predictor's table. */
#define FMT_PACK_THREADS 4096u

/* Header of a column of numbers. */
struct fmt_column {
	uint32_t nr;
	uint8_t kind;	    /* enum fmt_column_kind */
	uint8_t bits;	    /* CONST, FIXED: of a number */
	uint8_t nr_symbols; /* HUFFMAN: lengths of codes that follow, 4 bits each */
	uint8_t reserved;
};

enum fmt_column_kind {
	FMT_COLUMN_CONST = 0, /* one number: the value of all */
	FMT_COLUMN_FIXED = 1,
	FMT_COLUMN_HUFFMAN = 2,
};

/* A stream of words is one byte, the coding, and a column; with TABLE, the table is between them. */
enum fmt_column_coding {
	FMT_CODING_PLAIN = 0,
	FMT_CODING_DELTA = 1, /* difference to the previous value, zigzag: 0 -1 1 -2 2 ... */
	FMT_CODING_TABLE = 2, /* index in a table */
};

#define FMT_COLUMN_MAX_BITS 12	/* of a code */
#define FMT_COLUMN_SYMBOLS  136 /* numbers up to 2^64 - 1 */

_Static_assert(sizeof(struct fmt_pack) == 48, "fmt_pack");
_Static_assert(sizeof(struct fmt_pack_class) == 16, "fmt_pack_class");
_Static_assert(sizeof(struct fmt_column) == 8, "fmt_column");
