/* SPDX-License-Identifier: MIT */
/*
 * The workers of a dump: threads that walk frozen rings and make finished blocks of their runs, and
 * of the copies of AUX areas, straight from where they are, while the dump's thread writes those
 * that are ready. They run at idle priority until they are told to hurry, and sleep when there is
 * no dump.
 *
 *	runs, numbered   ring 0, newest │ ring 1, newest │ ... │ ring 0, the next older │ ...
 *	                      ▼                ▼
 *	workers          walk, pack, LZ4  walk, pack, LZ4     each holds one finished block
 *	                      └───────┬────────┘
 *	the dump's thread             ▼ dump_workers_next(): in the order of their numbers
 *
 * So a file has the newest block of every ring first: one that ends early has the last moments of
 * all. All memory is taken in dump_workers_new(), about 8 MiB a worker.
 *
 * One thread, the dump's, calls. dump_workers_hurry() and dump_workers_cpu_ns() are the main loop's, which
 * never waits for a lock that a worker has: a worker may be long in getting a CPU.
 */
#pragma once

#include "dump/file/block.h"
#include "recorder/capture/banks.h"

struct dump_workers;
struct err;
struct tidset;

struct dump_workers_options {
	unsigned nr_workers; /* 0: half of the CPUs, at least 1, at most DUMPWORK_MAX_DEFAULT */
	enum block_level level;
	bool low_priority; /* idle until dump_workers_hurry(); see priority_can_return() */
};

#define DUMPWORK_MAX_DEFAULT 4

int dump_workers_new(const struct dump_workers_options *opt, struct dump_workers **out,
		     struct err *err);
/* Not between dump_workers_begin() and dump_workers_end(). */
void dump_workers_free(struct dump_workers *w);

/* Ordinary priority; false: back to idle. */
void dump_workers_hurry(struct dump_workers *w, bool hurry);
/* CPU time that the workers have used. */
uint64_t dump_workers_cpu_ns(const struct dump_workers *w);

/* Walks `nr` frozen rings (window_walk), the i-th getting id i, and returns when all are done. */
void dump_workers_walk(struct dump_workers *w, struct banks *const *banks, size_t nr,
		       struct tidset *tids);

/* Starts making blocks of what was walked, for a dump with that seed (block_seed()). */
void dump_workers_begin(struct dump_workers *w, uint64_t seed);
/*
 * The next block in the order of the file: its header, and its frame with padding, borrowed until
 * the next call. 1; 0 when that was all; -errno.
 */
int dump_workers_next(struct dump_workers *w, struct fmt_block *h, struct bytes *stored,
		      struct err *err);
/* No more blocks are wanted. When it returns no worker looks at a ring any more. */
void dump_workers_end(struct dump_workers *w);
