/* SPDX-License-Identifier: MIT */
/*
 * The opened parts of a dump that views use. Each part needs those before it:
 *
 *	reader, meta ─▶ history ─▶ symbols ─▶ stacks ─▶ chains ─▶ schedule
 *	             └▶ fields ──────────────────────────────────┘
 */
#pragma once

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/model/process_history.h"
#include "dump/view/model/timeline.h"
#include "dump/view/print/fields.h"
#include "dump/view/schedule/schedule.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/unwind/call_chains.h"
#include "dump/view/unwind/stack.h"

#define ANALYSIS_HISTORY  1u
#define ANALYSIS_FIELDS	  2u
#define ANALYSIS_SYMBOLS  4u  /* and history */
#define ANALYSIS_STACKS	  8u  /* and symbols */
#define ANALYSIS_CHAINS	  16u /* and stacks */
#define ANALYSIS_SCHEDULE 32u /* and fields, chains */

struct analysis {
	struct reader *r;
	const struct meta *m;
	/* NULL: not opened. */
	struct process_history *history;
	struct fields *fields;
	struct symbols *symbols;
	struct stacks *stacks;
	struct call_chains *chains;
	struct schedule *sched;
};

/* Opens those of `parts` (ANALYSIS_*) that are not open yet; r and m must be set and outlive it.
 * Call analysis_close() in any case. 0, -ENOMEM, ... */
int analysis_open(struct analysis *a, unsigned parts, struct err *err);
/* Closes the parts, not r and m. */
void analysis_close(struct analysis *a);

/* Number of unreadable parts of history and symbols. */
uint64_t analysis_nr_broken(const struct analysis *a);

/* The name of a tracepoint's event, "sched:sched_switch"; NULL: its format is not in the dump. */
const char *analysis_event(const struct analysis *a, const struct meta_event *e);
/* A field of a tracepoint's record; NULL: no such field. */
const struct field *analysis_field(const struct analysis *a, const struct meta_event *e,
				   const char *name);
/* The same as a number; 0: no such field. */
uint64_t analysis_number(const struct analysis *a, const struct timeline_record *rec,
			 const char *name);
