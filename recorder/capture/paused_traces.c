// SPDX-License-Identifier: MIT
/* Stopped traces and their resumption; see paused_traces.h. banks.c does it for one trace. */
#include "recorder/capture/paused_traces.h"

#include "recorder/capture/recording.h"
#include "trigger/events/aux_pause.h"

bool traces_stand(const struct recording *r)
{
	size_t nr;
	struct banks *const *banks = recording_all_banks(r, &nr);

	for (size_t i = 0; i < nr; i++)
		if (banks_stands(banks[i], NULL))
			return true;
	return false;
}

bool traces_let_run(const struct recording *r, struct aux_pauses *b, uint64_t until_ns)
{
	size_t nr;
	struct banks *const *banks = recording_all_banks(r, &nr);
	bool left = false;

	if (aux_pauses_changed(b)) {
		for (size_t i = 0; i < nr; i++)
			left |= !banks_take_brakes(banks[i]);
		if (!left)
			aux_pauses_settled(b);
	}
	for (size_t i = 0; i < nr; i++)
		left |= banks_let_run(banks[i], until_ns);
	return left;
}
