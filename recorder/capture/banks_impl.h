/* SPDX-License-Identifier: MIT */
/* What banks*.c share, and what resize.c calls. */
#pragma once

#include "recorder/capture/banks.h"

/* Without open banks; NULL: out of memory. */
struct banks *banks_new(const struct channel *c, const struct target *t, int cpu, pid_t tid);
/* Opens a bank of b->ring_bytes for all tasks of the target, disabled; see banks_open(). */
int bank_open(struct bank *b, const struct channel *c, const struct target *t,
	      const struct caps *caps, int cpu, pid_t tid, struct err *err);
/* Does not close the bank before it. */
void bank_close(struct bank *b);
/* Enables a SPARE bank. */
void bank_activate(struct banks *b, struct bank *bank);
/* Room for the runs of rings of so many bytes. 0 or -ENOMEM. */
int banks_room(struct banks *b, uint64_t bytes);
/* Room for `more` events. 0 or -ENOMEM. */
int bank_room(struct bank *b, size_t more);
/* Maps the rings of a compact channel. 0 or -errno. */
int bank_map_compact(struct banks *b, int map_fd);
void bank_pause_ring(struct bank *b, bool pause);
void bank_leaders_ioctl(struct bank *b, unsigned long request);
/* Updates its entry in the manifest, if it has one. Call at the end of each step. */
void banks_save(const struct banks *b);
/* Its entry tells that no bank records: no other recorder takes the ring over. It has no entry from
 * now on. */
void banks_unkeep(struct banks *b);

/* ---- banks of another size (banks_resize.c) ---- */
struct banks_change {
	struct banks *of;
	const struct channel *channel; /* of it, like the next ones */
	int cpu;
	unsigned nr_banks;
	uint64_t ring_bytes; /* of the new rings */
	struct bank fresh[2];
	struct bank *left, *spare; /* the former banks, once it has begun */
};

/* Opens the banks; any thread, `of` may be closed meanwhile. In any case call banks_change_begin() or
 * banks_change_drop(). */
int banks_change_open(struct banks_change *c, const struct target *t, const struct caps *caps,
		      struct err *err);
void banks_change_drop(struct banks_change *c);
/* From here on the new bank records, and the former one as well. 0, or -ENOMEM: nothing has
 * changed. */
int banks_change_begin(struct banks_change *c);
/* After the overlap (recording.c): pauses the former bank. The caller closes left's events
 * (bank_leaders_ioctl()) and `spare`. */
void banks_change_end(struct banks_change *c);
/* The banks that are no longer needed, for banks_close_older(): the one that replaced them has
 * recorded for the horizon or was overwritten, or their dump was made. NULL: none. */
struct bank *banks_take_outlived(struct banks *b, uint64_t now_ns);
/* When the next will not be needed; 0: there is none. */
uint64_t banks_outlived_ns(const struct banks *b);

/* ---- banks_aux.c ---- */

/* The AUX area beside the first bank. */
int banks_open_aux(struct banks *b, const struct target *t, const struct caps *caps,
		   struct err *err);
void banks_close_aux(struct banks *b);
/* Call right before the trace is enabled, right before it is disabled, and right after. */
void banks_trace_starts(struct banks *b);
void banks_trace_stops(struct banks *b);
void banks_trace_stopped(struct banks *b);
