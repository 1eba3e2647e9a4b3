/* SPDX-License-Identifier: MIT */
/*
 * The AUX area of one ring. The PMU writes a hardware trace into it as a circular buffer until a
 * trigger stops the trace; a dump is made of a copy. The write position is aux_head, which the
 * driver updates when it stops; aux_tail is never used.
 *
 *	main loop      stop ─┐
 *	thread pool          └─▶ aux_copy() ──▶ start ──▶ aux_measure()
 *	dump's workers                                         └─▶ aux_block() ... of the copy
 *
 * In some drivers the head counts on. In others it is a position in the area, and whether the trace
 * wrapped can only be found by comparing the contents with those at the start. For these a checksum
 * is kept for each page, so that the trace is stopped no longer than the copy takes:
 *
 *	     start            head
 *	──────┬────────────────┬──────────────   [start, head) was written; if anything in the
 *	      │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓│   unchanged?    rest has changed, everything was written
 *	──────┴────────────────┴──────────────
 *
 * The arithmetic is pure: it works on any two pieces of memory, so tests need no kernel.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "trigger/kernel/cycles.h"
#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aux {
	const uint8_t *live; /* the area, mapped read-only: the kernel then overwrites old data */
	uint8_t *copy;
	uint64_t size;	     /* of the area and the copy; a power of two */
	uint64_t start_head; /* head at the last start of the trace */
	uint64_t stop_head;  /* head at its stop */
	bool counting;	     /* the head counts on: it has exceeded the area's size */
	bool full;	     /* all of the area has been written at least once */
	uint64_t *sums;	     /* checksums of the copy's pages */
	bool went_over;	     /* aux_copy() has found that the trace wrapped */
	struct cycles_pair started;
	bool paused; /* an event had stopped the trace before the recorder did */
	/* Copy of the records in the ring beside the area, as of the stop. */
	struct ring records;
	uint64_t cut_bytes; /* its oldest bytes, perhaps overwritten during the copy */
	/* Describes the copy. The caller fills in `ring`, `event` and the numbers of records. */
	struct fmt_window_aux window;
};

/*
 * Maps an area of `size` bytes (a power of two of pages) beside `live`, the mapped ring of an event
 * that is disabled, and allocates memory for the copies. 0 or -errno of mmap: EOPNOTSUPP: the PMU
 * has no AUX area; EPERM: over the mlock limit.
 */
int aux_open(struct aux *a, const struct ring *live, uint64_t size);
void aux_close(struct aux *a);
/* Memory used by the area and both copies. */
uint64_t aux_bytes(const struct aux *a);

/* Call right after the event was stopped: notes the time and the head. `since_ns`: when an event in
 * a rule had stopped the trace before; 0: none had. */
void aux_stopped(struct aux *a, const struct ring *live, uint64_t since_ns);
/* Copies what may have been written since the start. */
void aux_copy(struct aux *a);
/* Call right after the event was started or restarted. */
void aux_started(struct aux *a);
/* Finds out how much was written. Call after aux_copy(); the trace may run again. */
void aux_measure(struct aux *a);
/* Copies the records up to aux_stopped(); the ring may be in use. */
void aux_copy_records(struct aux *a, const struct ring *live);

/* The copy as blocks, the newest first: their number, and block `i` as one or two pieces
 * (returned). */
size_t aux_nr_blocks(const struct aux *a);
int aux_block(const struct aux *a, size_t i, struct bytes out[2]);
