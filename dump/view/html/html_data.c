// SPDX-License-Identifier: MIT
/*
 * The data for the page's script: a JSON object with names and descriptions, then the columns.
 * Times in JSON are ns relative to the trigger. Texts are escaped here, and all data go into the
 * page compressed and as base64, so that none can be taken for markup.
 */
#include "dump/view/html/html_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/pt/pt_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 1024

static void put_text(struct json *j, const char *key, const char *s)
{
	char safe[MAX_TEXT];

	json_cstr(j, key, str_safe(safe, sizeof(safe), s, strlen(s)));
}

static void put_moment(const struct html *h, struct json *j, const char *key, uint64_t ns)
{
	json_i64(j, key, (int64_t)(ns - h->m->trigger.hit_ns));
}

static void put_trigger(struct html *h, struct json *j)
{
	const struct meta *m = h->m;
	char at[40];
	const char *who =
		history_comm(h->why.a.history, m->trigger.tid ? m->trigger.tid : m->trigger.pid,
			     m->trigger.hit_ns);

	json_open(j, "trigger", '{');
	put_text(j, "name", m->trigger_name);
	put_text(j, "rule", m->trigger_rule);
	put_text(j, "reason", m->trigger_reason);
	json_cstr(j, "at", str_fmt_utc(at, sizeof(at), m->trigger.real_ns));
	put_text(j, "by", m->trigger.pid && who ? who : "");
	json_u64(j, "pid", m->trigger.pid);
	json_open(j, "saw", '[');
	for (size_t i = 0; i < m->nr_saw; i++)
		put_text(j, NULL, m->saw[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_host(struct html *h, struct json *j)
{
	json_open(j, "host", '{');
	put_text(j, "name", h->m->hostname);
	put_text(j, "uname", h->m->uname);
	put_text(j, "os", h->m->os);
	json_u64(j, "cpus", h->m->host.nr_cpus_online);
	json_close(j, '}');
}

static void put_losses(struct html *h, struct json *j)
{
	const struct html_loss *l = (const struct html_loss *)h->losses.p;

	json_open(j, "lost", '[');
	for (size_t i = 0; i < h->info.nr_findings; i++)
		put_text(j, NULL, h->info.findings[i]);
	if (schedule_was_cut(h->why.a.sched))
		json_cstr(j, NULL,
			  "too many spans for one page: the timeline begins later than the rings");
	if (h->calls && pt_calls_nr_left_out(h->calls))
		json_cstr(j, NULL, "too many Intel PT calls for one page: the newest are shown");
	json_close(j, ']');
	json_open(j, "gaps", '[');
	for (size_t i = 0; i < h->losses.len / sizeof(*l); i++) {
		json_open(j, NULL, '[');
		put_moment(h, j, NULL, l[i].from_ns);
		put_moment(h, j, NULL, l[i].to_ns);
		json_i64(j, NULL, l[i].cpu);
		json_u64(j, NULL, l[i].nr);
		json_bool(j, NULL, l[i].throttled);
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* [channel, cpu, tid, from, to, lost] */
static void put_rings(struct html *h, struct json *j)
{
	json_open(j, "rings", '[');
	for (size_t i = 0; i < h->info.nr_rings; i++) {
		const struct fmt_window *w = h->info.rings[i];
		struct info_span s = info_ring_span(w);

		json_open(j, NULL, '[');
		put_text(j, NULL, info_channel_name(&h->info, w));
		json_i64(j, NULL, w->cpu);
		json_i64(j, NULL, w->tid);
		put_moment(h, j, NULL, s.from_ns);
		put_moment(h, j, NULL, s.to_ns);
		json_u64(j, NULL, w->lost);
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* A thread that has only calls. */
static void put_other(struct html *h, struct json *j, uint32_t tid)
{
	const struct fmt_task *t = history_task(h->why.a.history, tid, h->end_ns);
	const char *comm = history_comm(h->why.a.history, tid, h->end_ns);

	json_open(j, NULL, '[');
	put_text(j, NULL, comm ? comm : "");
	json_u64(j, NULL, tid);
	json_u64(j, NULL, t ? t->pid : 0);
	for (int i = 0; i < 6; i++)
		json_u64(j, NULL, 0);
	json_close(j, ']');
}

/* [name, tid, pid, kernel, run, waited, asleep, blocked, runs], within the window of the
 * scheduler's events. */
static void put_threads(struct html *h, struct json *j)
{
	uint64_t from, to;

	schedule_window(h->why.a.sched, &from, &to);
	from = from > h->base_ns ? from : h->base_ns;
	to = to < h->end_ns ? to : h->end_ns;
	json_open(j, "threads", '[');
	for (uint32_t i = 0; i < schedule_nr_threads(h->why.a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(h->why.a.sched, i);
		struct sums s = {0};

		if (i && from < to)
			sums_of(&h->why, i, from, to, &s);
		json_open(j, NULL, '[');
		put_text(j, NULL, i && t->comm ? t->comm : i ? "" : "idle");
		json_u64(j, NULL, t->tid);
		json_u64(j, NULL, t->pid);
		json_u64(j, NULL, why_is_kernel(&h->why, i));
		json_u64(j, NULL, s.ns[SPAN_RUN]);
		json_u64(j, NULL, s.ns[SPAN_READY]);
		json_u64(j, NULL, s.ns[SPAN_SLEEP]);
		json_u64(j, NULL, s.ns[SPAN_BLOCKED]);
		json_u64(j, NULL, s.nr[SPAN_RUN]);
		json_close(j, ']');
	}
	for (size_t i = 0; i < html_nr_others(h); i++)
		put_other(h, j, html_other(h, i));
	json_close(j, ']');
	json_open(j, "scheduled", '[');
	put_moment(h, j, NULL, from);
	put_moment(h, j, NULL, to);
	json_close(j, ']');
}

static void put_spans_of(struct html *h, struct json *j)
{
	json_open(j, "spans", '[');
	for (uint32_t i = 0; i < schedule_nr_threads(h->why.a.sched); i++)
		json_u64(j, NULL, h->nr_spans_of[i]);
	for (size_t i = 0; i < html_nr_others(h); i++)
		json_u64(j, NULL, 0);
	json_close(j, ']');
}

static void put_lives(struct html *h)
{
	for (size_t i = 0; i < why_nr_life(&h->why); i++) {
		const struct life *l = why_life(&h->why, i);

		if (l->ns < h->base_ns || l->ns > h->end_ns)
			continue;
		column_put(&h->cols, COL_LIFE_NS, l->ns - h->base_ns);
		column_put(&h->cols, COL_LIFE_TID, l->tid);
		column_put(&h->cols, COL_LIFE_OTHER, l->other);
		column_put(&h->cols, COL_LIFE_KIND, l->kind);
		column_put(&h->cols, COL_LIFE_SIGNAL, (uint32_t)l->sig);
	}
}

/* [name, numbers, bytes] */
static void put_columns(struct html *h, struct json *j)
{
	json_open(j, "columns", '[');
	for (int i = 0; i < NR_COLUMNS; i++) {
		json_open(j, NULL, '[');
		json_cstr(j, NULL, column_name((enum column_id)i));
		json_u64(j, NULL, h->cols.nr[i]);
		json_u64(j, NULL, h->cols.b[i].len);
		json_close(j, ']');
	}
	json_close(j, ']');
}

/* Captures the output of one of why's printers. */
static int said(const struct why *w, int (*say)(const struct why *w, FILE *out), struct text *t)
{
	char *p = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&p, &n);
	int rc = f ? say(w, f) : -ENOMEM;

	if (f && fclose(f) && !rc)
		rc = -ENOMEM;
	if (!rc)
		text_put(t, p, n);
	free(p);
	return rc ? rc : t->rc;
}

int html_verdict(const struct html *h, struct text *t)
{
	return said(&h->why, why_say, t);
}

static int put_verdict(struct html *h, struct json *j)
{
	struct text lines = TEXT_INIT(NULL), made = TEXT_INIT(NULL);
	int rc = said(&h->why, why_say, &lines);

	rc = rc ? rc : said(&h->why, why_say_json, &made);
	if (!rc) {
		json_str(j, "said", (const char *)lines.b.p, lines.b.len);
		json_made(j, "why", (struct bytes){made.b.p, made.b.len});
	}
	text_free(&lines);
	text_free(&made);
	return rc;
}

static int put_head(struct html *h, struct json *j)
{
	const struct schedule *s = h->why.a.sched;
	int rc;

	json_open(j, NULL, '{');
	put_moment(h, j, "base", h->base_ns);
	put_moment(h, j, "end", h->end_ns);
	put_trigger(h, j);
	put_host(h, j);
	put_losses(h, j);
	put_rings(h, j);
	html_calls_put(h, j);
	put_threads(h, j);
	put_spans_of(h, j);
	json_u64(j, "cpus", schedule_nr_cpus(s));
	json_bool(j, "switches", schedule_has_switches(s));
	json_bool(j, "wakings", schedule_has_wakings(s));
	json_bool(j, "stacks", schedule_has_stacks(s));
	json_u64(j, "samplePeriod", h->why.sample_period_ns);
	json_u64(j, "merged", h->nr_merged);
	json_u64(j, "mergeNs", h->merge_ns);
	put_moment(h, j, "wholeFrom", h->whole_ns);
	put_moment(h, j, "wholeTo", h->wholes_ns);
	rc = put_verdict(h, j);
	json_made(j, "frames", (struct bytes){h->frames.b.p, h->frames.b.len});
	put_columns(h, j);
	json_close(j, '}');
	return rc;
}

int html_data(struct html *h, struct text *t, struct err *err)
{
	struct text head = TEXT_INIT(NULL);
	struct json j = {.t = &head};
	uint32_t bytes;
	int rc;

	columns_clear(&h->cols, COL_LIFE_NS, COL_LIFE_SIGNAL);
	put_lives(h);
	rc = put_head(h, &j);
	rc = rc ? rc : h->cols.rc ? h->cols.rc : head.rc;
	if (!rc && head.b.len > UINT32_MAX)
		rc = -E2BIG;
	bytes = (uint32_t)head.b.len;
	if (!rc) {
		text_put(t, &bytes, sizeof(bytes));
		text_put(t, head.b.p, head.b.len);
		for (int i = 0; i < NR_COLUMNS; i++)
			text_put(t, h->cols.b[i].p, h->cols.b[i].len);
		rc = t->rc;
	}
	text_free(&head);
	return rc ? err_sys(err, rc, "the page can't be made") : 0;
}
