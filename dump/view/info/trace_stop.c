// SPDX-License-Identifier: MIT
/* Stops of hardware traces in words; see trace_stop.h. */
#include "dump/view/info/trace_stop.h"

#include "dump/base/str.h"

#include <stdio.h>

static const struct {
	const char *word, *text;
} reasons[] = {
	[0] = {"unknown", "for an unknown reason"},
	[FMT_STOP_LOST] = {"lost", "its driver lost data and ended it"},
	[FMT_STOP_REFUSED] = {"refused", "its driver did not start it"},
	[FMT_STOP_SILENT] = {"silent", "nothing was written although threads ran: its driver may "
				       "have stopped without a report"},
};

static size_t reason_of(const struct fmt_trace_stop *s)
{
	return s->reason < sizeof(reasons) / sizeof(reasons[0]) ? s->reason : 0;
}

const char *trace_stop_why(const struct fmt_trace_stop *s)
{
	return reasons[reason_of(s)].text;
}

const char *trace_stop_reason(const struct fmt_trace_stop *s)
{
	return reasons[reason_of(s)].word;
}

static char *place_of(const struct meta *m, uint32_t ring, char *out, size_t n)
{
	const struct fmt_window *w = ring < m->nr_windows ? &m->windows[ring] : NULL;

	if (w && w->ring != FMT_NO_RING && w->cpu >= 0)
		snprintf(out, n, "CPU %d", w->cpu);
	else if (w && w->ring != FMT_NO_RING && w->tid >= 0)
		snprintf(out, n, "thread %d", w->tid);
	else
		snprintf(out, n, "ring %u", ring);
	return out;
}

static char *relative(const struct meta *m, uint64_t ns, char *out, size_t n)
{
	int64_t rel = (int64_t)(ns - m->trigger.hit_ns);

	*out = '+';
	str_fmt_time(out + (rel >= 0), n - (rel >= 0), rel);
	return out;
}

char *trace_stop_when(const struct meta *m, const struct fmt_trace_stop *s, char *out, size_t n)
{
	char place[32], from[32], to[32], stood[32], times[64] = "";

	if (s->nr > 1)
		snprintf(times, sizeof(times), " %u times for %s", s->nr,
			 str_fmt_time(stood, sizeof(stood), (int64_t)s->stood_ns));
	snprintf(out, n, "%s%s from %s to %s", place_of(m, s->ring, place, sizeof(place)), times,
		 relative(m, s->from_ns, from, sizeof(from)),
		 relative(m, s->to_ns, to, sizeof(to)));
	return out;
}
