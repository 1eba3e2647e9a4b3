/* SPDX-License-Identifier: MIT */
/*
 * A dump as lines: one event a line, oldest first, times relative to the trigger; or NDJSON, one
 * object a line, as SCHEMA.md says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct meta;
struct reader;

struct script_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	uint64_t limit;		 /* lines; 0: no limit */
	bool json, color;
	bool no_pt; /* calls and returns of Intel PT are left out */
	/* 0: as many as there are CPUs and work for. A limit is for one. The output is the same. */
	unsigned nr_threads;
	/* Filters; an empty list takes all. What a record doesn't say doesn't match. */
	const char *const *comms; /* names, with * and ? */
	size_t nr_comms;
	const uint32_t *pids, *tids;
	size_t nr_pids, nr_tids;
	const uint32_t *cpus;
	size_t nr_cpus;
	/* "sched:*", "sched_switch", "PERF_RECORD_LOST" */
	const char *const *events;
	size_t nr_events;
};

struct script_result {
	uint64_t nr_printed;
	uint64_t nr_bad_blocks; /* of records and ledger: could not be read and are not printed */
};

/* True when `pattern` is the name of a kind of event in this dump, or of a record of the kernel's.
 */
bool script_event_known(const struct meta *m, const char *pattern);

/*
 * Prints to `out`. *res is set in any case. 0; -EPIPE and other errnos of writing; -ENOMEM. Bad
 * blocks are no error.
 */
int script_print(struct reader *r, const struct meta *m, const struct script_options *opt,
		 FILE *out, struct script_result *res, struct err *err);
