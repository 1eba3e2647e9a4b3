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
 *	the dump's thread             ▼ dumpwork_next(): in the order of their numbers
 *
 * So a file has the newest block of every ring first: one that ends early has the last moments of
 * all. All memory is taken in dumpwork_new(), about 8 MiB a worker.
 *
 * One thread, the dump's, calls. dumpwork_hurry() and dumpwork_cpu_ns() are the main loop's, which
 * never waits for a lock that a worker has: a worker may be long in getting a CPU.
 */
#pragma once

#include "dump/file/block.h"
#include "recorder/capture/banks.h"

struct dumpwork;
struct err;
struct tidset;

struct dumpwork_options {
	unsigned nr_workers; /* 0: half of the CPUs, at least 1, at most DUMPWORK_MAX_DEFAULT */
	enum block_level level;
	bool low_priority; /* idle until dumpwork_hurry(); see priority_can_return() */
};

#define DUMPWORK_MAX_DEFAULT 4

int dumpwork_new(const struct dumpwork_options *opt, struct dumpwork **out, struct err *err);
/* Not between dumpwork_begin() and dumpwork_end(). */
void dumpwork_free(struct dumpwork *w);

/* Ordinary priority; false: back to idle. */
void dumpwork_hurry(struct dumpwork *w, bool hurry);
/* CPU time that the workers have used. */
uint64_t dumpwork_cpu_ns(const struct dumpwork *w);

/* Walks `nr` frozen rings (window_walk), the i-th getting id i, and returns when all are done. */
void dumpwork_walk(struct dumpwork *w, struct banks *const *banks, size_t nr, struct tidset *tids);

/* Starts making blocks of what was walked, for a dump with that seed (block_seed()). */
void dumpwork_begin(struct dumpwork *w, uint64_t seed);
/*
 * The next block in the order of the file: its header, and its frame with padding, borrowed until
 * the next call. 1; 0 when that was all; -errno.
 */
int dumpwork_next(struct dumpwork *w, struct fmt_block *h, struct bytes *stored, struct err *err);
/* No more blocks are wanted. When it returns no worker looks at a ring any more. */
void dumpwork_end(struct dumpwork *w);
