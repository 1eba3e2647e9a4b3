/* SPDX-License-Identifier: MIT */
/* What a stopwatch is; private to stopwatch*.c. */
#pragma once

#include "trigger/bpf/bpf_latency.h"

#include "trigger/kernel/event.h"

#define STOPWATCH_PROGRAMS 5
#define STOPWATCH_TOLD	   1024
#define STOPWATCH_PENDING  32

enum { COUNT_FULL, COUNT_UNTOLD, NR_COUNTS };

/*
 * Whether somebody looks (while-running), in a map of one value:
 *
 *	ASLEEP ──a call: told──▶ BUSY ──a look──▶ QUIET ──a look that finds nothing open──▶ ASLEEP
 *	                          ▲──────a call──────┘
 */
enum { AWAKE_ASLEEP, AWAKE_QUIET, AWAKE_BUSY };

struct stopwatch_running; /* bpf_latency_look.c */

struct stopwatch {
	uint64_t threshold_ns;
	unsigned nr_frames, nr_extra;
	bool while_running;
	uint32_t own_pid, command_pid;	/* of the recorder; 0: it is not one */
	struct event_list output_event; /* its only one is the tap's */
	struct tap *tap;
	int calls, output, counts, awake; /* maps */
	struct {
		int prog, event;
		bool counts_missed;
	} on[STOPWATCH_PROGRAMS];
	unsigned nr_on;
	int epoll_fd; /* of tap and timer; -1: the tap's own will do */
	struct stopwatch_running *running;
};

static inline unsigned stopwatch_note_bytes(const struct stopwatch *w)
{
	return w->nr_frames * (unsigned)sizeof(struct stopwatch_frame) + w->nr_extra * 8;
}

int stopwatch_running_open(struct stopwatch *w, struct err *err);
void stopwatch_running_close(struct stopwatch *w);
int stopwatch_running_fd(const struct stopwatch *w);
/* A call has begun while nobody looked. */
void stopwatch_running_start(struct stopwatch *w);
/* Looks when that is due. */
void stopwatch_running_look(struct stopwatch *w);
/* The next call that was found to run for too long; 0: none. */
int stopwatch_running_next(struct stopwatch *w, struct stopwatch_record *rec, uint64_t *more);
/* Whether a call that is over has been told while it ran; forgets it. */
bool stopwatch_running_knows(struct stopwatch *w, uint32_t tid, uint64_t began_ns);
