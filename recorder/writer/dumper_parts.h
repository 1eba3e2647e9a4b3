/* SPDX-License-Identifier: MIT */
/* Shared by dumper*.c. */
#pragma once

#include "dump/file/writer.h"
#include "recorder/writer/dumper.h"
#include "recorder/writer/dump_workers.h"

#include <pthread.h>

#define DUMPER_MAX_MERGED 66

struct event_formats;
struct thread_snapshot;

struct dumper {
	struct dumper_options opt;
	struct event_formats *formats;
	struct writer *writer;
	struct tidset *tids;
	struct dump_workers *work;
	struct thread_snapshot *states;
	pthread_t thread;
	bool has_thread;
	int efd;
	int stop_fd; /* an eventfd: ends the search for symbols */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	/* Under `lock`. */
	pid_t tid; /* of the thread; 0: not started yet */
	bool in_hurry;
	enum dumper_phase phase;
	bool quit;
	struct dumper_job job;
	struct engine_merged merged[DUMPER_MAX_MERGED];
	size_t nr_merged;
	struct dumper_totals totals;
	struct dumper_result result;
	/* Only for the main loop: time and CPU time at the last dumper_watch(). */
	uint64_t watched_ns, watched_cpu_ns;
	/* Only for the thread. */
	struct store *store;   /* where this dump goes: one of opt's */
	int fd;		       /* of the file; -1: not begun */
	uint64_t walked_bytes; /* of rings and AUX areas, before any were cut off */
	struct err cut;	       /* why writing was cut short; empty: it was not */
	struct fmt_dump_stats stats;
	struct fmt_symbol_stats symbols;
	pid_t hung_names;   /* see symbols_child.h */
	bool has_addresses; /* records or AUX areas may need symbols */
};

/* Walks all windows. *from_ns: the oldest time in any of them. */
void dumper_walk(struct dumper *d, uint64_t *from_ns);

/* After the walk: writes the file. Releases the rings as soon as their bytes are written and sets
 * *released; otherwise the caller releases them. */
int dumper_make_file(struct dumper *d, uint64_t from_ns, uint64_t started_ns, bool *released,
		     struct err *err);

/* Sample fields with addresses. */
#define DUMPER_ADDRESSES (PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER)

/* ---- evidence of the trigger: dumper_evidence.c ---- */
/* Before the ledger is written: marks the threads of the evidence as sampled. */
void dumper_note_evidence(struct dumper *d);
/* Called after the rings are released. */
int dumper_write_evidence(struct dumper *d, struct err *err);

/* ---- a dump that can't be written to its end: dumper_cut.c ---- */
/*
 * After a step of writing that ended with `rc`: cuts a failed dump to what is whole, less `bytes` for
 * what must follow. 0: go on; else `rc`: there is nothing to go on with.
 */
int dumper_go_on(struct dumper *d, int rc, uint64_t bytes, const struct err *err);
/* Writes the windows again, as far as their records are in the file. */
void dumper_write_cut_windows(struct dumper *d);
/* Keeps the whole blocks of a dump that can't even get an end. False: no record was written. */
bool dumper_leave_unfinished(struct dumper *d, const struct err *err);

/* Asks the main loop for the hits merged so far, and waits for them. */
void dumper_ask_to_seal(struct dumper *d);
