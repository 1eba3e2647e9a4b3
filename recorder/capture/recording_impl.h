/* SPDX-License-Identifier: MIT */
/* The struct of a recording; private to recording.c and recording_state.c. */
#pragma once

#include "recorder/capture/recording.h"

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
