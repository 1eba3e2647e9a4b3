/* SPDX-License-Identifier: MIT */
/*
 * Makes a dump of frozen rings, in a thread at low priority, with workers (dump_workers.h) at an
 * even lower one. The main loop freezes the rings, starts a job and continues. The thread walks and
 * writes the rings, releases them as soon as their bytes are written, and reports twice to the main
 * loop:
 *
 *	main loop     freeze ── dumper_start ──────────── dumper_seal ─────────── dumper_take
 *	                              │                      ▲    │                    ▲
 *	thread                        ▼ walk, write, release │    ▼ names, stats,      │
 *	                              ...................... SEAL   footer, commit ... DONE
 *
 * A dump that fails late, because the disk is full or broken, is cut and ended early: it has the
 * newest records of all rings, and says what is missing. With a spill directory it is written there
 * instead, from the beginning, as long as the rings are frozen.
 *
 * dumper_fd() is readable at SEAL and at DONE. At SEAL the main loop passes the hits merged so far,
 * so that every hit is in this dump or in a later one. The rings are released before that, since
 * finding names may take seconds. thread_snapshot.h reads the states of threads meanwhile.
 */
#pragma once

#include "dump/base/err.h"
#include "dump/file/block.h"
#include "recorder/ledger/ledger.h"
#include "recorder/ledger/proc_scan.h"
#include "recorder/capture/recording.h"
#include "recorder/writer/store.h"
#include "trigger/engine/engine.h"

struct dumper;
struct host_info;

struct dumper_options {
	struct recording *recording;
	struct ledger *ledger;
	struct host_info *host;
	struct cgroup_limits *limits; /* of control groups; NULL: not recorded */
	struct store *store, *spill;  /* spill: for dumps that `store` can't take; NULL: none */
	unsigned max_cpus;	      /* number of workers, see dump_workers.h; 0: its default */
	enum block_level level;
	bool low_priority;   /* until dumper_watch() raises it; see priority_can_return() */
	uint64_t symbols_ns; /* time limit for symbols; 0: no symbols */
};

int dumper_new(const struct dumper_options *opt, struct dumper **out, struct err *err);
void dumper_free(struct dumper *d); /* waits for a dump in progress */

int dumper_fd(const struct dumper *d);

/* Cause and time of the dump. Copied, except what.evidence, which the thread owns. */
struct dumper_job {
	struct recording_freeze freeze;
	char rule_name[64], rule_text[256];
	struct sighting what;
	int64_t post_ns; /* time recorded after the hit, without the freeze */
	uint64_t hit_ns;
	uint32_t nr;		/* number of the dump in this recorder */
	struct proc_scan *scan; /* the ledger is written after it ends; NULL: none */
};

/* Starts a dump of the frozen rings. The dumper must be IDLE. */
void dumper_start(struct dumper *d, const struct dumper_job *job);

/*
 * Call this every DUMPER_PATIENCE_NS after dumper_start(). If the dump's threads, at idle priority,
 * got less than a quarter of a CPU since the last call, they get ordinary priority until the end of
 * this dump. False: no need to call again.
 */
bool dumper_watch(struct dumper *d);
#define DUMPER_PATIENCE_NS 30000000ull

enum dumper_phase { DUMPER_IDLE, DUMPER_WRITING, DUMPER_SEAL, DUMPER_SEALED, DUMPER_DONE };

/* Call when dumper_fd() is readable: drains it and returns the phase. */
enum dumper_phase dumper_poll(struct dumper *d);

struct dumper_totals {
	uint64_t nr_dumps, nr_refused, nr_hits, nr_held;
	struct fmt_sideband_stats sideband;
	struct fmt_repeats repeats; /* of the dump's cause */
};

/* In SEAL: sets the totals for the end of the dump. `merged` is copied. */
void dumper_seal(struct dumper *d, const struct engine_merged *merged, size_t nr,
		 const struct dumper_totals *totals);

/* After SEAL: ends the search for symbols and finishes the dump with those found so far. */
void dumper_hasten(struct dumper *d);

#define DUMPER_MAX_REACH 16

/* How far back a channel's rings reach: the minimum over its CPUs; and what they held. */
struct dumper_reach {
	const char *channel; /* borrowed from the recording */
	uint64_t ns;
	uint64_t bytes, nr_samples;
};

struct dumper_result {
	int rc; /* 0: committed */
	struct err err;
	struct err cut;	    /* what is missing in a committed dump, and why; empty: nothing */
	struct err spilled; /* why it is in the spill directory; empty: it is not */
	char path[4096];
	uint64_t file_bytes, ring_bytes, nr_samples, lost;
	uint64_t aux_bytes;
	size_t nr_stood;   /* traces that stood although they should have run */
	uint64_t stood_ns; /* the maximum of one trace */
	struct dumper_reach reach[DUMPER_MAX_REACH]; /* of the first DUMPER_MAX_REACH channels */
	size_t nr_reach;
	uint64_t freeze_ns; /* from the hit, or the end of its post time, to the last ring paused */
	uint64_t skew_ns;   /* from the first ring to the last */
	uint64_t write_ns, names_ns; /* names_ns is part of write_ns */
	pid_t hung_names;	     /* the process that looked up names and now hangs; 0: none */
	uint64_t reach_ns;	     /* the shortest of the rings that wrapped; 0: none did */
	const char *reach_channel;   /* the channel with reach_ns; borrowed from the recording */
};

/* In DONE: returns the result; the dumper is IDLE again. */
void dumper_take(struct dumper *d, struct dumper_result *out);
