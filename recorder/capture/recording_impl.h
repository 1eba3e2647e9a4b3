/* SPDX-License-Identifier: MIT */
/* The struct of a recording; private to recording*.c and ended_traces.c. */
#pragma once

#include "recorder/capture/recording.h"

#include <stdatomic.h>

struct recording {
	const struct caps *caps;
	struct target *target;
	struct channel **channels;
	size_t nr_channels;
	struct banks **banks;
	size_t nr_banks;
	struct sideband_rings *sides;
	struct thread_pool *pool;  /* copies AUX areas; NULL: there are none */
	struct recording_aux *aux; /* per channel, of the last dump; NULL: there are no AUX areas */
	struct aux_pauses *brakes; /* NULL: recording_join_brakes() was not called */
	struct sleeps *sleeps;	   /* NULL: recording_join_sleeps() was not called */
	struct kept *from;	   /* while rings are opened: another recorder's; may be NULL */
	struct manifest *manifest; /* of rings that a keeper holds; NULL: there is none */
	struct channel *no_area;   /* the kernel has no memory for its AUX areas */
	atomic_size_t next_stop;   /* in a freeze: the next bank whose trace has to be stopped */
	uint64_t nr_changes;	   /* rings were opened or closed */
	bool started;
};

/*
 * The time during which both banks are active. An event that was already walking the kernel's list
 * of a tracepoint's events misses a spare that was just added at its head; only the active bank can
 * record it.
 */
void recording_overlap(void);
/* Lets BPF programs write to the new events of `b`, if it has such, and begin anew. 0 or -errno. */
int recording_join_ring(const struct recording *r, const struct banks *b);

/* ---- recording_channels.c ---- */

/* Parses the channels; a preset's that are not permitted are skipped. 0 or -errno. */
int recording_add_channels(struct recording *r, const struct config_channel *cc, size_t nr,
			   unsigned nr_banks, struct err *err);
/* Loads the programs of compact channels, or takes them over. Where the kernel does not allow them, perf
 * writes the channel's records. */
void recording_open_programs(struct recording *r);
/* Divides the memory among the rings whose size was not requested. 0 or -ENOMEM. */
int recording_size_rings(struct recording *r, const struct ring_size_memory *memory,
			 struct err *err);
/* Whether rings are resized (resize.h): the memory is then for what they need. */
bool recording_has_horizon(const struct recording *r);
/* Halves the rings with a default size; false when none can be smaller. */
bool recording_shrink(struct recording *r);
void recording_say_shrunk(const struct recording *r);
/* Halves the AUX areas of r->no_area; false: they can't be smaller. */
bool recording_halve_area(struct recording *r);

/* ---- recording_aux.c ---- */

/* Starts as many threads as there are areas that can be copied at the same time. 0 or -errno. */
int recording_open_pool(struct recording *r, struct err *err);
/* Stops all traces, together with the threads of the pool. These copy the areas as soon as no trace
 * is left to be stopped; recording_wait_copied() waits for them. */
void recording_stop_traces(struct recording *r);
/* Notes for status how the last dump found the AUX areas. */
void recording_note_aux(struct recording *r);
