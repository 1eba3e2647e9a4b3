/* SPDX-License-Identifier: MIT */
/*
 * The records of a channel with an AUX area, as of a stop of the trace. The kernel writes them into
 * two rings: a ring wakes its pollers each time that it has been filled (__perf_output_begin() in
 * kernel/events/ring_buffer.c), and the AUX event is polled (trace_watch.h). A dump has one window
 * with both:
 *
 *	ring of the AUX event:   PERF_RECORD_AUX ... ─┐
 *	                                              ├─ by time ─▶ copy, as a ring, newest first
 *	ring of the dummy event: context switches ────┘
 *
 * Pure arithmetic on memory with a ring's layout, so tests need no kernel.
 */
#pragma once

#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stdint.h>

/* The layout of PERF_RECORD_AUX. */
struct aux_record {
	struct perf_event_header header;
	uint64_t offset, size, flags;
};

struct aux_records {
	struct ring copy;		/* private memory as large as the switches' ring */
	uint64_t aux_head, switch_head; /* at the stop */
	uint64_t told_head;		/* of the AUX event's ring at the last aux_records_told() */
	uint64_t overwritten_bytes;	/* records that are not in the copy */
};

/* 0 or -errno. */
int aux_records_open(struct aux_records *r, const struct ring *switches);
void aux_records_close(struct aux_records *r);

/* Call right after the stop: notes the heads. */
void aux_records_stopped(struct aux_records *r, const struct ring *aux,
			 const struct ring *switches);
/*
 * The bytes written to the area of `area_bytes` since the last call, as PERF_RECORD_AUX tell; 0:
 * unknown. Some drivers only say that all of the area may be new.
 */
uint64_t aux_records_told(struct aux_records *r, const struct ring *aux, uint64_t area_bytes);
/*
 * Copies the records up to the stop; both rings may be in use, and what the kernel may have
 * overwritten meanwhile is left out. So are records about the area that are older than all context
 * switches when those were overwritten, except records that come once in the life of an event and are
 * needed to decode its trace (aux_record_comes_once()). `tail`: channel_time_tail().
 */
void aux_records_copy(struct aux_records *r, const struct ring *aux, const struct ring *switches,
		      uint32_t tail);

/* PERF_RECORD_ITRACE_START, PERF_RECORD_AUX_OUTPUT_HW_ID. */
bool aux_record_comes_once(uint32_t type);
