// SPDX-License-Identifier: MIT
/* info for people; see info.h. Lines are at most 100 columns wide: a label, then wrapped text. The
 * most urgent facts come first: whether anything was lost, and how far back the dump goes. */
#include "dump/view/info/info_impl.h"

#include "dump/base/str.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH	  100
#define LABEL	  11
#define MAX_RINGS 8 /* of a channel, that get a line each without --all */

#define COLOR_GOOD "\x1b[32m"
#define COLOR_BAD  "\x1b[1;31m"
#define COLOR_END  "\x1b[0m"

/* ---- lines ---- */

/* How many bytes of `s` fit in a line of `room` columns: breaks at a space if possible, and never
 * inside a character. */
static size_t break_at(const char *s, size_t len, size_t room)
{
	size_t at = room;

	if (len <= room)
		return len;
	while (at && s[at] != ' ')
		at--;
	if (at)
		return at;
	for (at = room; at > 1 && ((unsigned char)s[at] & 0xc0) == 0x80;)
		at--;
	return at;
}

/* A label and a text that is already safe, wrapped. Prints nothing for an empty text. */
static void put_wrapped(struct info *in, const char *label, const char *s)
{
	size_t len = strlen(s);

	while (len) {
		size_t n = break_at(s, len, WIDTH - LABEL);

		text_str(&in->text, label);
		text_fill(&in->text, ' ', LABEL - (int)strlen(label));
		text_put(&in->text, s, n);
		text_char(&in->text, '\n');
		n += n < len && s[n] == ' ';
		s += n;
		len -= n;
		label = "";
	}
}

void info_put_line(struct info *in, const char *label, const char *fmt, ...)
{
	char s[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	put_wrapped(in, label, s);
}

static char *safe(char *out, size_t n, const char *foreign)
{
	return str_safe(out, n, foreign, strlen(foreign));
}

static void put_foreign(struct info *in, const char *label, const char *foreign)
{
	char s[1024];

	put_wrapped(in, label, safe(s, sizeof(s), foreign));
}

/* Does not wrap, so that the path can be copied. */
static void put_path(struct info *in, const char *label, const char *path)
{
	char s[PATH_MAX];

	text_fmt(&in->text, "%-*s%s\n", LABEL, label, safe(s, sizeof(s), path));
}

/* ---- what was lost ---- */

static const char *where(char *out, size_t n, const struct fmt_window *w)
{
	if (w->cpu >= 0)
		snprintf(out, n, "CPU %d", w->cpu);
	else if (w->tid >= 0)
		snprintf(out, n, "tid %d", w->tid);
	else
		snprintf(out, n, "ring %u", w->ring);
	return out;
}

static void put_window(struct info *in)
{
	char from[32], to[32], ring[32], name[64];

	if (!in->shortest) {
		info_put_line(in, "window", "the dump has no rings");
		return;
	}
	info_put_line(in, "window", "all rings reach from %s to %s; %s of %s reaches back least",
		      info_rel_time(in, from, sizeof(from), in->common.from_ns),
		      info_rel_time(in, to, sizeof(to), in->common.to_ns),
		      safe(name, sizeof(name), info_channel_name(in, in->shortest)),
		      where(ring, sizeof(ring), in->shortest));
}

static void put_losses(struct info *in)
{
	bool color = in->opt->color;

	text_str(&in->text, !color ? "" : in->nr_findings ? COLOR_BAD : COLOR_GOOD);
	if (!in->nr_findings)
		info_put_line(in, "losses", "none in the window");
	for (size_t i = 0; i < in->nr_findings; i++)
		put_wrapped(in, i ? "" : "losses", in->findings[i]);
	text_str(&in->text, color ? COLOR_END : "");
	put_window(in);
}

/* ---- the trigger ---- */

static void put_merged(struct info *in)
{
	char name[128], n[32], first[32], last[32];

	for (size_t i = 0; i < in->a.m->nr_merged; i++) {
		const struct meta_merged *m = &in->a.m->merged[i];

		info_rel_time(in, first, sizeof(first), m->f.first_ns);
		info_rel_time(in, last, sizeof(last), m->f.last_ns);
		if (m->f.nr_hits == 1)
			info_put_line(in, i ? "" : "merged", "%s: 1 hit at %s, counted here",
				      safe(name, sizeof(name), m->name), first);
		else
			info_put_line(in, i ? "" : "merged",
				      "%s: %s hits from %s to %s, counted here",
				      safe(name, sizeof(name), m->name),
				      str_fmt_count(n, sizeof(n), m->f.nr_hits), first, last);
	}
}

/* The thread that met the rule or requested the dump. Its name is the one at the hit, else the
 * ledger's. */
static void put_whom(struct info *in)
{
	const struct fmt_trigger *f = &in->a.m->trigger;
	const char *comm = in->a.m->trigger_comm;
	char name[128], tid[32] = "";

	if (!f->pid)
		return;
	if (!*comm)
		comm = history_comm(in->a.history, f->tid ? f->tid : f->pid, f->hit_ns);
	if (f->tid && f->tid != f->pid)
		snprintf(tid, sizeof(tid), ", tid %u", f->tid);
	info_put_line(in, "  by", "%s, pid %u%s, uid %u",
		      comm ? safe(name, sizeof(name), comm) : "?", f->pid, tid, f->uid);
}

/* The other threads of a process that crashed. */
static void put_threads(struct info *in)
{
	const struct text *t = &in->cause.threads;
	uint32_t more = in->cause.nr_threads - in->cause.nr_shown;

	for (size_t at = 0; at < t->b.len; at += strlen((const char *)t->b.p + at) + 1)
		put_wrapped(in, at ? "" : "  threads", (const char *)t->b.p + at);
	if (more)
		info_put_line(in, "", "and %u more (ringback script)", more);
}

static void put_trigger(struct info *in)
{
	const struct meta *m = in->a.m;
	const struct fmt_trigger *f = &m->trigger;
	char name[128], rule[512], utc[40], post[32], seen[32], kept[32];

	info_put_line(in, "trigger", "%s (%s), dump %u of this recorder",
		      safe(name, sizeof(name), m->trigger_name),
		      safe(rule, sizeof(rule), m->trigger_rule), f->nr);
	for (size_t i = 0; i < m->nr_saw; i++)
		put_foreign(in, i ? "" : "  saw", m->saw[i]);
	put_foreign(in, "  reason", m->trigger_reason);
	put_whom(in);
	put_wrapped(in, "  in", cause_text(&in->cause.container));
	put_wrapped(in, "  took", cause_text(&in->cause.took));
	put_wrapped(in, "  signal", cause_text(&in->cause.signal));
	put_wrapped(in, in->cause.is_crash ? "  crashed" : "  stack", cause_text(&in->cause.stack));
	put_threads(in);
	info_put_line(in, "  at", "%s", str_fmt_utc(utc, sizeof(utc), f->real_ns));
	if (f->post_ns)
		info_put_line(in, "  post", "recording continued for %s after the trigger",
			      str_fmt_time(post, sizeof(post), (int64_t)f->post_ns));
	if (m->repeats.nr_seen > 1)
		info_put_line(in, "repeats", "%s hits since %s, %s in dumps",
			      str_fmt_count(seen, sizeof(seen), m->repeats.nr_seen),
			      info_rel_time(in, post, sizeof(post), m->repeats.first_ns),
			      str_fmt_count(kept, sizeof(kept), m->repeats.nr_kept));
	put_merged(in);
}

/* ---- host, dump, channels ---- */

static void put_host(struct info *in)
{
	const struct meta *m = in->a.m;
	char a[256], b[256], size[32];

	info_put_line(in, "host", "%s, %s", safe(a, sizeof(a), m->hostname),
		      safe(b, sizeof(b), m->os));
	put_foreign(in, "", m->uname);
	info_put_line(in, "", "%s, %u of %u CPU%s, %s of memory", safe(a, sizeof(a), m->cpu_model),
		      m->host.nr_cpus_online, m->host.nr_cpus_possible,
		      str_plural(m->host.nr_cpus_possible),
		      str_fmt_size(size, sizeof(size), m->host.mem_total_bytes));
	info_put_line(in, "recorder", "%s, instance %s, pid %u, uid %u",
		      safe(a, sizeof(a), m->recorder), safe(b, sizeof(b), m->instance),
		      m->host.recorder_pid, m->host.recorder_uid);
}

static void put_timing(struct info *in)
{
	const struct fmt_dump_stats *s = &in->a.m->stats;
	char skew[32], signal[32], write[32];

	if (!in->a.m->has_stats)
		return;
	info_put_line(in, "freeze", "%s from trigger to last ring paused, skew %s; written in %s",
		      str_fmt_time(signal, sizeof(signal), (int64_t)s->signal_ns),
		      str_fmt_time(skew, sizeof(skew), (int64_t)s->pause_ns),
		      str_fmt_time(write, sizeof(write), (int64_t)s->write_ns));
}

static void put_sizes(struct info *in)
{
	uint64_t ring_bytes = 0, aux_bytes = 0, file_bytes = reader_file_bytes(in->a.r);
	char file[32], ring[32], tasks[32], procs[32], maps[32], time[32], aux[64] = "";
	const struct meta *m = in->a.m;

	for (size_t i = 0; i < in->nr_rings; i++)
		ring_bytes += in->rings[i]->bytes;
	for (size_t i = 0; i < in->areas.nr; i++)
		aux_bytes += in->areas.v[i].f.bytes;
	if (in->areas.nr)
		snprintf(aux, sizeof(aux), " and %s of AUX areas",
			 str_fmt_size(time, sizeof(time), aux_bytes));
	info_put_line(in, "size", "%s of file for %s of records%s (%.1f to 1)",
		      str_fmt_size(file, sizeof(file), file_bytes),
		      str_fmt_size(ring, sizeof(ring), ring_bytes), aux,
		      file_bytes ? (double)(ring_bytes + aux_bytes) / (double)file_bytes : 0);
	if (m->has_symbol_stats && m->symbols.end != FMT_SYMBOLS_OFF)
		info_put_line(in, "symbols", "%s in %s, %s; details: ringback symbols",
			      info_symbols_end(m).text,
			      str_fmt_time(time, sizeof(time), (int64_t)m->symbols.ns),
			      str_fmt_size(file, sizeof(file), m->symbols.payload_bytes));
	else if (m->has_symbol_stats)
		info_put_line(in, "symbols", "%s", info_symbols_end(m).text);
	info_put_line(
		in, "ledger", "%s process%s, %s thread%s, %s mapping%s",
		str_fmt_count(procs, sizeof(procs), in->nr.nr_processes),
		in->nr.nr_processes == 1 ? "" : "es",
		str_fmt_count(tasks, sizeof(tasks), in->nr.nr_tasks), str_plural(in->nr.nr_tasks),
		str_fmt_count(maps, sizeof(maps), in->nr.nr_maps), str_plural(in->nr.nr_maps));
}

static void put_channel_events(struct info *in, const struct meta_channel *c)
{
	struct text list = TEXT_INIT(NULL);

	for (size_t i = 0; i < in->a.m->nr_events; i++) {
		const struct meta_event *e = &in->a.m->events[i];

		if (e->f.id == UINT32_MAX || e->f.channel != c->f.id)
			continue;
		text_str(&list, list.b.len ? ", " : "");
		text_safe(&list, e->name, strlen(e->name));
		if (e->filter[0]) {
			text_char(&list, '[');
			text_safe(&list, e->filter, strlen(e->filter));
			text_char(&list, ']');
		}
	}
	text_char(&list, '\0');
	if (list.rc)
		in->text.rc = list.rc;
	else
		put_wrapped(in, "", (const char *)list.b.p);
	text_free(&list);
}

/* What was asked of rings that are resized, and the ring that holds least. */
static void put_horizon(struct info *in, const struct meta_channel *c)
{
	const struct fmt_window *least = NULL;
	char asked[32], held[32], ring[32], of[32];
	uint64_t ns, least_ns = UINT64_MAX;
	bool is_short = false;

	for (size_t i = 0; i < in->nr_rings; i++) {
		const struct fmt_window *w = in->rings[i];
		struct info_span s = info_ring_span(w);

		if (w->channel != c->f.id || w->flags & FMT_WINDOW_OFFLINE)
			continue;
		is_short |= w->flags & FMT_WINDOW_SHORT;
		ns = s.to_ns - s.from_ns;
		if (ns >= least_ns)
			continue;
		least = w;
		least_ns = ns;
	}
	if (!least)
		return;
	info_put_line(in, "", "%s asked; %s holds least, %s in a ring of %s%s",
		      str_fmt_time(asked, sizeof(asked), (int64_t)c->horizon_ns),
		      where(ring, sizeof(ring), least),
		      str_fmt_time(held, sizeof(held), (int64_t)least_ns),
		      str_fmt_size(of, sizeof(of), least->ring_bytes),
		      is_short ? ": memory does not allow more (--memory)" : "");
}

static void put_channels(struct info *in)
{
	char name[64], size[32];

	for (size_t i = 0; i < in->a.m->nr_channels; i++) {
		const struct meta_channel *c = &in->a.m->channels[i];

		if (c->f.id == UINT32_MAX)
			continue;
		if (c->of_trigger)
			info_put_line(in, "channel", "%s: records of what met the rule",
				      safe(name, sizeof(name), c->name));
		else if (c->horizon_ns)
			info_put_line(in, "channel", "%s: rings are resized, %u bank%s, %u event%s",
				      safe(name, sizeof(name), c->name), c->f.nr_banks,
				      str_plural(c->f.nr_banks), c->nr_events,
				      str_plural(c->nr_events));
		else
			info_put_line(in, "channel", "%s: %s per ring, %u bank%s, %u event%s%s",
				      safe(name, sizeof(name), c->name),
				      str_fmt_size(size, sizeof(size), c->f.ring_bytes),
				      c->f.nr_banks, c->f.nr_banks == 1 ? "" : "s", c->nr_events,
				      c->nr_events == 1 ? "" : "s",
				      c->f.flags & FMT_CHANNEL_COMPACT
					      ? "; 8 bytes each in the ring"
					      : "");
		if (c->horizon_ns)
			put_horizon(in, c);
		put_channel_events(in, c);
	}
}

/* ---- the table of rings ---- */

struct ring_column {
	const char *title;
	int width; /* negative: left-aligned */
	void (*put)(const struct info *in, const struct fmt_window *w, char *out, size_t n);
};

static void cell_where(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	where(out, n, w);
}

static void cell_channel(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	safe(out, n, info_channel_name(in, w));
}

static void cell_from(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	info_rel_time(in, out, n, info_ring_span(w).from_ns);
}

static void cell_to(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	info_rel_time(in, out, n, info_ring_span(w).to_ns);
}

static void cell_horizon(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_time(out, n, (int64_t)(w->last_ns - w->first_ns));
}

static void cell_records(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_count(out, n, w->nr_records);
}

static void cell_bytes(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_size(out, n, w->bytes);
}

static void cell_overwritten(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_size(out, n, w->overwritten_bytes);
}

static void cell_lost(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_count(out, n, w->lost);
}

static void cell_throttled(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	str_fmt_count(out, n, w->throttled);
}

static void cell_gap(const struct info *in, const struct fmt_window *w, char *out, size_t n)
{
	if (w->flags & FMT_WINDOW_FIRST)
		snprintf(out, n, "first");
	else
		str_fmt_time(out, n, w->gap_ns);
}

/* 100 columns, with a space between two cells. */
static const struct ring_column columns[] = {
	{"channel", -9, cell_channel}, {"ring", -8, cell_where},
	{"from", 9, cell_from},	       {"to", 9, cell_to},
	{"horizon", 8, cell_horizon},  {"records", 10, cell_records},
	{"held", 8, cell_bytes},       {"overwr.", 8, cell_overwritten},
	{"lost", 6, cell_lost},	       {"thrott.", 7, cell_throttled},
	{"gap", 8, cell_gap},
};

#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

void info_put_cell(struct info *in, int width, const char *s, bool last)
{
	int room = width < 0 ? -width : width, len = (int)strlen(s);

	text_fill(&in->text, ' ', width > 0 ? room - len : 0);
	text_put(&in->text, s, len > room && width < 0 ? (size_t)room : (size_t)len);
	text_fill(&in->text, ' ', width < 0 ? room - len : 0);
	text_char(&in->text, last ? '\n' : ' ');
}

static void put_titles(struct info *in)
{
	text_char(&in->text, '\n');
	for (size_t i = 0; i < NR_COLUMNS; i++)
		info_put_cell(in, columns[i].width, columns[i].title, i + 1 == NR_COLUMNS);
}

static void put_ring(struct info *in, const struct fmt_window *w)
{
	char cell[64];

	for (size_t i = 0; i < NR_COLUMNS; i++) {
		columns[i].put(in, w, cell, sizeof(cell));
		info_put_cell(in, columns[i].width, cell, i + 1 == NR_COLUMNS);
	}
}

/* ---- many rings of one channel ---- */

static uint64_t horizon_of(const struct fmt_window *w)
{
	return w->last_ns - w->first_ns;
}

static int compare_horizon(const void *a, const void *b)
{
	uint64_t x = horizon_of(*(const struct fmt_window *const *)a);
	uint64_t y = horizon_of(*(const struct fmt_window *const *)b);

	return x < y ? -1 : x > y;
}

static void put_summary(struct info *in, const struct fmt_window **w, size_t nr)
{
	const struct fmt_window *shown[] = {w[0], w[nr / 2], w[nr - 1]};
	char n[24];

	for (size_t i = 0; i < 3; i++)
		put_ring(in, shown[i]);
	info_put_line(in, "",
		      "^ shortest, median and longest horizon of %s rings; --all lists them",
		      str_fmt_count(n, sizeof(n), nr));
}

static void put_rings_of_channel(struct info *in, const struct fmt_window **w, size_t nr)
{
	if (nr > MAX_RINGS && !in->opt->all) {
		qsort(w, nr, sizeof(*w), compare_horizon);
		put_summary(in, w, nr);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		put_ring(in, w[i]);
}

static void put_rings(struct info *in)
{
	if (!in->nr_rings)
		return;
	put_titles(in);
	for (size_t from = 0, to; from < in->nr_rings; from = to) {
		for (to = from;
		     to < in->nr_rings && in->rings[to]->channel == in->rings[from]->channel;)
			to++;
		put_rings_of_channel(in, in->rings + from, to - from);
	}
	text_str(&in->text,
		 "from, to: what the ring holds, relative to the trigger; gap: since the ring's "
		 "dump before,\nnegative where the two overlap\n");
}

void info_text(struct info *in)
{
	put_path(in, "dump", in->opt->path);
	put_losses(in);
	put_trigger(in);
	put_host(in);
	info_cgroups_text(in);
	info_threads_text(in);
	put_timing(in);
	put_sizes(in);
	put_channels(in);
	info_aux_channels(in);
	put_rings(in);
	info_aux_text(in);
}
