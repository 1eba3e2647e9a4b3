// SPDX-License-Identifier: MIT
/* Selects the records that script prints, by event, thread, CPU and name. Called by script.c.
 * Results that depend only on the event or the thread are computed once, not per record. */
#include "dump/view/script/script_impl.h"

#include "dump/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint16_t record_types[] = {
	PERF_RECORD_LOST,	  PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE,
	PERF_RECORD_LOST_SAMPLES, PERF_RECORD_AUX,	PERF_RECORD_AUX_OUTPUT_HW_ID,
	PERF_RECORD_ITRACE_START, PERF_RECORD_SWITCH,	PERF_RECORD_SWITCH_CPU_WIDE,
};

#define NR_RECORD_TYPES (sizeof(record_types) / sizeof(record_types[0]))

/* ---- events ---- */

/* Matches the whole name, or the part after the system: "sched_switch". */
static bool event_matches(const char *pattern, const char *name)
{
	const char *colon = strchr(name, ':');

	return str_glob(pattern, name) || (colon && str_glob(pattern, colon + 1));
}

bool script_event_asked(const struct script_options *opt, const char *name)
{
	for (size_t i = 0; i < opt->nr_events; i++)
		if (event_matches(opt->events[i], name))
			return true;
	return !opt->nr_events;
}

bool script_event_known(const struct meta *m, const char *pattern)
{
	for (size_t i = 0; i < m->nr_events; i++)
		if (event_matches(pattern, m->events[i].name))
			return true;
	for (size_t i = 0; i < NR_RECORD_TYPES; i++)
		if (event_matches(pattern, script_record_name(record_types[i])))
			return true;
	return script_pt_event(pattern);
}

static bool records_asked(const struct script_options *opt)
{
	for (size_t i = 0; i < NR_RECORD_TYPES; i++)
		if (script_event_asked(opt, script_record_name(record_types[i])))
			return true;
	return false;
}

int script_make_heads(struct script *s)
{
	struct text *t = &s->head_text;
	size_t nr = s->a.m->nr_events, from;

	s->heads = calloc(nr + 1, sizeof(*s->heads));
	if (!s->heads)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		from = t->b.len;
		if (s->opt->json)
			script_json_head(s->a.m->events[i].name, t);
		else
			script_text_head(s, s->a.m->events[i].name, t);
		s->heads[i].len = t->b.len - from;
		s->heads[i].wanted = script_event_asked(s->opt, s->a.m->events[i].name);
	}
	text_fill(t, ' ', PUT_SLACK);
	from = 0;
	for (size_t i = 0; i < nr && !t->rc; i++) {
		s->heads[i].text = (const char *)t->b.p + from;
		from += s->heads[i].len;
	}
	s->want_unknown = script_event_asked(s->opt, "unknown");
	return t->rc;
}

uint64_t script_channels(const struct script *s)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < s->a.m->nr_events; i++) {
		const struct meta_event *e = &s->a.m->events[i];

		if (!s->heads[i].wanted)
			continue;
		if (e->f.channel >= 64)
			return 0;
		mask |= 1ull << e->f.channel;
	}
	return s->want_unknown || records_asked(s->opt) ? 0 : mask;
}

/* ---- records ---- */

/* An empty list accepts all. */
static bool in_list(const uint32_t *list, size_t nr, uint32_t v)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return !nr;
}

bool script_cpu_asked(const struct script_options *opt, int32_t cpu)
{
	return in_list(opt->cpus, opt->nr_cpus, (uint32_t)cpu);
}

static bool comm_asked(const struct script_options *opt, const char *comm)
{
	for (size_t i = 0; i < opt->nr_comms && comm; i++)
		if (str_glob(opt->comms[i], comm))
			return true;
	return !opt->nr_comms;
}

bool script_thread_fits(const struct script_options *opt, const struct printed_task *who)
{
	return in_list(opt->tids, opt->nr_tids, who->tid) && comm_asked(opt, who->comm);
}

bool script_who_asked(const struct script *s, const struct printed_task *who)
{
	const struct script_options *opt = s->opt;
	uint32_t pid = who->pid != WHO_NO_PID ? (uint32_t)who->pid
		       : who->task	      ? who->task->pid
					      : UINT32_MAX;

	return script_thread_fits(opt, who) && in_list(opt->pids, opt->nr_pids, pid);
}

static const char *name_unknown(const struct script *s, const struct timeline_record *r)
{
	struct bytes raw = r->s.raw;
	uint16_t type;

	return bytes_u16(&raw, &type) ? fields_name(s->a.fields, type) : NULL;
}

/* Determines the record's event; false when it fails the filter by event. */
static bool identify(const struct script *s, struct line *l)
{
	const struct timeline_record *r = &l->rec;
	struct perf_event_header h;

	memcpy(&h, r->rec.p, sizeof(h));
	l->type = (uint16_t)h.type;
	l->head = NULL;
	if (l->type != PERF_RECORD_SAMPLE) {
		l->event = script_record_name(l->type);
		if (!s->opt->nr_events && script_record_unasked(l->type))
			return false;
		return script_event_asked(s->opt, l->event);
	}
	if (r->event && r->event->name[0]) {
		l->event = r->event->name;
		l->head = &s->heads[r->event - s->a.m->events];
		return l->head->wanted;
	}
	l->event = name_unknown(s, r);
	if (l->event)
		return script_event_asked(s->opt, l->event);
	l->event = "unknown";
	return s->want_unknown;
}

bool script_complete(struct printer *p, struct line *l)
{
	const struct timeline_record *r = &l->rec;
	const struct script_options *opt = p->s->opt;

	if (!identify(p->s, l))
		return false;
	l->cpu = r->window->cpu;
	if (l->cpu < 0 && r->s.have & PERF_SAMPLE_CPU)
		l->cpu = (int32_t)r->s.cpu;
	if (!in_list(opt->cpus, opt->nr_cpus, (uint32_t)l->cpu))
		return false;
	l->who = script_who(p, r);
	return l->who->asked;
}
