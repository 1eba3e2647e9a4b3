// SPDX-License-Identifier: MIT
/*
 * Loads a dump for a report: report_pass.c passes the records to the schedule and all sections;
 * then sums that several sections need are computed. Called by report.c and, twice, by
 * report_diff.c.
 */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

bool report_hook(struct report *rp, const char *name, report_feed feed, void *state)
{
	bool found = false;

	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		const struct meta_event *e = &rp->a.m->events[i];
		const char *is = analysis_event(&rp->a, e);

		if (!meta_in_rings(rp->a.m, e) || e->attr.type != PERF_TYPE_TRACEPOINT || !is ||
		    strcmp(is, name) != 0)
			continue;
		/* An event that is recorded in two channels counts once. */
		if (!found)
			rp->hooks[i] = (struct report_hook){feed, state, {UINT64_MAX, false}};
		found = true;
	}
	return found;
}

void report_hook_only(struct report *rp, const char *name, const char *field)
{
	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		const struct meta_event *e = &rp->a.m->events[i];
		const char *is = analysis_event(&rp->a, e);
		const struct field *f;

		if (!rp->hooks[i].feed || !is || strcmp(is, name) != 0)
			continue;
		f = field ? analysis_field(&rp->a, e, field) : NULL;
		rp->hooks[i].need = (struct timeline_need){0};
		if (f)
			timeline_need_raw(&rp->hooks[i].need, f->offset, f->size);
	}
}

const char *report_string(const struct report *rp, const struct timeline_record *rec,
			  const char *field, char *out, size_t n)
{
	const struct field *f = analysis_field(&rp->a, rec->event, field);
	struct bytes b = {0};

	if (f && field_string(f, rec->s.raw, &b))
		str_safe(out, n, (const char *)b.p, b.len);
	else
		*out = '\0';
	return out;
}

/* The part of the requested time that all rings with such events cover. */
static struct report_window
window_of(const struct report *rp,
	  bool (*is)(const struct report *rp, size_t event, const void *ctx), const void *ctx)
{
	struct report_window out = {.to_ns = UINT64_MAX};
	const struct meta *m = rp->a.m;
	bool found = false;

	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *w = &m->windows[i];
		uint64_t from = w->overwritten_bytes && w->nr_records ? w->first_ns : w->armed_ns;
		bool has = false;

		if (!meta_is_ring(w) || w->flags & FMT_WINDOW_OFFLINE)
			continue;
		for (size_t k = 0; k < m->nr_events && !has; k++)
			has = m->events[k].f.id != UINT32_MAX &&
			      m->events[k].f.channel == w->channel && is(rp, k, ctx);
		if (!has)
			continue;
		found = true;
		out.from_ns = from > out.from_ns ? from : out.from_ns;
		if (w->paused_ns && w->paused_ns < out.to_ns)
			out.to_ns = w->paused_ns;
	}
	if (out.to_ns == UINT64_MAX)
		out.to_ns = m->trigger.freeze_ns;
	if (rp->opt->from_ns > out.from_ns)
		out.from_ns = rp->opt->from_ns;
	if (rp->opt->to_ns < out.to_ns)
		out.to_ns = rp->opt->to_ns + 1;
	if (!found || out.from_ns > out.to_ns)
		out.from_ns = out.to_ns;
	return out;
}

static bool is_hooked(const struct report *rp, size_t event, const void *ctx)
{
	return rp->hooks[event].state == ctx;
}

struct report_window report_window_of(const struct report *rp, const void *state)
{
	return window_of(rp, is_hooked, state);
}

static bool is_any(const struct report *rp, size_t event, const void *ctx)
{
	return true;
}

static bool ticks(const struct report *rp, size_t event, const void *ctx)
{
	const struct perf_event_attr *a = &rp->a.m->events[event].attr;

	return (a->type == PERF_TYPE_SOFTWARE &&
		(a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK)) ||
	       (a->type == PERF_TYPE_HARDWARE && (a->config == PERF_COUNT_HW_CPU_CYCLES ||
						  a->config == PERF_COUNT_HW_REF_CPU_CYCLES));
}

/* --tid and --comm, for records; a thread that is not in the schedule is matched by name. */
static bool asked(const struct report *rp, uint32_t tid, const char *comm)
{
	const struct report_options *o = rp->opt;

	for (size_t i = 0; i < o->nr_tids; i++)
		if (o->tids[i] == tid)
			return true;
	for (size_t i = 0; comm && i < o->nr_comms; i++)
		if (str_glob(o->comms[i], comm))
			return true;
	return !o->nr_tids && !o->nr_comms;
}

bool report_wanted(const struct report *rp, const struct timeline_record *rec)
{
	const struct report_options *o = rp->opt;

	if (rec->time_ns < o->from_ns || rec->time_ns > o->to_ns)
		return false;
	return !rp->filtered ||
	       asked(rp, rec->tid,
		     o->nr_comms ? history_comm(rp->a.history, rec->tid, rec->time_ns) : NULL);
}

/* ---- data for several sections ---- */

static void add_span(struct report_totals *t, const struct span *s, uint64_t ns)
{
	switch (s->state) {
	case SPAN_RUN:
		t->run_ns += ns;
		t->nr_runs++;
		break;
	case SPAN_READY:
		t->ready_ns += ns;
		t->nr_ready++;
		t->nr_preempted += (s->flags & SPAN_PREEMPTED) != 0;
		if (!t->worst_ready || ns > t->worst_ready_ns) {
			t->worst_ready = s;
			t->worst_ready_ns = ns;
		}
		break;
	case SPAN_SLEEP:
		t->sleep_ns += ns;
		break;
	case SPAN_BLOCKED:
		t->blocked_ns += ns;
		break;
	case SPAN_STOPPED:
		t->stopped_ns += ns;
		break;
	case SPAN_UNKNOWN:
		t->unknown_ns += ns;
		break;
	default:
		break;
	}
}

static void add_up(struct report *rp)
{
	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(rp->a.sched, i);

		rp->asked[i] = asked(rp, t->tid, t->comm);
		for (size_t k = 0; k < t->nr; k++) {
			const struct span *s = schedule_span(rp->a.sched, t->first + k);
			uint64_t ns = report_overlap(s, &rp->window);

			if (ns)
				add_span(&rp->totals[i], s, ns);
		}
	}
	/* Without switches, samples show which threads ran. */
	for (size_t i = 0; i < schedule_nr_samples(rp->a.sched) && rp->sample_ns; i++) {
		const struct schedule_sample *s = schedule_sample(rp->a.sched, i);

		if (!schedule_has_switches(rp->a.sched) && s->thread && s->thread != NO_THREAD &&
		    s->ns >= rp->sampled.from_ns && s->ns < rp->sampled.to_ns)
			rp->totals[s->thread].run_ns += rp->sample_ns;
	}
}

static void find_tick(struct report *rp)
{
	for (size_t i = 0; i < rp->a.m->nr_events && !rp->tick; i++) {
		const struct perf_event_attr *a = &rp->a.m->events[i].attr;

		if (!meta_in_rings(rp->a.m, &rp->a.m->events[i]) || !ticks(rp, i, NULL))
			continue;
		rp->tick = &rp->a.m->events[i];
		if (a->freq && a->sample_freq)
			rp->sample_ns = 1000000000 / a->sample_freq;
		else if (!a->freq && a->type == PERF_TYPE_SOFTWARE)
			rp->sample_ns = a->sample_period; /* ns for clocks */
	}
}

static int finish(struct report *rp, struct err *err)
{
	size_t nr = schedule_nr_threads(rp->a.sched);
	uint64_t from, to;

	rp->totals = calloc(nr + 1, sizeof(*rp->totals));
	rp->asked = calloc(nr + 1, sizeof(*rp->asked));
	rp->comms = calloc(nr + 1, sizeof(*rp->comms));
	if (!rp->totals || !rp->asked || !rp->comms)
		return err_set(err, -ENOMEM, "out of memory");
	schedule_window(rp->a.sched, &from, &to);
	if (from < rp->opt->from_ns)
		from = rp->opt->from_ns;
	if (to > rp->opt->to_ns)
		to = rp->opt->to_ns + 1;
	rp->window = (struct report_window){from < to ? from : to, to};
	rp->sampled = window_of(rp, ticks, NULL);
	if (!schedule_has_switches(rp->a.sched))
		rp->window = rp->sampled;
	add_up(rp);
	return 0;
}

int report_load(struct report *rp, struct err *err)
{
	struct history_counts counts;
	int rc = analysis_open(&rp->a, ANALYSIS_SCHEDULE, err);

	rp->filtered = rp->opt->nr_tids || rp->opt->nr_comms;
	rp->hooks = calloc(rp->a.m->nr_events + 1, sizeof(*rp->hooks));
	rp->known = calloc(REPORT_NR_KNOWN, sizeof(*rp->known));
	if (!rc && (!rp->hooks || !rp->known))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc)
		return rc;
	history_counts(rp->a.history, &counts);
	rp->nr_bad += counts.nr_broken + rp->a.m->nr_broken;
	find_tick(rp);
	rp->common = window_of(rp, is_any, NULL);
	rc = cause_find(&rp->a, &rp->cause, err);
	rc = rc ? rc : report_open_sections(rp, err);
	rc = rc ? rc : report_pass(rp, err);
	return rc ? rc : finish(rp, err);
}

void report_unload(struct report *rp)
{
	report_close_sections(rp);
	cause_free(&rp->cause);
	free(rp->hooks);
	free(rp->known);
	free(rp->totals);
	free(rp->asked);
	free(rp->comms);
	analysis_close(&rp->a);
	intern_free(&rp->names);
	text_free(&rp->text);
}
