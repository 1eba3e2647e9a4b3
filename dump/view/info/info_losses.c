// SPDX-License-Identifier: MIT
/*
 * Finds what was lost and describes it in plain words; see info_impl.h. Each finding is a gap that
 * a reader could mistake for "it did not happen". Overwritten records are not a loss: the window
 * shows where they end.
 */
#include "dump/view/info/info_impl.h"

#include "dump/base/str.h"
#include "dump/view/info/trace_stop.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_STOPS 4 /* of traces, that get a line each */

static void __attribute__((format(printf, 2, 3))) found(struct info *in, const char *fmt, ...)
{
	va_list ap;

	if (in->nr_findings == INFO_MAX_FINDINGS)
		return;
	va_start(ap, fmt);
	vsnprintf(in->findings[in->nr_findings++], sizeof(in->findings[0]), fmt, ap);
	va_end(ap);
}

/* Sums over all rings of a channel. */
struct tally {
	uint64_t lost, throttled, broken, offline, running;
	uint64_t nr_gaps, max_gap_ns;
};

static void add(struct tally *t, const struct fmt_window *w)
{
	t->lost += w->lost;
	t->throttled += w->throttled;
	t->broken += (w->flags & FMT_WINDOW_BROKEN) != 0;
	t->running += (w->flags & FMT_WINDOW_RUNNING) != 0;
	t->offline += (w->flags & FMT_WINDOW_OFFLINE) != 0;
	if (w->gap_ns > 0 && !(w->flags & FMT_WINDOW_FIRST)) {
		t->nr_gaps++;
		if ((uint64_t)w->gap_ns > t->max_gap_ns)
			t->max_gap_ns = (uint64_t)w->gap_ns;
	}
}

static void report_channel(struct info *in, const char *foreign_name, const struct tally *t)
{
	char name[64], n[32];

	str_safe(name, sizeof(name), foreign_name, strlen(foreign_name));
	if (t->lost)
		found(in, "%s event%s of channel %s %s lost (no room in the ring)",
		      str_fmt_count(n, sizeof(n), t->lost), str_plural(t->lost), name,
		      str_were(t->lost));
	if (t->throttled)
		found(in,
		      "channel %s was throttled %s time%s: the kernel dropped samples above its "
		      "rate limit",
		      name, str_fmt_count(n, sizeof(n), t->throttled), str_plural(t->throttled));
	if (t->broken)
		found(in,
		      "%s ring%s of channel %s: invalid bytes in the ring; older records are "
		      "missing",
		      str_fmt_count(n, sizeof(n), t->broken), str_plural(t->broken), name);
	if (t->running)
		found(in,
		      "%s ring%s of channel %s: the kernel did not pause it, so it was read while "
		      "being written; the oldest records may be wrong",
		      str_fmt_count(n, sizeof(n), t->running), str_plural(t->running), name);
	if (t->nr_gaps)
		found(in,
		      "channel %s recorded nothing for up to %s between the previous dump and this "
		      "one",
		      name, str_fmt_time(n, sizeof(n), (int64_t)t->max_gap_ns));
	if (t->offline)
		found(in, "%s ring%s of channel %s: it ends early because the CPU went offline",
		      str_fmt_count(n, sizeof(n), t->offline), str_plural(t->offline), name);
}

static void find_in_rings(struct info *in)
{
	for (size_t from = 0, to; from < in->nr_rings; from = to) {
		struct tally t = {0};

		for (to = from;
		     to < in->nr_rings && in->rings[to]->channel == in->rings[from]->channel; to++)
			add(&t, in->rings[to]);
		report_channel(in, info_channel_name(in, in->rings[from]), &t);
	}
}

static void find_in_trigger(struct info *in)
{
	uint64_t lost = 0;
	char n[32];

	for (size_t i = 0; i < in->a.m->nr_windows; i++)
		if (in->a.m->windows[i].flags & FMT_WINDOW_TRIGGER)
			lost += in->a.m->windows[i].lost;
	if (lost)
		found(in, "%s record%s of what met the rule came too late or %s too many",
		      str_fmt_count(n, sizeof(n), lost), str_plural(lost), str_were(lost));
}

/* Losses that the kernel reported in PERF_RECORD_AUX. */
static void find_in_areas(struct info *in)
{
	uint64_t truncated = 0, partial = 0, collision = 0;
	char n[32];

	for (size_t i = 0; i < in->a.m->nr_areas; i++) {
		truncated += in->a.m->areas[i].nr_truncated;
		partial += in->a.m->areas[i].nr_partial;
		collision += in->a.m->areas[i].nr_collision;
	}
	if (truncated)
		found(in, "hardware traces were truncated %s time%s (no room in the buffer)",
		      str_fmt_count(n, sizeof(n), truncated), str_plural(truncated));
	if (partial)
		found(in, "hardware traces have gaps: the kernel reported %s",
		      str_fmt_count(n, sizeof(n), partial));
	if (collision)
		found(in, "hardware traces lost data to collisions: the kernel reported %s",
		      str_fmt_count(n, sizeof(n), collision));
}

/* Traces that stood. */
static void find_in_stops(struct info *in)
{
	const struct meta *m = in->a.m;
	char when[100];

	for (size_t i = 0; i < m->nr_stops && i < MAX_STOPS; i++)
		found(in, "no hardware trace of %s: %s",
		      trace_stop_when(m, &m->stops[i], when, sizeof(when)),
		      trace_stop_why(&m->stops[i]));
	if (m->nr_stops > MAX_STOPS)
		found(in, "hardware traces stood at %zu other times; info --all lists them",
		      m->nr_stops - MAX_STOPS);
}

static void find_in_file(struct info *in)
{
	const struct meta *m = in->a.m;
	char n[32], size[32], cut[512];

	if (!reader_committed(in->a.r))
		found(in, "the file is truncated or damaged: only its readable part is shown");
	if (*m->cut)
		found(in, "writing was cut short, the oldest records are missing: %s",
		      str_safe(cut, sizeof(cut), m->cut, strlen(m->cut)));
	if (m->salvaged)
		found(in, "the file was salvaged from a damaged one: %s block%s and %s are missing",
		      str_fmt_count(n, sizeof(n), m->salvage.nr_bad_blocks),
		      str_plural(m->salvage.nr_bad_blocks),
		      str_fmt_size(size, sizeof(size), m->salvage.unclaimed_bytes));
	if (m->nr_broken)
		found(in, "%s part%s of the file's metadata could not be read",
		      str_fmt_count(n, sizeof(n), m->nr_broken), str_plural(m->nr_broken));
	if (in->nr.nr_broken)
		found(in,
		      "%s part%s of the ledger could not be read: names and mappings may be "
		      "missing",
		      str_fmt_count(n, sizeof(n), in->nr.nr_broken), str_plural(in->nr.nr_broken));
	if (!m->has_stats)
		found(in,
		      "the losses of the whole dump are unknown: the file has no STATS section");
}

static void find_in_sideband(struct info *in)
{
	const struct fmt_sideband_stats *s = &in->a.m->sideband;
	char n[32];

	if (s->nr_evicted)
		found(in,
		      "%s process%s %s dropped from the ledger to save memory: names may be "
		      "missing",
		      str_fmt_count(n, sizeof(n), s->nr_evicted), s->nr_evicted == 1 ? "" : "es",
		      str_were(s->nr_evicted));
	if (s->nr_lost)
		found(in, "%s process event%s %s lost and recovered by a scan of /proc",
		      str_fmt_count(n, sizeof(n), s->nr_lost), str_plural(s->nr_lost),
		      str_were(s->nr_lost));
}

static void find_in_dumps(struct info *in)
{
	const struct fmt_dump_stats *s = &in->a.m->stats;
	char n[32];

	if (s->nr_refused)
		found(in, "%s earlier dump%s could not be written",
		      str_fmt_count(n, sizeof(n), s->nr_refused), str_plural(s->nr_refused));
}

struct info_symbols_end info_symbols_end(const struct meta *m)
{
	static const struct info_symbols_end ends[] = {
		[FMT_SYMBOLS_DONE] = {"done", "complete"},
		[FMT_SYMBOLS_TIME] = {"time", "stopped at the time limit of --symbols"},
		[FMT_SYMBOLS_HIT] = {"hit", "stopped by the next trigger"},
		[FMT_SYMBOLS_DIED] = {"died", "the collector crashed"},
		[FMT_SYMBOLS_OFF] = {"off", "not collected (--symbols=off)"},
		[FMT_SYMBOLS_FAIL] = {"failed", "could not be started"},
		[FMT_SYMBOLS_ROOM] = {"room", "the size limit was reached"},
	};

	return m->symbols.end < sizeof(ends) / sizeof(ends[0])
		       ? ends[m->symbols.end]
		       : (struct info_symbols_end){"unknown", "ended for an unknown reason"};
}

void info_find_losses(struct info *in)
{
	find_in_file(in);
	find_in_rings(in);
	find_in_areas(in);
	find_in_stops(in);
	find_in_trigger(in);
	find_in_sideband(in);
	find_in_dumps(in);
}
