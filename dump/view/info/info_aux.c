// SPDX-License-Identifier: MIT
/* AUX areas in info: a line per channel, a table with a line per area, and the same as JSON. Called
 * by info_text.c and info_json.c. */
#include "dump/view/info/info_impl.h"

#include "dump/base/str.h"
#include "dump/view/info/trace_stop.h"

#include <stdlib.h>
#include <string.h>

#define MAX_AREAS 8 /* of a channel, that get a line each without --all */

static const struct info_flag flags[] = {
	{FMT_AUX_WRAPPED, "wrapped"},	  {FMT_AUX_COUNTING, "counting"},
	{FMT_AUX_TRUNCATED, "truncated"}, {FMT_AUX_PARTIAL, "partial"},
	{FMT_AUX_COLLISION, "collision"}, {FMT_AUX_PAUSED, "paused"},
};

#define NR_FLAGS (sizeof(flags) / sizeof(flags[0]))
/* Flags without a column in the table. */
#define NOTED (FMT_AUX_TRUNCATED | FMT_AUX_PARTIAL | FMT_AUX_COLLISION | FMT_AUX_PAUSED)

static bool has_clock(const struct fmt_window_aux *f)
{
	uint64_t ns;

	return aux_time(f, f->stop_cycles, &ns);
}

static const char *channel_name(const struct dump_area *a)
{
	return a->channel ? a->channel->name : "";
}

static const char *pmu_of(const struct dump_area *a)
{
	return a->event ? a->event->pmu : "";
}

/* ---- text ---- */

static void cell_channel(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	str_safe(out, n, channel_name(a), strlen(channel_name(a)));
}

static void cell_place(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->cpu < 0 && a->tid >= 0)
		snprintf(out, n, "tid %d", a->tid);
	else
		aux_place(a, out, n);
}

static void cell_held(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	str_fmt_size(out, n, a->f.bytes);
}

static void cell_full(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	double full = a->f.area_bytes ? (double)a->f.bytes / (double)a->f.area_bytes : 0;

	*out = '\0';
	if (a->known)
		snprintf(out, n, "%.0f %%", 100 * full);
}

static void cell_new(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->known)
		str_fmt_size(out, n, a->f.new_bytes);
}

/* How often the area wrapped since it was started; "at least" when the head does not count all
 * bytes. */
static void cell_wraps(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	uint64_t nr = a->f.area_bytes ? a->f.written_bytes / a->f.area_bytes : 0;

	if (!a->known)
		return;
	if (a->f.flags & FMT_AUX_WRAPPED && !nr)
		nr = 1;
	snprintf(out, n, "%s%llu",
		 a->f.flags & FMT_AUX_WRAPPED && !(a->f.flags & FMT_AUX_COUNTING) ? ">= " : "",
		 (unsigned long long)nr);
}

static void cell_from(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->known)
		info_rel_time(in, out, n, a->f.start_ns);
}

static void cell_to(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->known)
		info_rel_time(in, out, n, a->f.stop_ns);
}

static void cell_copy(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->known)
		str_fmt_time(out, n, (int64_t)a->f.copy_ns);
}

static void cell_blackout(const struct info *in, const struct dump_area *a, char *out, size_t n)
{
	if (a->f.blackout_ns)
		str_fmt_time(out, n, (int64_t)a->f.blackout_ns);
	else if (a->known)
		snprintf(out, n, "ended");
}

/* 93 columns, with a space between two cells. */
static const struct aux_column {
	const char *title;
	int width; /* negative: left-aligned */
	void (*put)(const struct info *in, const struct dump_area *a, char *out, size_t n);
} columns[] = {
	{"channel", -9, cell_channel},	{"area", -12, cell_place}, {"held", 9, cell_held},
	{"full", 6, cell_full},		{"new", 9, cell_new},	   {"wraps", 7, cell_wraps},
	{"started", 9, cell_from},	{"stopped", 9, cell_to},   {"copied in", 9, cell_copy},
	{"blackout", 9, cell_blackout},
};

#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void put_area(struct info *in, const struct dump_area *a)
{
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		char cell[64] = "";

		columns[i].put(in, a, cell, sizeof(cell));
		info_put_cell(in, columns[i].width, cell, i + 1 == NR_COLUMNS);
	}
}

/* The times in which the trace into the area stood. */
static void put_stops(struct info *in, const struct dump_area *a)
{
	const struct meta *m = in->a.m;
	char when[100];

	for (size_t i = 0; i < m->nr_stops; i++)
		if (m->stops[i].ring == a->f.ring)
			info_put_line(in, "", "no trace of %s: %s",
				      trace_stop_when(m, &m->stops[i], when, sizeof(when)),
				      trace_stop_why(&m->stops[i]));
}

/* Notes on areas with flags that have no column. */
static void put_notes(struct info *in, const struct dump_area *a)
{
	char place[32], list[128] = "";

	if (!(a->f.flags & NOTED))
		return;
	for (size_t i = 0; i < NR_FLAGS; i++)
		if (a->f.flags & NOTED & flags[i].flag)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 *list ? ", " : "", flags[i].name);
	info_put_line(in, "",
		      "%s: %s; %u AUX records; since its start %u truncated, %u partial, %u with "
		      "collisions",
		      aux_place(a, place, sizeof(place)), list, a->f.nr_aux, a->f.nr_truncated,
		      a->f.nr_partial, a->f.nr_collision);
}

/* The areas of one channel. */
static void put_channel(struct info *in, const struct dump_area *a, size_t nr)
{
	size_t shown = nr > MAX_AREAS && !in->opt->all ? MAX_AREAS : nr;
	char n[24];

	for (size_t i = 0; i < shown; i++)
		put_area(in, &a[i]);
	if (shown < nr)
		info_put_line(in, "", "^ %zu of %s areas; --all lists them", shown,
			      str_fmt_count(n, sizeof(n), nr));
	for (size_t i = 0; i < shown; i++) {
		put_notes(in, &a[i]);
		put_stops(in, &a[i]);
	}
}

static size_t same_channel(const struct info *in, size_t from)
{
	size_t to = from;

	while (to < in->areas.nr && in->areas.v[to].channel == in->areas.v[from].channel)
		to++;
	return to;
}

void info_aux_text(struct info *in)
{
	const struct aux_list *l = &in->areas;

	if (!l->nr)
		return;
	text_char(&in->text, '\n');
	for (size_t i = 0; i < NR_COLUMNS; i++)
		info_put_cell(in, columns[i].width, columns[i].title, i + 1 == NR_COLUMNS);
	for (size_t from = 0, to; from < l->nr; from = to) {
		to = same_channel(in, from);
		put_channel(in, &l->v[from], to - from);
	}
	text_str(&in->text, "AUX areas; new: written since it was started; wraps: as often it went "
			    "around since then; blackout:\nfrom its stop until it was started "
			    "again\n");
}

void info_aux_channels(struct info *in)
{
	const struct aux_list *l = &in->areas;

	for (size_t from = 0, to; from < l->nr; from = to) {
		char name[64], pmu[64], held[32], area[32], blackout[32];
		uint64_t bytes = 0, longest = 0;
		bool clock = true;

		to = same_channel(in, from);
		for (size_t i = from; i < to; i++) {
			bytes += l->v[i].f.bytes;
			clock &= has_clock(&l->v[i].f);
			if (l->v[i].f.blackout_ns > longest)
				longest = l->v[i].f.blackout_ns;
		}
		info_put_line(in, from ? "" : "aux",
			      "%s: %s of %s in %zu area%s of %s, blackout up to %s, %s",
			      str_safe(name, sizeof(name), channel_name(&l->v[from]),
				       strlen(channel_name(&l->v[from]))),
			      str_fmt_size(held, sizeof(held), bytes),
			      str_safe(pmu, sizeof(pmu), pmu_of(&l->v[from]),
				       strlen(pmu_of(&l->v[from]))),
			      to - from, to - from == 1 ? "" : "s",
			      str_fmt_size(area, sizeof(area), l->v[from].f.area_bytes),
			      str_fmt_time(blackout, sizeof(blackout), (int64_t)longest),
			      clock ? "clock known" : "clock not known");
	}
}

/* ---- JSON ---- */

static void put_clock(struct json *j, const struct fmt_window_aux *f)
{
	if (!has_clock(f)) {
		json_cstr(j, "clock", NULL);
		return;
	}
	json_open(j, "clock", '{');
	json_ns(j, "start_cycles", f->start_cycles);
	json_ns(j, "start_time", f->start_cycles_ns);
	json_ns(j, "stop_cycles", f->stop_cycles);
	json_ns(j, "stop_time", f->stop_cycles_ns);
	json_ns(j, "time_zero", f->time_zero);
	json_u64(j, "time_mult", f->time_mult);
	json_u64(j, "time_shift", f->time_shift);
	json_close(j, '}');
}

static void put_stops_json(const struct info *in, struct json *j, uint32_t ring)
{
	const struct meta *m = in->a.m;

	json_open(j, "stops", '[');
	for (size_t i = 0; i < m->nr_stops; i++) {
		const struct fmt_trace_stop *s = &m->stops[i];

		if (s->ring != ring)
			continue;
		json_open(j, NULL, '{');
		json_i64(j, "from", (int64_t)(s->from_ns - m->trigger.hit_ns));
		json_i64(j, "to", (int64_t)(s->to_ns - m->trigger.hit_ns));
		json_u64(j, "stood_ns", s->stood_ns);
		json_u64(j, "count", s->nr);
		json_cstr(j, "reason", trace_stop_reason(s));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_object(const struct info *in, struct json *j, const struct dump_area *a)
{
	const struct fmt_window_aux *f = &a->f;

	json_open(j, NULL, '{');
	json_u64(j, "ring", f->ring);
	if (a->channel)
		json_u64(j, "channel", (uint64_t)(a->channel - in->a.m->channels));
	else
		json_cstr(j, "channel", NULL);
	json_i64(j, "cpu", a->cpu);
	json_i64(j, "tid", a->tid);
	json_cstr(j, "pmu", pmu_of(a));
	json_u64(j, "area_bytes", f->area_bytes);
	json_u64(j, "bytes", f->bytes);
	json_u64(j, "new_bytes", f->new_bytes);
	json_u64(j, "written_bytes", f->written_bytes);
	json_u64(j, "head", f->head);
	json_i64(j, "start", (int64_t)(f->start_ns - in->a.m->trigger.hit_ns));
	json_i64(j, "stop", (int64_t)(f->stop_ns - in->a.m->trigger.hit_ns));
	json_u64(j, "copy_ns", f->copy_ns);
	json_u64(j, "blackout_ns", f->blackout_ns);
	json_u64(j, "records", f->nr_aux);
	json_u64(j, "truncated", f->nr_truncated);
	json_u64(j, "partial", f->nr_partial);
	json_u64(j, "collision", f->nr_collision);
	info_flags_json(j, f->flags, flags, NR_FLAGS);
	put_stops_json(in, j, f->ring);
	put_clock(j, f);
	json_close(j, '}');
}

void info_aux_json(const struct info *in, struct json *j)
{
	json_open(j, "aux", '[');
	for (size_t i = 0; i < in->areas.nr; i++)
		put_object(in, j, &in->areas.v[i]);
	json_close(j, ']');
}
