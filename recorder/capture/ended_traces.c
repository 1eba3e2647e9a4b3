// SPDX-License-Identifier: MIT
/* Ended traces; see ended_traces.h. banks_aux.c starts one trace again. */
#include "recorder/capture/ended_traces.h"

#include "recorder/base/log.h"
#include "recorder/capture/recording_impl.h"
#include "trigger/kernel/clock.h"

#include <stdio.h>

/* Once for each channel and reason between two dumps. */
static void warn(struct recording *r, const struct banks *b, uint32_t reason)
{
	uint32_t *told = &r->aux[b->channel->id].told;
	char place[32];

	if (*told & 1u << reason)
		return;
	*told |= 1u << reason;
	if (b->cpu >= 0)
		snprintf(place, sizeof(place), "CPU %d", b->cpu);
	else
		snprintf(place, sizeof(place), "thread %d", (int)b->tid);
	if (reason == FMT_STOP_REFUSED)
		log_warn("the trace of %s, channel %s, does not run: its driver did not start it; "
			 "trying again",
			 place, b->channel->name);
	else
		log_warn("the trace of %s, channel %s, ended: its driver lost data; it is started "
			 "again",
			 place, b->channel->name);
}

int traces_start_again(struct recording *r)
{
	uint64_t now = clock_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < r->nr_banks; i++) {
		struct banks *b = r->banks[i];
		uint32_t reason = 0;
		uint64_t due = banks_start_ended(b, now, &reason);

		if (reason)
			warn(r, b, reason);
		if (due && due < next)
			next = due;
	}
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)((next - now) / 1000000) + 1 : 0;
}
