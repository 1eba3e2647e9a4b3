// SPDX-License-Identifier: MIT
/*
 * Parses event text in perf's syntax; see event.h. A list is split into items, an item into parts:
 *
 *	sched:sched_switch[prev_pid==0]		base, filter
 *	cpu-clock/freq=99/u			base, terms, modifiers
 *	cycles:u				base, modifiers
 *	uprobe:/bin/bash:readline+0x10		base only: its slashes and colons are the path's
 *
 * The base selects the parser: a fixed name (event_names.c), a PMU (pmu.c), a tracepoint
 * (tracepoint.c) or a uprobe (uprobe.c).
 */
#include "trigger/kernel/event.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/event_names.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/tracepoint.h"
#include "trigger/kernel/uprobe.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough to show where time goes, and not in step with work that runs 100 times a second. */
#define DEFAULT_FREQ 99

struct item {
	char *text; /* owned; the others point into it */
	char *base;
	char *filter; /* without brackets; NULL: none */
	char *terms;  /* between the slashes; NULL: no slashes */
	char *mods;   /* NULL: none */
};

/* Sampling settings from terms and modifiers; the same for all kinds. */
struct sampling {
	uint64_t freq, period; /* 0: not given */
	bool user, kernel, hv;
	unsigned precise;
};

struct event_text {
	const struct caps *caps;
	struct event_list *list;
	struct item item;
	struct sampling sampling;
	struct err *err;
};

/* ---- items ---- */

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_uprobe(const char *s)
{
	return starts(s, "uprobe:") || starts(s, "uretprobe:");
}

static int filter_hint(struct err *err)
{
	err_hint(err, "a filter stands in brackets behind the event, in quotes for the shell: "
		      "'signal:signal_deliver[sig==11]'");
	return -EINVAL;
}

static int stray_bracket(struct err *err, size_t at)
{
	err_set(err, -EINVAL, "character %zu: ']' without '['", at + 1);
	return filter_hint(err);
}

/* Finds the end of the item at `s`: the next comma outside [...], /.../ and quotes in a filter.
 * -EINVAL: one of these is not closed. */
static int item_end(const char *s, size_t *len, struct err *err)
{
	bool slashes = !is_uprobe(s), in_terms = false;
	unsigned depth = 0;
	char quote = '\0';
	size_t i;

	for (i = 0; s[i]; i++) {
		char c = s[i];

		if (quote)
			quote = c == quote ? '\0' : quote;
		else if (depth && (c == '"' || c == '\''))
			quote = c;
		else if (c == '[')
			depth++;
		else if (c == ']' && !depth)
			return stray_bracket(err, i);
		else if (c == ']')
			depth--;
		else if (c == '/' && !depth && slashes)
			in_terms = !in_terms;
		else if (c == ',' && !depth && !in_terms)
			break;
	}
	if (quote || depth) {
		if (quote)
			err_set(err, -EINVAL, "a %c in the filter is not closed", quote);
		else
			err_set(err, -EINVAL, "the filter's '[' is not closed by ']'");
		return filter_hint(err);
	}
	if (in_terms) {
		err_set(err, -EINVAL, "the '/' before the terms is not closed");
		err_hint(err, "write NAME/TERM=VALUE,.../ such as cpu-clock/freq=99/");
		return -EINVAL;
	}
	*len = i;
	return 0;
}

static int item_split(struct item *it, struct err *err)
{
	char *open, *close;
	size_t n;

	it->base = it->text;
	if (is_uprobe(it->text))
		return 0;
	open = strchr(it->text, '[');
	if (open) {
		n = strlen(open);
		if (open[n - 1] != ']') {
			err_set(err, -EINVAL, "'%s' follows the filter", strrchr(open, ']') + 1);
			return filter_hint(err);
		}
		open[n - 1] = '\0';
		*open = '\0';
		it->filter = open + 1;
		if (!it->filter[strspn(it->filter, " \t")]) {
			err_set(err, -EINVAL, "the filter [] is empty");
			return filter_hint(err);
		}
	}
	open = strchr(it->text, '/');
	if (!open)
		return 0;
	close = strchr(open + 1, '/');
	if (!close || strchr(close + 1, '/')) {
		err_set(err, -EINVAL, "there are too many '/'");
		err_hint(err, "terms stand between two: cpu-clock/freq=99/u");
		return -EINVAL;
	}
	*open = *close = '\0';
	it->terms = open + 1;
	it->mods = close[1] == ':' ? close + 2 : close + 1;
	if (!*it->mods)
		it->mods = NULL;
	return 0;
}

/* ---- sampling ---- */

static int parse_mods(const char *mods, struct sampling *s, struct err *err)
{
	for (const char *p = mods; p && *p; p++) {
		if (*p == 'u') {
			s->user = true;
		} else if (*p == 'k') {
			s->kernel = true;
		} else if (*p == 'h') {
			s->hv = true;
		} else if (*p == 'p' && s->precise < 3) {
			s->precise++;
		} else {
			err_set(err, -EINVAL, "'%c' in ':%s' is no modifier", *p, mods);
			err_hint(err, "u: user side, k: kernel side, h: hypervisor, p to ppp: "
				      "precise address");
			return -EINVAL;
		}
	}
	return 0;
}

/* Handles the terms that every event has. 1: `term` is one of them. */
static int sampling_term(const char *term, const char *value, struct sampling *s, struct err *err)
{
	uint64_t *v;
	int rc;

	if (!strcmp(term, "freq"))
		v = &s->freq;
	else if (!strcmp(term, "period"))
		v = &s->period;
	else
		return 0;
	rc = value ? str_u64(value, v, err) : err_set(err, -EINVAL, "it needs a number");
	if (!rc && (!*v || *v > INT64_MAX))
		rc = err_set(err, -EINVAL, "'%s' is out of range", value);
	if (!rc)
		return 1;
	err_prefix(err, "term '%s'", term);
	err_hint(err, "give it a number of 1 or more, such as %s=99", term);
	return rc;
}

static int unknown_term(const char *base, const char *term, struct err *err)
{
	err_set(err, -EINVAL, "%s has no term '%s'", base, term);
	err_hint(err, "it has freq=HZ and period=COUNT");
	return -EINVAL;
}

/* Parses "a=1,b,c=2"; terms other than those for sampling go to the PMU, if there is one. */
static int parse_terms(struct event_text *p, const char *pmu, struct perf_event_attr *attr)
{
	char *save = NULL, *terms = strdup(p->item.terms ? p->item.terms : "");
	int rc = 0;

	if (!terms)
		return err_set(p->err, -ENOMEM, "no memory to parse an event");
	for (char *t = strtok_r(terms, ",", &save); t && rc >= 0; t = strtok_r(NULL, ",", &save)) {
		char *value = strchr(t, '=');

		if (value)
			*value++ = '\0';
		rc = sampling_term(t, value, &p->sampling, p->err);
		if (rc)
			continue;
		rc = pmu ? pmu_term(pmu, t, value, attr, p->err)
			 : unknown_term(p->item.base, t, p->err);
	}
	free(terms);
	if (rc < 0)
		return rc;
	if (p->sampling.freq && p->sampling.period) {
		err_set(p->err, -EINVAL, "freq and period can't both be given");
		err_hint(p->err,
			 "freq=HZ lets the kernel choose the period, period=COUNT fixes it");
		return -EINVAL;
	}
	return 0;
}

static void set_sampling(struct event *e, const struct sampling *s, bool by_freq)
{
	struct perf_event_attr *a = &e->attr;

	if (s->freq || (by_freq && !s->period)) {
		a->freq = 1;
		a->sample_freq = s->freq ? s->freq : DEFAULT_FREQ;
	} else {
		a->sample_period = s->period ? s->period : 1;
	}
	a->precise_ip = s->precise & 3;
	if (s->user || s->kernel || s->hv) {
		a->exclude_user = !s->user;
		a->exclude_kernel = !s->kernel;
		a->exclude_hv = !s->hv;
	}
}

/* As in perf: without permission for kernel samples only the user side is counted, unless the text
 * asks for the kernel. */
static void obey(struct event *e, const struct event_text *p)
{
	if (p->caps && !p->caps->kernel_samples && !p->sampling.kernel && !p->sampling.hv) {
		e->attr.exclude_kernel = 1;
		e->attr.exclude_hv = 1;
	}
}

/* ---- kinds ---- */

static struct event *new_event(struct event_text *p, enum event_kind kind, char *name)
{
	struct event *e = calloc(1, sizeof(*e));

	if (!e || !name) {
		free(e);
		free(name);
		err_set(p->err, -ENOMEM, "no memory for an event");
		return NULL;
	}
	e->kind = kind;
	e->name = name;
	e->attr.size = sizeof(e->attr);
	return e;
}

/* The text before "/", with its modifiers: "cycles:u". */
static char *full_name(const struct event_text *p)
{
	char *name = NULL;

	if (!p->item.mods)
		return strdup(p->item.base);
	return asprintf(&name, "%s:%s", p->item.base, p->item.mods) < 0 ? NULL : name;
}

static int no_filter(const struct event_text *p)
{
	if (!p->item.filter)
		return 0;
	err_set(p->err, -EINVAL, "%s can't have a filter", p->item.base);
	err_hint(p->err, "filters in [...] are for tracepoints, such as "
			 "signal:signal_deliver[sig==11]");
	return -EINVAL;
}

static int parse_named(struct event_text *p, const struct event_name *n)
{
	bool software = n->type == PERF_TYPE_SOFTWARE;
	struct event *e;
	int rc;

	rc = no_filter(p);
	if (!rc)
		rc = parse_mods(p->item.mods, &p->sampling, p->err);
	if (!rc)
		rc = parse_terms(p, NULL, NULL);
	if (rc)
		return rc;
	e = new_event(p, software ? EVENT_SOFTWARE : EVENT_HARDWARE, full_name(p));
	if (!e)
		return -ENOMEM;
	e->attr.type = n->type;
	e->attr.config = n->config;
	e->sample_addr = n->sample_addr;
	e->own_group = !software;
	set_sampling(e, &p->sampling, n->clock || !software);
	obey(e, p);
	return event_list_add(p->list, e, p->err);
}

static int parse_pmu(struct event_text *p, __u32 type)
{
	struct perf_event_attr attr = {.type = type};
	const char *pmu = p->item.base;
	char *name = NULL;
	struct event *e;
	int rc;

	rc = no_filter(p);
	if (!rc)
		rc = parse_mods(p->item.mods, &p->sampling, p->err);
	pmu_default(pmu, &attr);
	if (!rc)
		rc = parse_terms(p, pmu, &attr);
	if (rc)
		return rc;
	if (asprintf(&name, "%s/%s/%s", pmu, p->item.terms, p->item.mods ? p->item.mods : "") < 0)
		name = NULL;
	e = new_event(p, EVENT_PMU, name);
	if (!e)
		return -ENOMEM;
	attr.size = e->attr.size;
	e->attr = attr;
	e->own_group = true;
	e->has_aux = pmu_has_aux(pmu);
	set_sampling(e, &p->sampling, !e->has_aux);
	obey(e, p);
	return event_list_add(p->list, e, p->err);
}

static int add_tracepoint(void *ctx, const char *system, const char *name, uint32_t id)
{
	struct event_text *p = ctx;
	char *full = NULL;
	struct event *e;

	if (asprintf(&full, "%s:%s", system, name) < 0)
		full = NULL;
	e = new_event(p, EVENT_TRACEPOINT, full);
	if (!e)
		return -ENOMEM;
	e->attr.type = PERF_TYPE_TRACEPOINT;
	e->attr.config = id;
	set_sampling(e, &p->sampling, false);
	/* Tracepoints fire in the kernel, so excluding it would disable the event. */
	e->attr.exclude_user = e->attr.exclude_kernel = e->attr.exclude_hv = 0;
	if (p->item.filter) {
		e->filter = strdup(p->item.filter);
		if (!e->filter) {
			event_free(e);
			return err_set(p->err, -ENOMEM, "no memory for a filter");
		}
	}
	return event_list_add(p->list, e, p->err);
}

static int parse_tracepoint(struct event_text *p)
{
	char *name = strchr(p->item.base, ':'), *mods = NULL;
	int rc;

	*name++ = '\0';
	if (!p->item.terms)
		mods = strchr(name, ':');
	if (mods) {
		*mods++ = '\0';
		p->item.mods = mods;
	}
	if (!*p->item.base || !*name) {
		err_set(p->err, -EINVAL, "a tracepoint is written SYSTEM:NAME");
		err_hint(p->err, "such as sched:sched_switch, or sched:* for all of a system");
		return -EINVAL;
	}
	rc = parse_mods(p->item.mods, &p->sampling, p->err);
	if (!rc)
		rc = parse_terms(p, NULL, NULL);
	if (rc)
		return rc;
	if (p->sampling.user && !p->sampling.kernel) {
		err_set(p->err, -EINVAL,
			"a tracepoint is on the kernel side, so ':u' would leave nothing");
		err_hint(p->err, "leave out the :u");
		return -EINVAL;
	}
	return tracepoint_find(p->item.base, name, add_tracepoint, p, p->err);
}

static int no_uprobes(struct err *err)
{
	err_set(err, -ENOENT, "this kernel has no uprobe PMU");
	err_hint(err, "use a kernel with CONFIG_UPROBE_EVENTS and CONFIG_PERF_EVENTS");
	return -ENOENT;
}

static int parse_uprobe(struct event_text *p)
{
	bool on_return = starts(p->item.base, "uretprobe:");
	struct perf_event_attr attr = {.sample_period = 1};
	struct uprobe u;
	struct event *e;
	int rc;

	if (!pmu_type("uprobe", &attr.type))
		return no_uprobes(p->err);
	rc = on_return ? pmu_term("uprobe", "retprobe", NULL, &attr, p->err) : 0;
	if (rc)
		return rc;
	rc = uprobe_resolve(strchr(p->item.base, ':') + 1, on_return, &u, p->err);
	if (rc)
		return rc;
	e = new_event(p, EVENT_UPROBE, strdup(p->item.base));
	if (!e) {
		uprobe_fini(&u);
		return -ENOMEM;
	}
	e->uprobe_path = u.path;
	e->target = u.target;
	attr.size = e->attr.size;
	attr.uprobe_path = (uintptr_t)u.path;
	attr.probe_offset = u.offset;
	e->attr = attr;
	return event_list_add(p->list, e, p->err);
}

static int parse_unknown(struct event_text *p)
{
	struct closest c;

	closest_init(&c, p->item.base);
	event_name_closest(&c);
	pmu_closest(&c);
	if (p->item.terms) {
		err_set(p->err, -ENOENT, "there is no event and no PMU '%s'", p->item.base);
		closest_hint(&c, p->err, "ls /sys/bus/event_source/devices shows the PMUs");
		return -ENOENT;
	}
	tracepoint_closest(&c);
	err_set(p->err, -ENOENT, "there is no event '%s'", p->item.base);
	closest_hint(&c, p->err,
		     "tracepoints are written SYSTEM:NAME, PMU events PMU/TERMS/; perf "
		     "list shows all");
	return -ENOENT;
}

static int parse_item(struct event_text *p)
{
	struct event_name n;
	char *colon;
	__u32 type;

	if (is_uprobe(p->item.base))
		return parse_uprobe(p);
	colon = strchr(p->item.base, ':');
	if (p->item.terms) {
		if (event_name_find(p->item.base, &n))
			return parse_named(p, &n);
		if (pmu_type(p->item.base, &type))
			return parse_pmu(p, type);
		return colon ? parse_tracepoint(p) : parse_unknown(p);
	}
	if (colon)
		*colon = '\0';
	if (event_name_find(p->item.base, &n)) {
		p->item.mods = colon ? colon + 1 : NULL;
		return parse_named(p, &n);
	}
	if (!colon)
		return parse_unknown(p);
	*colon = ':';
	return parse_tracepoint(p);
}

/* ---- the list ---- */

/* Adds the item and its column, since the list may be long. */
static int blame(struct err *err, int rc, const char *item, size_t len, size_t at)
{
	char safe[160];

	str_safe(safe, sizeof(safe), item, len);
	if (at)
		err_prefix(err, "event '%s' (at character %zu)", safe, at + 1);
	else
		err_prefix(err, "event '%s'", safe);
	return rc;
}

static int parse_one(const char *text, size_t len, const struct caps *caps, struct event_list *list,
		     struct err *err)
{
	struct event_text p = {.caps = caps, .list = list, .err = err};
	int rc;

	p.item.text = strndup(text, len);
	if (!p.item.text)
		return err_set(err, -ENOMEM, "no memory to parse an event");
	rc = item_split(&p.item, err);
	if (!rc)
		rc = parse_item(&p);
	free(p.item.text);
	return rc;
}

static void trim(const char **s, size_t *len)
{
	while (*len && isspace((unsigned char)**s)) {
		(*s)++;
		(*len)--;
	}
	while (*len && isspace((unsigned char)(*s)[*len - 1]))
		(*len)--;
}

static int parse_list(const char *text, const struct caps *caps, struct event_list *list,
		      struct err *err)
{
	for (const char *s = text;; s++) {
		const char *item = s += strspn(s, " \t\n");
		size_t at = (size_t)(s - text), len = 0;
		int rc = item_end(s, &len, err);

		if (rc)
			return blame(err, rc, item, strlen(item), at);
		s += len;
		trim(&item, &len);
		if (!len) {
			err_set(err, -EINVAL, "an event is missing at character %zu of '%s'",
				at + 1, text);
			err_hint(err, "one comma stands between two events: "
				      "sched:sched_switch,cpu-clock/freq=99/");
			return -EINVAL;
		}
		rc = parse_one(item, len, caps, list, err);
		if (rc)
			return blame(err, rc, item, len, at);
		if (!*s)
			return 0;
	}
}

int event_parse(const char *text, const struct caps *caps, struct event_list *out, struct err *err)
{
	struct event_list list = {0};
	int rc;

	rc = parse_list(text, caps, &list, err);
	/* Appends all parsed events, or none. */
	if (!rc)
		rc = event_list_join(out, &list, err);
	event_list_free(&list);
	return rc;
}
