/* SPDX-License-Identifier: MIT */
/*
 * Notices that a trace stands although it should run, and keeps the times for the next dump.
 *
 *	lost     The driver has lost data: its PERF_RECORD_AUX says TRUNCATED, the kernel disables
 *	         the event and wakes those who poll it (perf_aux_output_end() in
 *	         kernel/events/ring_buffer.c). Nothing else wakes them, since the area is
 *	         overwritten and the event's ring has hardly any other records.
 *	refused  The driver did not start the trace: the event is enabled and its time as a running
 *	         one does not grow. Known only of events that count a whole CPU.
 *	silent   Found when the records are walked for a dump (window.c).
 *
 * banks_aux.c starts such a trace again. Everything belongs to the main loop's thread, except that
 * between the stop of the trace for a dump and its restart it belongs to the thread that copies,
 * and `dumped` to the dump's threads until the dump ends.
 */
#pragma once

#include "dump/format/format.h"
#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_STOPS 16

/* Oldest first. `ring` of each is not set. */
struct trace_stops {
	struct fmt_trace_stop v[TRACE_STOPS];
	size_t nr;
};

/* Joins the two oldest when there is no room. */
void trace_stops_add(struct trace_stops *s, const struct fmt_trace_stop *stop);

/* TIME_ENABLED and TIME_RUNNING of an event. */
struct trace_times {
	uint64_t enabled_ns, running_ns;
};

struct trace_watch {
	bool whole_cpu;		   /* its event counts a CPU */
	bool check;		   /* it was started; whether it runs is not known yet */
	uint64_t seen_head;	   /* of the event's ring: older records were looked at */
	uint64_t since_ns;	   /* stands since; 0: it runs, as far as known */
	uint32_t reason;	   /* FMT_STOP_*, if it stands */
	uint64_t tried_ns;	   /* last attempt to start it again */
	uint64_t wait_ns;	   /* until the next one is allowed */
	uint64_t stop_began_ns;	   /* last stop for a dump: records of before are older */
	struct trace_times before; /* of the last start */
	struct trace_stops stops;  /* since `dumped` was taken */
	struct trace_stops dumped; /* for the dump being made */
};

void trace_watch_init(struct trace_watch *w, bool whole_cpu);
/* The read_format that its event needs. */
#define TRACE_WATCH_FORMAT (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

/* Call right before the event `fd` is enabled. */
void trace_watch_starts(struct trace_watch *w, int fd);
/*
 * Finds out whether the trace stands. `ring`: of the event `fd`; `tail`: channel_time_tail();
 * `started_ns`: when it was last started.
 */
void trace_watch_look(struct trace_watch *w, const struct ring *ring, uint32_t tail, int fd,
		      uint64_t started_ns);
/* When it may be started again; 0: it does not stand. */
uint64_t trace_watch_due(const struct trace_watch *w);
/* Call right after an attempt to start it again: notes how long it stood, if it runs. */
void trace_watch_tried(struct trace_watch *w, int fd, uint64_t now_ns);

/* Call right before and right after the event is disabled for a dump, or for ever; both look. */
void trace_watch_stops(struct trace_watch *w, const struct ring *ring, uint32_t tail);
void trace_watch_stopped(struct trace_watch *w, const struct ring *ring, int fd,
			 uint64_t started_ns, uint64_t stop_ns);
/* The dump was not committed: the next one has its stops. */
void trace_watch_undo(struct trace_watch *w);
