// SPDX-License-Identifier: MIT
/*
 * Prints what grew from one dump to another. A row is shown when all of this holds:
 *
 *	it grew by at least LARGE standard errors, from the scatter between the 16 slices of each
 *	window (for samples at least the scatter of random samples);
 *	it grew by at least a quarter;
 *	it grew by at least a hundredth of a CPU (events: 50 per second).
 *
 * Among the hundreds of rows of two dumps of the same load, this shows hardly any; it also hides
 * single short events. A wait that is much longer than any before is shown, too.
 */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/report/report_delta.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGE	     4.0
#define MUCH_MORE    1.25
#define MIN_NS	     1e7 /* per second */
#define MIN_EVENTS   50.0
#define LONG_WAIT_NS 5e7
#define LONG_TIMES   5.0
#define MAX_ROWS     8
/* A caller is not shown when one of its callees has this share of its growth. */
#define EXPLAINED 0.6

struct grown {
	const struct delta_row *row;
	double before, now; /* per second */
	double by;
	bool long_wait; /* only the longest wait grew */
};

struct diff {
	struct delta *d;
	struct report *rp;	   /* of the second dump */
	const struct meta *base_m; /* of the first */
	struct grown *list;
};

static const struct {
	const char *title, *heading;
} parts[NR_DELTA_KINDS] = {
	[DELTA_RUN] = {"GREW: CPU TIME OF PROGRAMS", "program"},
	[DELTA_STACK] = {"GREW: CPU TIME OF FUNCTIONS", "program, function with what it calls"},
	[DELTA_READY] = {"GREW: RUN QUEUE LATENCY", "program"},
	[DELTA_BLOCKED] = {"GREW: BLOCKED, UNINTERRUPTIBLE", "program"},
	[DELTA_SLEEP] = {"GREW: SLEPT UNTIL ANOTHER THREAD WOKE IT", "program"},
	[DELTA_EVENT] = {"GREW: EVENTS", "event"},
};

/* Mean per second, and the square of its standard error. */
static double mean(const struct delta *d, const struct delta_row *r, unsigned which, double *var)
{
	double seconds = d->seconds[which][r->kind] / DELTA_SLICES, sum = 0, squares = 0, m;

	for (unsigned i = 0; i < DELTA_SLICES; i++)
		sum += r->slices[which][i] / seconds;
	m = sum / DELTA_SLICES;
	for (unsigned i = 0; i < DELTA_SLICES; i++) {
		double off = r->slices[which][i] / seconds - m;

		squares += off * off;
	}
	*var = squares / (DELTA_SLICES - 1) / DELTA_SLICES;
	if (r->kind == DELTA_STACK) {
		/* For n random samples, n is also the variance. */
		double chance = m * d->sample_ns[which] / d->seconds[which][r->kind];

		*var = chance > *var ? chance : *var;
	}
	return m;
}

static bool is_recorded(const struct meta *m, const char *name)
{
	for (size_t i = 0; i < m->nr_events; i++)
		if (meta_in_rings(m, &m->events[i]) && !strcmp(m->events[i].name, name))
			return true;
	return false;
}

/* If only one dump has names, functions and their callees cannot be compared. */
static bool is_named_differently(const struct delta *d, const struct delta_row *r)
{
	for (; r; r = r->parent ? map_find(&d->rows, r->parent) : NULL) {
		const struct delta_image *i = map_find(&d->images, r->image);

		if (i && ((i->named[0] && !i->named[1] && i->unnamed[1]) ||
			  (i->named[1] && !i->named[0] && i->unnamed[0])))
			return true;
	}
	return false;
}

static bool has_grown(const struct diff *df, const struct delta_row *r, struct grown *g)
{
	const struct delta *d = df->d;
	double min = r->kind == DELTA_EVENT ? MIN_EVENTS : MIN_NS, var[2];

	if (d->seconds[0][r->kind] <= 0 || d->seconds[1][r->kind] <= 0 ||
	    (r->kind == DELTA_EVENT && !is_recorded(df->base_m, r->name)))
		return false;
	if (r->kind == DELTA_STACK && is_named_differently(d, r))
		return false;
	*g = (struct grown){.row = r};
	g->before = mean(d, r, 0, &var[0]);
	g->now = mean(d, r, 1, &var[1]);
	g->by = g->now - g->before;
	if (g->by >= min && g->now >= g->before * MUCH_MORE &&
	    g->by >= LARGE * sqrt(var[0] + var[1]))
		return true;
	g->long_wait = (r->kind == DELTA_READY || r->kind == DELTA_BLOCKED) &&
		       r->worst_ns[1] >= LONG_WAIT_NS &&
		       r->worst_ns[1] >= LONG_TIMES * r->worst_ns[0];
	return g->long_wait;
}

static int most_first(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;

	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	return x->row->key < y->row->key ? -1 : x->row->key > y->row->key;
}

/* Rows of a kind that grew, without callers whose growth is due to one callee. */
static size_t list_grown(const struct diff *df, enum delta_kind kind)
{
	struct grown *list = df->list;
	struct delta *d = df->d;
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < map_nr(&d->rows); i++) {
		const struct delta_row *r = map_nth(&d->rows, i);

		nr += r->kind == kind && has_grown(df, r, &list[nr]);
	}
	if (nr)
		qsort(list, nr, sizeof(*list), most_first);
	for (size_t i = 0; i < nr; i++) {
		bool explained = false;

		/* A callee grew less than its caller, so it comes later in the list. */
		for (size_t k = i + 1; kind == DELTA_STACK && k < nr && !explained; k++)
			explained = list[k].row->parent == list[i].row->key &&
				    list[k].by >= EXPLAINED * list[i].by;
		if (!explained)
			list[kept++] = list[i];
	}
	return kept;
}

/* Times: as part of a CPU or of a thread's time; events: per second. */
static void put_amount(struct report *rp, const struct delta_row *r, double v, const char *sign)
{
	char number[32], s[48];

	if (r->kind == DELTA_EVENT)
		snprintf(s, sizeof(s), "%s%s/s", sign,
			 str_fmt_count(number, sizeof(number), (uint64_t)(v + 0.5)));
	else
		snprintf(s, sizeof(s), "%s%.1f%%", sign, v / 1e7);
	page_right(&rp->page, s, 13);
}

static void put_grown(struct report *rp, const struct grown *g)
{
	const struct delta_row *r = g->row;
	struct page *p = &rp->page;
	unsigned name = p->width - 2 - 39;
	char what[400], a[32], b[32];

	if (r->kind == DELTA_EVENT)
		snprintf(what, sizeof(what), "%s", r->name);
	else
		snprintf(what, sizeof(what), "%s%s%s", r->comm, *r->name ? ", " : "", r->name);
	text_str(p->t, "  ");
	page_left(p, what, name);
	put_amount(rp, r, g->before, "");
	put_amount(rp, r, g->now, "");
	page_color(p, PAGE_WARM);
	put_amount(rp, r, g->by > 0 ? g->by : -g->by, g->by > 0 ? "+" : "-");
	page_end_color(p);
	text_char(p->t, '\n');
	if (r->kind == DELTA_READY || r->kind == DELTA_BLOCKED)
		page_line(p, 6, "longest one %s, before %s",
			  page_fmt_time(a, sizeof(a), (uint64_t)r->worst_ns[1]),
			  page_fmt_time(b, sizeof(b), (uint64_t)r->worst_ns[0]));
	if (r->chain && r->kind == DELTA_STACK)
		report_path_to(rp, r->chain, r->depth, 6, 2);
	else if (r->chain)
		report_path(rp, r->chain, 6, 2);
}

static size_t put_part(const struct diff *df, enum delta_kind kind)
{
	struct report *rp = df->rp;
	const struct delta *d = df->d;
	size_t nr = list_grown(df, kind);
	struct page *p = &rp->page;
	char right[96], a[32], b[32];

	if (!nr)
		return 0;
	snprintf(right, sizeof(right), "%s against %s",
		 page_fmt_time(b, sizeof(b), (uint64_t)(d->seconds[1][kind] * 1e9)),
		 page_fmt_time(a, sizeof(a), (uint64_t)(d->seconds[0][kind] * 1e9)));
	page_title(p, parts[kind].title, right);
	page_color(p, PAGE_DIM);
	text_str(p->t, "  ");
	page_left(p, parts[kind].heading, p->width - 2 - 39);
	text_str(p->t, "       before          now         more\n");
	page_end_color(p);
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++)
		put_grown(rp, &df->list[i]);
	if (nr > MAX_ROWS)
		page_line(p, 2, "and %zu more", nr - MAX_ROWS);
	return nr;
}

static void put_head(struct report *rp, const char *label, const struct meta *m)
{
	char name[128], at[40], reason[256], host[128], line[800];
	int n = snprintf(line, sizeof(line), "%s at %s on %s",
			 str_safe(name, sizeof(name), m->trigger_name, strlen(m->trigger_name)),
			 str_fmt_utc(at, sizeof(at), m->trigger.real_ns),
			 str_safe(host, sizeof(host), m->hostname, strlen(m->hostname)));

	if (*m->trigger_reason)
		snprintf(line + n, sizeof(line) - (size_t)n, ": %s",
			 str_safe(reason, sizeof(reason), m->trigger_reason,
				  strlen(m->trigger_reason)));
	page_labelled(&rp->page, label, 10, line);
}

static void put_all(const struct diff *df)
{
	struct report *rp = df->rp;
	const struct delta *d = df->d;
	static const enum delta_kind order[] = {DELTA_RUN,     DELTA_STACK, DELTA_READY,
						DELTA_BLOCKED, DELTA_SLEEP, DELTA_EVENT};
	const char *missing = NULL;
	bool differs = false;
	size_t nr = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		nr += put_part(df, order[i]);
	if (!nr) {
		text_char(&rp->text, '\n');
		page_color(&rp->page, PAGE_GOOD);
		page_line(&rp->page, 0, "no significant increase");
		page_end_color(&rp->page);
	}
	for (size_t i = 0; i < map_nr(&d->rows); i++)
		differs |= is_named_differently(d, map_nth(&d->rows, i));
	for (int k = 0; k < NR_DELTA_KINDS; k++)
		if ((d->seconds[0][k] > 0) != (d->seconds[1][k] > 0))
			missing = k == DELTA_STACK ? "stacks of CPU samples" : "scheduler events";
	text_char(&rp->text, '\n');
	page_color(&rp->page, PAGE_DIM);
	if (missing)
		page_line(&rp->page, 0, "not compared: only one of the dumps has %s", missing);
	if (differs)
		page_line(&rp->page, 0,
			  "not compared: functions that have a name in only one of the dumps "
			  "(ringback symbols adds names)");
	page_line(&rp->page, 0,
		  "%zu values compared; significant: an increase of %.0f standard errors, of 25%%, "
		  "and "
		  "of 1%% of a CPU or 50 events/s",
		  map_nr(&d->rows), LARGE);
	page_end_color(&rp->page);
}

static int compare(struct report *rp, struct delta *d, const struct meta *base_m, struct err *err)
{
	struct diff df = {d, rp, base_m, calloc(map_nr(&d->rows) + 1, sizeof(struct grown))};
	int rc;

	if (!df.list)
		return err_set(err, -ENOMEM, "out of memory");
	put_head(rp, "baseline", base_m);
	put_head(rp, "dump", rp->a.m);
	put_all(&df);
	free(df.list);
	rc = text_flush(&rp->text);
	return rc ? err_sys(err, rc, "the output can't be written") : 0;
}

static bool has_places(const struct meta *m)
{
	for (size_t i = 0; i < m->nr_events; i++)
		if (meta_in_rings(m, &m->events[i]) &&
		    !strcmp(m->events[i].name, "sched:sched_switch") &&
		    m->events[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

static int load(struct delta *d, struct report *rp, unsigned which, struct err *err)
{
	int rc;

	delta_count_events(d, rp, which);
	rc = report_load(rp, err);
	if (!rc)
		delta_add(d, rp, which);
	return rc;
}

int report_diff(struct reader *base_r, const struct meta *base_m, struct reader *r,
		const struct meta *m, const struct report_options *opt, FILE *out,
		struct report_result *res, struct err *err)
{
	struct report base = {.a = {.r = base_r, .m = base_m}, .opt = opt, .text = TEXT_INIT(NULL)};
	struct report rp = {.a = {.r = r, .m = m}, .opt = opt, .text = TEXT_INIT(out)};
	struct delta d = {.rows = MAP_INIT(struct delta_row),
			  .images = MAP_INIT(struct delta_image)};
	int rc;

	d.with_places = has_places(base_m) && has_places(m);
	rp.page = (struct page){&rp.text, opt->width, opt->color};
	rc = load(&d, &base, 0, err);
	res->nr_bad = base.nr_bad;
	report_unload(&base); /* keeps only one dump in memory */
	rc = rc ? rc : load(&d, &rp, 1, err);
	rc = rc ? rc : compare(&rp, &d, base_m, err);
	res->nr_bad += rp.nr_bad;
	report_unload(&rp);
	map_free(&d.rows);
	map_free(&d.images);
	intern_free(&d.names);
	return rc;
}
