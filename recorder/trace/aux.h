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
 * wrapped is found by comparing the contents with those at the start, unless the kernel's records
 * tell how much was written. For these a checksum
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
	uint64_t used;	     /* of it, from its beginning; the driver leaves the rest alone */
	uint64_t start_head; /* head at the last start of the trace */
	uint64_t stop_head;  /* head at its stop */
	bool counting;	     /* the head counts on: it has exceeded the area's size */
	bool full;	     /* all of the area has been written at least once */
	uint64_t *sums;	     /* checksums of the copy's pages */
	bool went_over;	     /* aux_copy() has found that the trace wrapped */
	struct cycles_pair started;
	bool paused; /* an event had stopped the trace before the recorder did */
	/* Describes the copy. The caller fills in `ring`, `event` and the numbers of records. */
	struct fmt_window_aux window;
};

/*
 * Maps an area of `size` bytes (a power of two of pages) beside `live`, the mapped ring of an event
 * that is disabled, and allocates memory for the copy. 0 or -errno of mmap: EOPNOTSUPP: the PMU
 * has no AUX area; EPERM: over the mlock limit; ENOMEM: see aux_is_possible(). `used_bytes`: `size`,
 * or less for a driver that leaves the end unused.
 */
int aux_open(struct aux *a, const struct ring *live, uint64_t size, uint64_t used_bytes);
/* Whether the driver takes such an area, found by mapping it; call it while none is mapped. Not
 * `overwrite`: for a reader that frees what it has read. */
bool aux_is_possible(const struct ring *live, uint64_t size, bool overwrite);
void aux_close(struct aux *a);
/* Memory used by the area and the copy. */
uint64_t aux_bytes(const struct aux *a);

/* Call right after the event was stopped: notes the time and the head. `since_ns`: when an event in
 * a rule had stopped the trace before; 0: none had. */
void aux_stopped(struct aux *a, const struct ring *live, uint64_t since_ns);
/* Copies what may have been written since the start. */
void aux_copy(struct aux *a);
/* Call right after the event was started or restarted. */
void aux_started(struct aux *a);
/* Finds out how much was written. Call after aux_copy(); the trace may run again. `told_bytes`:
 * aux_records_told(). */
void aux_measure(struct aux *a, uint64_t told_bytes);

/* The copy as blocks, the newest first: their number, and block `i` as one or two pieces
 * (returned). */
size_t aux_nr_blocks(const struct aux *a);
int aux_block(const struct aux *a, size_t i, struct bytes out[2]);
