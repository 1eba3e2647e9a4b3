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
	bool started;
};
