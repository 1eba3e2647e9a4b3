/* SPDX-License-Identifier: MIT */
/*
 * The AUX area of one ring: where a hardware trace goes, round and round, with nobody looking,
 * until a trigger stops it; and the copy of what it held, which is what a dump is made of. Where
 * the trace stands is aux_head, which the driver tells when it stops; aux_tail is never used.
 *
 *	main loop      stop ─┐
 *	thread pool          └─▶ aux_copy() ──▶ start ──▶ aux_measure()
 *	dump's workers                                         └─▶ aux_block() ... of the copy
 *
 * Some drivers' heads count on; others' are places in the area, and how far those have come only
 * the contents tell, by what they were at the start. Of these a sum is kept for each page, so that
 * the trace need not stand still for longer than the copy takes:
 *
 *	     start            head
 *	──────┬────────────────┬──────────────   [start, head) was written; and if anything of
 *	      │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓│   as before?    what follows is another, all was
 *	──────┴────────────────┴──────────────
 *
 * The arithmetic is pure: it works on any two pieces of memory, so that tests need no kernel.
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
	const uint8_t *live; /* the area, mapped to be read: the kernel overwrites it then */
	uint8_t *copy;
	uint64_t size;	     /* of both; a power of two */
	uint64_t start_head; /* where the trace was last started */
	uint64_t stop_head;  /* and stopped */
	bool counting;	     /* the head counts on: it was beyond the area */
	bool full;	     /* all of it has been written at some time */
	uint64_t *sums;	     /* of the copy's pages */
	bool went_over;	     /* aux_copy() has seen that it went around */
	struct cycles_pair started;
	bool paused; /* an event had stopped it before the recorder did */
	/* The records beside it as they were at the stop: a ring in memory of our own. */
	struct ring records;
	uint64_t cut_bytes; /* its oldest, which may have been overwritten while it was copied */
	/* Of the copy; `ring`, `event` and what is counted in records are the caller's. */
	struct fmt_window_aux window;
};

/*
 * Maps an area of `size` bytes (a power of two of pages) beside `live`, the mapped ring of an event
 * that does not run, and prepares the memory for the copies. 0 or -errno of mmap: EOPNOTSUPP: the
 * PMU has none; EPERM: over the mlock limit.
 */
int aux_open(struct aux *a, const struct ring *live, uint64_t size);
void aux_close(struct aux *a);
/* Of memory that it takes, the area and both copies. */
uint64_t aux_bytes(const struct aux *a);

/* Right after its event was stopped: when, and where it stands. `since_ns`: an event had stopped it
 * then already; 0: none had. */
void aux_stopped(struct aux *a, const struct ring *live, uint64_t since_ns);
/* Copies what may have been written since the start. */
void aux_copy(struct aux *a);
/* Right after its event was started again, or for the first time. */
void aux_started(struct aux *a);
/* After aux_copy(), whether it runs again or not: finds out how much was written. */
void aux_measure(struct aux *a);
/* The records from aux_stopped() and before, which need not stand still. */
void aux_copy_records(struct aux *a, const struct ring *live);

/* Blocks of the copy, the newest first: their number, and one as up to two pieces. */
size_t aux_nr_blocks(const struct aux *a);
int aux_block(const struct aux *a, size_t i, struct bytes out[2]);
