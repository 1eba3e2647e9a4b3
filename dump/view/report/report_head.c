// SPDX-License-Identifier: MIT
/* The first lines of a report: host, trigger, losses, window. */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/info/info_impl.h"
#include "dump/view/report/report_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LABEL 9

static char *safe(char *out, size_t n, const char *s)
{
	return str_safe(out, n, s, strlen(s));
}

/* Omits "x86_64" and the text between it and the release. */
static void put_host(struct report *rp)
{
	char name[128], os[128], uname[128], line[512], *end;
	const struct meta *m = rp->a.m;

	safe(uname, sizeof(uname), m->uname);
	end = strchr(uname, ' ');
	end = end ? strchr(end + 1, ' ') : NULL;
	if (end)
		*end = '\0';
	snprintf(line, sizeof(line), "%s, %u CPU%s, %s, %s", safe(name, sizeof(name), m->hostname),
		 m->host.nr_cpus_online, str_plural(m->host.nr_cpus_online), uname,
		 safe(os, sizeof(os), m->os));
	page_labelled(&rp->page, "host", LABEL, line);
}

static void put_cause(struct report *rp, const char *label, const struct text *t)
{
	if (t->b.len)
		page_labelled(&rp->page, label, LABEL, cause_text(t));
}

static void put_threads(struct report *rp)
{
	const struct text *t = &rp->cause.threads;
	uint32_t more = rp->cause.nr_threads - rp->cause.nr_shown;
	char line[64];

	for (size_t at = 0; at < t->b.len; at += strlen((const char *)t->b.p + at) + 1)
		page_labelled(&rp->page, at ? "" : "threads", LABEL, (const char *)t->b.p + at);
	if (!more)
		return;
	snprintf(line, sizeof(line), "and %" PRIu32 " more (ringback script)", more);
	page_labelled(&rp->page, "", LABEL, line);
}

static void put_trigger(struct report *rp)
{
	char name[128], rule[256], reason[512], at[40], line[1200], comm[64];
	const struct meta *m = rp->a.m;
	const char *who = *m->trigger_comm
				  ? m->trigger_comm
				  : history_comm(rp->a.history,
						 m->trigger.tid ? m->trigger.tid : m->trigger.pid,
						 m->trigger.hit_ns);
	int n = snprintf(line, sizeof(line), "%s", safe(name, sizeof(name), m->trigger_name));

	if (*m->trigger_rule && strcmp(m->trigger_rule, m->trigger_name) != 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " (%s)",
			      safe(rule, sizeof(rule), m->trigger_rule));
	if (*m->trigger_reason)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " \"%s\"",
			      safe(reason, sizeof(reason), m->trigger_reason));
	n += snprintf(line + n, sizeof(line) - (size_t)n, " at %s",
		      str_fmt_utc(at, sizeof(at), m->trigger.real_ns));
	if (m->trigger.pid && who && strcmp(who, "ringback") != 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", by %s (pid %u",
			      safe(comm, sizeof(comm), who), m->trigger.pid);
	if (m->trigger.pid && who && strcmp(who, "ringback") != 0) {
		if (m->trigger.tid && m->trigger.tid != m->trigger.pid)
			n += snprintf(line + n, sizeof(line) - (size_t)n, ", tid %u",
				      m->trigger.tid);
		snprintf(line + n, sizeof(line) - (size_t)n, ")");
	}
	page_color(&rp->page, PAGE_BOLD);
	page_labelled(&rp->page, "trigger", LABEL, line);
	page_end_color(&rp->page);
	put_cause(rp, "in", &rp->cause.container);
	put_cause(rp, "took", &rp->cause.took);
	put_cause(rp, "signal", &rp->cause.signal);
	put_cause(rp, rp->cause.is_crash ? "crashed" : "stack", &rp->cause.stack);
	put_threads(rp);
	/* asked_by_pid= is the pid of ringback trigger. */
	for (size_t i = 0, nr = 0; i < m->nr_saw; i++)
		if (strncmp(m->saw[i], "asked_by_pid=", 13) != 0)
			page_labelled(&rp->page, nr++ ? "" : "  saw", LABEL,
				      safe(line, sizeof(line), m->saw[i]));
	for (size_t i = 0; i < m->nr_merged; i++) {
		snprintf(line, sizeof(line), "%s fired too, %" PRIu64 " time%s",
			 safe(name, sizeof(name), m->merged[i].name), m->merged[i].f.nr_hits,
			 str_plural(m->merged[i].f.nr_hits));
		page_labelled(&rp->page, "", LABEL, line);
	}
}

static void put_losses(struct report *rp, const struct info *in)
{
	page_color(&rp->page, in->nr_findings ? PAGE_BAD : PAGE_GOOD);
	if (!in->nr_findings)
		page_labelled(&rp->page, "losses", LABEL, "none in the window");
	for (size_t i = 0; i < in->nr_findings; i++)
		page_labelled(&rp->page, i ? "" : "losses", LABEL, in->findings[i]);
	page_end_color(&rp->page);
}

/* The time that each channel covers: "sched 1.03 s, cpu 9.05 s". */
static void put_window(struct report *rp, const struct info *in)
{
	struct text t = TEXT_INIT(NULL);
	char name[64], time[32];

	for (size_t i = 0, next; i < in->nr_rings; i = next) {
		const struct fmt_window *w = in->rings[i];
		uint64_t from = 0, hit = rp->a.m->trigger.hit_ns;

		for (next = i; next < in->nr_rings && in->rings[next]->channel == w->channel;
		     next++) {
			struct info_span s = info_ring_span(in->rings[next]);

			if (!(in->rings[next]->flags & FMT_WINDOW_OFFLINE) && s.from_ns > from)
				from = s.from_ns;
		}
		text_str(&t, t.b.len ? ", " : "back to ");
		text_str(&t, page_fmt_moment(time, sizeof(time), from, hit));
		text_fmt(&t, " (%s)", safe(name, sizeof(name), info_channel_name(in, w)));
	}
	if (rp->a.m->trigger.post_ns)
		text_fmt(&t, "; went on for %s after the trigger",
			 page_fmt_time(time, sizeof(time), rp->a.m->trigger.post_ns));
	if (schedule_was_cut(rp->a.sched))
		text_fmt(&t, "; too many scheduler events: only the last %s is shown",
			 page_fmt_time(time, sizeof(time), rp->window.to_ns - rp->window.from_ns));
	info_joined(rp->a.m, &t);
	if (rp->opt->from_ns || rp->opt->to_ns != UINT64_MAX)
		text_str(&t, "; limited by --from or --to");
	text_char(&t, '\0');
	if (!t.rc)
		page_labelled(&rp->page, "window", LABEL, (const char *)t.b.p);
	text_free(&t);
}

int report_head(struct report *rp, struct err *err)
{
	struct info in = {.a = rp->a};
	int rc = info_collect(&in, err);

	if (!rc) {
		put_trigger(rp);
		put_losses(rp, &in);
		put_window(rp, &in);
		put_host(rp);
	}
	free(in.rings);
	return rc;
}
