// SPDX-License-Identifier: MIT
/*
 * Prints calls and returns of Intel PT as lines among the events, indented by depth. Called by
 * script.c. Follows threads from the start of the trace even if --from is later, so that depths are
 * right.
 */
#include "dump/view/script/script_impl.h"

#include "dump/base/err.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	[PT_SPANS_CALL] = "call", [PT_SPANS_RETURN] = "return", [PT_SPANS_OUT] = "out",
	[PT_SPANS_BACK] = "back", [PT_SPANS_LOST] = "lost",
};

#define NR_NAMES (sizeof(names) / sizeof(names[0]))

struct script_pt {
	const struct script *s;
	struct pt_trace *trace;
	struct pt_names *names;
	struct pt_spans *spans;
	struct pt_trace_step step;
	bool has_step, over;
	bool wanted[NR_NAMES];
	struct head heads[NR_NAMES];
	struct text head_text;
};

static struct script_options only(const char *const *list)
{
	return (struct script_options){.events = list, .nr_events = 1};
}

bool script_pt_event(const char *pattern)
{
	const struct script_options opt = only(&pattern);

	for (size_t i = 1; i < NR_NAMES; i++)
		if (script_event_asked(&opt, names[i]))
			return true;
	return false;
}

bool script_pt_wanted(const struct script *s)
{
	if (s->opt->no_pt || !pt_trace_is_in(s->a.m))
		return false;
	for (size_t i = 1; i < NR_NAMES; i++)
		if (script_event_asked(s->opt, names[i]))
			return true;
	return false;
}

/* A loss has no head: it is printed as the kernel's losses are. 0, -ENOMEM. */
static int make_heads(struct script_pt *pt)
{
	struct text *t = &pt->head_text;
	size_t from = 0;

	for (size_t i = 1; i < PT_SPANS_LOST; i++) {
		if (pt->s->opt->json)
			script_json_head(names[i], t);
		else
			script_text_head(pt->s, names[i], t);
		pt->heads[i].len = t->b.len - from;
		from = t->b.len;
	}
	text_fill(t, ' ', PUT_SLACK);
	from = 0;
	for (size_t i = 1; i < PT_SPANS_LOST && !t->rc; i++) {
		pt->heads[i].text = (const char *)t->b.p + from;
		from += pt->heads[i].len;
	}
	return t->rc;
}

int script_pt_open(const struct script *s, struct reader *r, struct script_pt **out,
		   struct err *err)
{
	/* With a limit, one thread is fast enough. */
	const struct pt_trace_options opt = {.from_ns = s->opt->from_ns,
					     .to_ns = s->opt->to_ns,
					     .nr_threads = s->opt->limit ? 1 : s->opt->nr_threads};
	struct script_pt *pt;
	int rc;

	*out = NULL;
	if (!script_pt_wanted(s))
		return 0;
	pt = calloc(1, sizeof(*pt));
	if (!pt)
		return err_sys(err, -ENOMEM, "Intel PT");
	pt->s = s;
	for (size_t i = 1; i < NR_NAMES; i++)
		pt->wanted[i] = script_event_asked(s->opt, names[i]);
	rc = pt_trace_open(r, s->a.m, s->a.history, &opt, &pt->trace, err);
	if (!rc && (pt_names_new(s->a.history, s->a.symbols, &pt->names) ||
		    pt_spans_new(pt->names, NULL, NULL, &pt->spans) || make_heads(pt)))
		rc = err_sys(err, -ENOMEM, "Intel PT");
	if (rc) {
		script_pt_close(pt);
		return rc;
	}
	pt->over = !pt->trace;
	*out = pt;
	return 0;
}

void script_pt_close(struct script_pt *pt)
{
	if (!pt)
		return;
	pt_spans_free(pt->spans);
	pt_names_free(pt->names);
	pt_trace_close(pt->trace);
	text_free(&pt->head_text);
	free(pt);
}

/* False: it does not pass the filters. */
static bool print_step(struct script_pt *pt, struct printer *p, const struct pt_spans_event *e)
{
	const struct pt_trace_step *s = &pt->step;
	struct line l = {.type = PERF_RECORD_SAMPLE, .cpu = s->cpu, .event = names[e->what]};
	struct script_call c = {.event = e};

	if (s->ns < pt->s->opt->from_ns || !pt->wanted[e->what] ||
	    !script_cpu_asked(pt->s->opt, s->cpu))
		return false;
	l.rec.time_ns = s->ns;
	l.rec.tid = s->tid;
	l.who = script_who(p, &l.rec);
	if (!l.who->asked)
		return false;
	if (e->what == PT_SPANS_LOST)
		l.type = PERF_RECORD_LOST;
	else
		l.head = &pt->heads[e->what];
	if (e->address)
		c.at = pt_names_get(pt->names, s->tid, s->ns, e->address);
	if (pt->s->opt->json)
		script_json_call(p, &l, &c);
	else
		script_text_call(p, &l, &c);
	return true;
}

int script_pt_print(struct script_pt *pt, struct printer *p, uint64_t to_ns, uint64_t limit,
		    uint64_t *nr_printed, struct err *err)
{
	struct pt_spans_event e;
	int rc;

	while (!pt->over && !p->text.rc) {
		if (!pt->has_step) {
			rc = pt_trace_next(pt->trace, &pt->step, err);
			if (rc < 0)
				return rc;
			pt->over = !rc;
			pt->has_step = rc;
			continue;
		}
		if (pt->step.ns > to_ns)
			break;
		pt->has_step = false;
		rc = pt_spans_step(pt->spans, &pt->step, &e);
		if (rc)
			return err_sys(err, rc, "Intel PT");
		if (e.what == PT_SPANS_NOTHING || !print_step(pt, p, &e))
			continue;
		if (text_flush_large(&p->text) || ++*nr_printed == limit)
			break;
	}
	return 0;
}
