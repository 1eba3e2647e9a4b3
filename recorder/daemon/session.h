/* SPDX-License-Identifier: MIT */
/*
 * The parts of one running recorder, opened in the order in which they can fail cheaply and closed
 * in reverse. Plain data: daemon.c drives them, status.c reads them.
 */
#pragma once

#include "dump/base/err.h"
#include "trigger/kernel/caps.h"
#include "recorder/capture/child.h"
#include "recorder/config/config.h"
#include "recorder/coredump/core_guard.h"
#include "recorder/daemon/ctl.h"
#include "recorder/writer/dumper.h"
#include "recorder/writer/host_info.h"
#include "recorder/ledger/cgroup_limits.h"
#include "recorder/capture/hotplug.h"
#include "recorder/ledger/pinned.h"
#include "recorder/ledger/ledger.h"
#include "recorder/ledger/proc_scan.h"
#include "recorder/capture/recording.h"
#include "recorder/capture/sideband.h"
#include "recorder/writer/store.h"
#include "recorder/capture/target.h"
#include "recorder/daemon/app_listen.h"
#include "trigger/client/app_socket.h"
#include "trigger/engine/engine.h"

struct session {
	struct config config;
	struct caps caps;
	struct target target;
	struct child *child; /* NULL: no command */
	struct app_socket *tell;
	struct app_listen *tellsock;
	struct core_guard *guard;  /* NULL: no --crash-hold */
	struct held_cores *parked; /* likewise */
	struct aux_pauses *brakes; /* likewise */
	struct sleeps *sleeps;	   /* NULL: no channel has sleep-stacks */
	struct source_env env;	   /* the engine's, of what is below and above */
	struct engine *engine;
	struct store *store;
	struct ctl *ctl;
	struct ledger *ledger;
	struct pinned *files; /* of the ledger; NULL: none are held */
	struct recording *recording;
	struct sideband *sideband;
	struct host_info *host;
	struct cgroup_limits *limits;
	struct dumper *dumper;
	struct hotplug *hotplug; /* NULL: not to be had; then CPUs are as they were at the start */
	struct proc_scan *scan;	 /* the latest scan of /proc; NULL: none yet */
	int signal_fd;		 /* SIGINT, SIGTERM, SIGHUP */
	uint64_t started_ns;
	bool target_ended; /* all of its tasks, and what they started, have */
	bool scan_due;	   /* sideband records were lost since the latest scan began */
	uint64_t nr_scans, nr_dumps, nr_refused;
	uint64_t nr_sideband_wakeups;
	char last_dump[4096];
	uint64_t
		reach_ns; /* of the last dump whose rings were overwritten, the shortest; 0: none */
	const char *reach_channel; /* whose that was */
};

/*
 * With --dry-run: whether everything but files and sockets can be opened; nothing is started, and
 * no command.
 *
 * Opens everything; recording is on and names are read when it returns 0. On failure *usage tells
 * whether the command line was wrong. session_close() is due in any case.
 */
int session_open(struct session *s, int argc, char **argv, bool *usage, struct err *err);
void session_close(struct session *s);

/* The settings that can change while running (SIGHUP): rules, post, cooldown, limits. */
int session_reload(struct session *s, int argc, char **argv, struct err *err);

/*
 * Starts reading /proc anew: at the start, and after sideband records were lost (scan_due). While
 * the last scan is still going it stays due. Not while a dump waits for the last one.
 */
int session_scan(struct session *s, struct err *err);
