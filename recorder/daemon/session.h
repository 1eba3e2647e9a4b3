/* SPDX-License-Identifier: MIT */
/*
 * The parts of a running recorder. Opened in an order that lets cheap checks fail first, and closed
 * in reverse. Plain data: daemon.c runs them, status.c reads them.
 */
#pragma once

#include "dump/base/err.h"
#include "trigger/kernel/caps.h"
#include "recorder/capture/child.h"
#include "recorder/config/config.h"
#include "recorder/coredump/core_guard.h"
#include "recorder/daemon/ctl.h"
#include "recorder/daemon/keeping.h"
#include "recorder/writer/dumper.h"
#include "recorder/writer/host_info.h"
#include "recorder/ledger/cgroup_limits.h"
#include "recorder/capture/hotplug.h"
#include "recorder/ledger/pinned.h"
#include "recorder/ledger/ledger.h"
#include "recorder/ledger/proc_scan.h"
#include "recorder/capture/recording.h"
#include "recorder/capture/resize.h"
#include "recorder/capture/sideband.h"
#include "recorder/writer/store.h"
#include "recorder/capture/target.h"
#include "recorder/daemon/app_listen.h"
#include "recorder/daemon/on_dump.h"
#include "trigger/client/app_socket.h"
#include "trigger/engine/engine.h"

struct session {
	struct config config;
	struct caps caps;
	struct target target;
	struct child *child; /* NULL: no command */
	struct app_socket *tell;
	struct app_listen *tellsock;
	struct on_dump *on_dump;   /* NULL: no --on-dump */
	struct core_guard *guard;  /* NULL: no --crash-hold */
	struct held_cores *parked; /* NULL: no --crash-hold */
	struct aux_pauses *brakes; /* hits that stop traces in the kernel */
	bool wants_compact;	   /* a channel may be compact */
	struct sleeps *sleeps;	   /* NULL: no channel has sleep-stacks */
	struct source_env env;	   /* for the engine; points to other fields */
	uint64_t kept;		   /* capabilities, by privileges_drop() */
	struct engine *engine;
	struct store *store, *spill; /* spill: NULL without --spill */
	struct ctl *ctl;
	struct keeping *keeping; /* NULL: there is no keeper */
	struct ledger *ledger;
	struct pinned *files; /* of the ledger; NULL: no files are held */
	struct recording *recording;
	struct resize *resize; /* NULL: no ring is sized for a time */
	struct sideband *sideband;
	struct host_info *host;
	struct cgroup_limits *limits;
	struct dumper *dumper;
	struct hotplug *hotplug; /* NULL: not available; the set of CPUs then stays as at start */
	struct proc_scan *scan;	 /* the latest scan of /proc; NULL: none yet */
	int signal_fd;		 /* SIGINT, SIGTERM, SIGHUP */
	uint64_t started_ns;
	bool target_ended; /* all tasks of the target, and their descendants, have exited */
	bool scan_due;	   /* sideband records were lost since the latest scan began */
	uint64_t nr_scans, nr_dumps, nr_refused, nr_spilled;
	uint64_t nr_sideband_wakeups;
	char last_dump[4096];
	struct err spilled;	    /* why the last dump that went to `spill` did */
	uint64_t last_dump_real_ns; /* when it was complete; 0: none yet */
	struct dumper_reach last_reach[DUMPER_MAX_REACH];
	size_t nr_last_reach;
	uint64_t reach_ns; /* the shortest, in the last dump with overwritten rings; 0: none */
	const char *reach_channel; /* the channel with reach_ns */
};

/*
 * Opens everything. When it returns 0, recording is on and names are read. On failure *usage tells
 * whether the command line was wrong. The caller must call session_close() in any case.
 *
 * With --dry-run: checks whether everything but files and sockets can be opened. Starts nothing,
 * not even the command.
 */
int session_open(struct session *s, int argc, char **argv, bool *usage, struct err *err);
void session_close(struct session *s);

/* Applies the settings that can change while running (SIGHUP): rules, post, cooldown, limits. */
int session_reload(struct session *s, int argc, char **argv, struct err *err);

/*
 * Starts a new scan of /proc: at start, and after sideband records were lost (scan_due). If the
 * last scan is still running, scan_due stays set. Must not be called while a dump waits for the
 * last scan.
 */
int session_scan(struct session *s, struct err *err);
