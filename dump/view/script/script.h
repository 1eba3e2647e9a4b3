/* SPDX-License-Identifier: MIT */
/* Prints a dump as lines: one event per line, oldest first, with times relative to the trigger; or
 * as NDJSON, one object per line, as specified in SCHEMA.md. */
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
	/* 0: one per CPU, if there are enough records. Ignored with a limit. Does not change the
	 * output. */
	unsigned nr_threads;
	/* Filters; an empty list accepts all. A record without the value does not match. */
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
	uint64_t nr_bad_blocks; /* of records and ledger: unreadable and not printed */
};

/* True when `pattern` matches the name of an event of this dump, or of a kernel record. */
bool script_event_known(const struct meta *m, const char *pattern);

/* Prints to `out`. Always sets *res. 0; -EPIPE and other errnos of writing; -ENOMEM. Bad blocks are
 * not an error. */
int script_print(struct reader *r, const struct meta *m, const struct script_options *opt,
		 FILE *out, struct script_result *res, struct err *err);
