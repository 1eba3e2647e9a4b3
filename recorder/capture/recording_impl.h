/* SPDX-License-Identifier: MIT */
/* What a recording is; private to recording.c, which opens and freezes it, and recording_state.c.
 */
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
	struct recording_aux *aux; /* one a channel, of the last dump; NULL likewise */
	struct aux_pauses *brakes; /* NULL: none yet */
	struct sleeps *sleeps;	   /* likewise */
	bool started;
};
