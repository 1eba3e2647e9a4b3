/* SPDX-License-Identifier: MIT */
/*
 * Makes a dump of frozen rings, in a thread of its own at low priority, with workers
 *(dump_workers.h) that do most of it at an even lower one. The main loop freezes, hands a job over,
 *and goes on; the thread walks, writes, lets the rings go as soon as their bytes are written, and
 *asks the main loop twice:
 *
 *	main loop     freeze ── dumper_start ──────────── dumper_seal ─────────── dumper_take
 *	                              │                      ▲    │                    ▲
 *	thread                        ▼ walk, write, release │    ▼ names, stats,      │
 *	                              ...................... SEAL   footer, commit ... DONE
 *
 * dumper_fd() is readable at SEAL and at DONE. At SEAL the main loop gives the hits merged so far,
 * so that every hit is in this dump or in a later one: finding names may take seconds, and the
 * rings have long been let go.
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
	struct cgroup_limits *limits; /* of control groups; NULL: not wanted */
	struct store *store;
	unsigned max_cpus; /* workers, see dump_workers.h; 0: as that thinks best */
	enum block_level level;
	bool low_priority;   /* until dumper_watch() finds it too low; see priority_can_return() */
	uint64_t symbols_ns; /* to find names for the addresses in the dump; 0: none are looked for
			      */
};

int dumper_new(const struct dumper_options *opt, struct dumper **out, struct err *err);
void dumper_free(struct dumper *d); /* waits for a dump in the making */

int dumper_fd(const struct dumper *d);

/* Cause and time of the dump. Copied, except what.evidence, which the thread owns. */
struct dumper_job {
	struct recording_freeze freeze;
	char rule_name[64], rule_text[256];
	struct sighting what;
	int64_t post_ns; /* time recorded after the hit, without the freeze */
	uint64_t hit_ns;
	uint32_t nr;		/* which dump of this recorder */
	struct proc_scan *scan; /* to wait for before the ledger is written; NULL: none */
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
	struct fmt_repeats repeats; /* of what the dump is made for */
};

/* In SEAL: provides the totals for the end of the dump. `merged` is copied. */
void dumper_seal(struct dumper *d, const struct engine_merged *merged, size_t nr,
		 const struct dumper_totals *totals);

/* After SEAL: finishes the dump soon, with the symbols found so far. */
void dumper_hasten(struct dumper *d);

#define DUMPER_MAX_REACH 16

/* How far back a channel's rings reach: the minimum over its CPUs. */
struct dumper_reach {
	const char *channel; /* borrowed from the recording */
	uint64_t ns;
};

struct dumper_result {
	int rc; /* 0: committed */
	struct err err;
	char path[4096];
	uint64_t file_bytes, ring_bytes, nr_samples, lost;
	uint64_t aux_bytes;
	struct dumper_reach reach[DUMPER_MAX_REACH]; /* of each channel; of more, the first */
	size_t nr_reach;
	uint64_t freeze_ns; /* from the hit, or the end of its post time, to the last ring paused */
	uint64_t skew_ns;   /* from the first ring to the last */
	uint64_t write_ns, names_ns; /* of that the search for names */
	uint64_t reach_ns;	     /* of the rings that have wrapped, the shortest; 0: none has */
	const char *reach_channel;   /* whose that is; borrowed from the recording */
};

/* In DONE: the result; the dumper is IDLE again. */
void dumper_take(struct dumper *d, struct dumper_result *out);
