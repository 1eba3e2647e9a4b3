/* SPDX-License-Identifier: MIT */
/* The recorder's main loop; private to daemon.c (the loop, what wakes it) and daemon_dump.c (from a hit
 * to a finished dump). */
#pragma once

#include "recorder/daemon/session.h"
#include "trigger/engine/hit_machine.h"

#include <stdbool.h>
#include <stdint.h>

struct rule;
struct sighting;

struct daemon {
	struct session *s;
	struct hit_machine *hits; /* the engine's */
	int argc;
	char **argv;
	int timer_fd, status_fd; /* timer_fd: the end of POST, then the dumper's patience */
	int watchdog_fd;	 /* -1: no service manager expects signs of life */
	bool more_hits;		 /* more hits may be pending: the loop must not sleep */
	bool traces_stand;	 /* stopped by hits that may not have been read yet */
	int traces_ms;	    /* until traces_start_again() has to look at traces; -1: none is due */
	uint64_t looked_ns; /* time of the last sideband drain */
	bool told_evicted;  /* the user knows that the ledger is full */
	int exit_status;
	char rule_name[64], reason[256]; /* of the dump being made; a reload may free the rule */
};

/* The dump thread has a job. */
static inline bool is_writing(const struct daemon *d)
{
	return d->hits->state == HIT_WRITING || d->hits->state == HIT_NAMING;
}

/* ---- daemon.c ---- */
/* `may_scan`: no dump refers to the last scan of /proc. */
void daemon_drain(struct daemon *d, bool may_scan);
/* Rings that are sized for a time. */
void daemon_resize(struct daemon *d);
/* CPUs that came or went, unless a dump is being written. */
void daemon_hotplug(struct daemon *d);

/* ---- daemon_dump.c ---- */
/* Passes a hit to the engine and carries out its decision. */
enum hit_do daemon_hit(struct daemon *d, const struct rule *rule, const struct sighting *what);
void daemon_freeze(struct daemon *d);
/* Handlers of the loop: the triggers, the timer, the dump thread. */
void daemon_on_engine(struct daemon *d);
void daemon_on_timer(struct daemon *d);
void daemon_on_dumper(struct daemon *d);
/*
 * Resumes traces that a hit stopped without a dump. The triggers were read at `woken_ns`: a trace
 * that had been stopped for less than DAEMON_STAND_MS then may have a hit that is not read yet, and stays
 * stopped. Traces also stay stopped when a deferred hit gets the next dump.
 */
void daemon_let_traces_run(struct daemon *d, uint64_t woken_ns);

#define DAEMON_STAND_MS 2 /* time within which the hit that stopped a trace can be read */
