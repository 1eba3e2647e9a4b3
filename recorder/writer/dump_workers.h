/* SPDX-License-Identifier: MIT */
/*
 * The workers of a dump: threads that walk frozen rings and compress runs and copies of AUX areas
 * into blocks, in place, while the dump's thread writes the finished ones. They run at idle priority
 * until dump_workers_hurry(), and sleep between dumps.
 *
 *	runs, numbered   ring 0, newest │ ring 1, newest │ ... │ ring 0, the next older │ ...
 *	                      ▼                ▼
 *	workers          walk, pack, LZ4  walk, pack, LZ4     each holds one finished block
 *	                      └───────┬────────┘
 *	the dump's thread             ▼ dump_workers_next(): in the order of their numbers
 *
 * The newest block of every ring comes first, so that a truncated file has the last moments of all
 * rings. dump_workers_new() allocates all memory, about 8 MiB per worker.
 *
 * Called by the dump's thread only, except dump_workers_hurry() and dump_workers_cpu_ns(): the main
 * loop calls these and never waits for a lock held by a worker, which may not get a CPU for long.
 */
#pragma once

#include "dump/file/block.h"
#include "recorder/capture/banks.h"

struct dump_workers;
struct err;
struct ledger;
struct tidset;

struct dump_workers_options {
	unsigned nr_workers; /* 0: half of the CPUs, at least 1, at most DUMPWORK_MAX_DEFAULT */
	enum block_level level;
	struct ledger *ledger;
	bool compact;	   /* there are compact channels, whose names are in the ledger */
	bool low_priority; /* idle until dump_workers_hurry(); see priority_can_return() */
};

#define DUMPWORK_MAX_DEFAULT 4

int dump_workers_new(const struct dump_workers_options *opt, struct dump_workers **out,
		     struct err *err);
/* Not between dump_workers_begin() and dump_workers_end(). */
void dump_workers_free(struct dump_workers *w);

/* Ordinary priority; false: back to idle. */
void dump_workers_hurry(struct dump_workers *w, bool hurry);
/* CPU time used by the workers. */
uint64_t dump_workers_cpu_ns(const struct dump_workers *w);

/* Walks `nr` frozen rings (window_walk) and returns when all are done. Ring i gets id i. */
void dump_workers_walk(struct dump_workers *w, struct banks *const *banks, size_t nr,
		       struct tidset *tids);

/* Starts making blocks of the walked rings, for a dump with this seed (block_seed()). */
void dump_workers_begin(struct dump_workers *w, uint64_t seed);
/* Returns the next block in file order: its header, and its frame with padding, borrowed until the
 * next call. 1; 0 after the last block; -errno. */
int dump_workers_next(struct dump_workers *w, struct fmt_block *h, struct bytes *stored,
		      struct err *err);
/* Stops the workers; after it returns no worker accesses a ring. */
void dump_workers_end(struct dump_workers *w);
