// SPDX-License-Identifier: MIT
/*
 * Goes through the timeline, leaves out what isn't asked for and prints the rest; see script.h.
 * Called by `ringback script`. Nothing is allocated per record.
 */
#include "dump/view/script_impl.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* enum perf_event_x86_regs, enum perf_event_arm_regs of arm64 */
static const struct stack_regs stack_regs[] = {
	{"x86_64", 7, 8},
	{"aarch64", 31, 32},
};

static const uint16_t record_types[] = {
	PERF_RECORD_LOST,
	PERF_RECORD_THROTTLE,
	PERF_RECORD_UNTHROTTLE,
	PERF_RECORD_LOST_SAMPLES,
};

#define NR_RECORD_TYPES (sizeof(record_types) / sizeof(record_types[0]))

/* ---- which events ---- */

/* All of the name, or what stands behind its system: "sched_switch". */
static bool event_matches(const char *pattern, const char *name)
{
	const char *colon = strchr(name, ':');

	return str_glob(pattern, name) || (colon && str_glob(pattern, colon + 1));
}

static bool event_asked(const struct script_options *opt, const char *name)
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
	return false;
}

static bool records_asked(const struct script_options *opt)
{
	for (size_t i = 0; i < NR_RECORD_TYPES; i++)
		if (event_asked(opt, script_record_name(record_types[i])))
			return true;
	return false;
}

/* The channels that may hold what is asked for; 0: all. */
static uint64_t channels_asked(struct script *s)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < s->m->nr_events; i++) {
		const struct meta_event *e = &s->m->events[i];

		s->wanted[i] = event_asked(s->opt, e->name);
		if (!s->wanted[i])
			continue;
		if (e->f.channel >= 64)
			return 0;
		mask |= 1ull << e->f.channel;
	}
	s->want_unknown = event_asked(s->opt, "unknown");
	return s->want_unknown || records_asked(s->opt) ? 0 : mask;
}

/* ---- which records ---- */

static bool in_list(const uint32_t *list, size_t nr, uint32_t v)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return !nr;
}

static bool comm_asked(const struct script_options *opt, const char *comm)
{
	for (size_t i = 0; i < opt->nr_comms && comm; i++)
		if (str_glob(opt->comms[i], comm))
			return true;
	return !opt->nr_comms;
}

static bool is_asked(const struct script *s, const struct line *l)
{
	const struct script_options *opt = s->opt;
	uint32_t pid = l->rec.s.have & PERF_SAMPLE_TID ? l->rec.s.pid
		       : l->task		       ? l->task->pid
						       : UINT32_MAX;

	return in_list(opt->tids, opt->nr_tids, l->rec.tid) &&
	       in_list(opt->pids, opt->nr_pids, pid) &&
	       in_list(opt->cpus, opt->nr_cpus, (uint32_t)l->cpu) && comm_asked(opt, l->comm);
}

static const char *name_unknown(const struct script *s, const struct timeline_record *r)
{
	struct bytes raw = r->s.raw;
	uint16_t type;

	return bytes_u16(&raw, &type) ? fields_name(s->fields, type) : NULL;
}

/* Finds out what the record is; false when that alone says that it isn't asked for. */
static bool identify(const struct script *s, struct line *l)
{
	struct timeline_record *r = &l->rec;
	struct perf_event_header h;

	memcpy(&h, r->rec.p, sizeof(h));
	l->type = (uint16_t)h.type;
	if (l->type != PERF_RECORD_SAMPLE) {
		l->event = script_record_name(l->type);
		return !s->opt->nr_events || event_asked(s->opt, l->event);
	}
	if (r->event && r->event->name[0]) {
		l->event = r->event->name;
		return s->wanted[r->event - s->m->events];
	}
	l->event = name_unknown(s, r);
	if (l->event)
		return event_asked(s->opt, l->event);
	l->event = "unknown";
	return s->want_unknown;
}

static void complete(const struct script *s, struct line *l)
{
	struct timeline_record *r = &l->rec;

	l->cpu = r->window->cpu;
	if (l->cpu < 0 && r->s.have & PERF_SAMPLE_CPU)
		l->cpu = (int32_t)r->s.cpu;
	l->task = NULL;
	l->comm = NULL;
	if (r->tid == UINT32_MAX)
		return;
	l->task = people_task(s->people, r->tid, r->time_ns);
	l->comm = people_comm(s->people, r->tid, r->time_ns);
}

static int print_all(struct script *s, struct script_result *res, struct err *err)
{
	struct line l;
	int rc;

	while ((rc = timeline_next(s->timeline, &l.rec, err)) > 0) {
		if (!identify(s, &l))
			continue;
		complete(s, &l);
		if (!is_asked(s, &l))
			continue;
		if (s->opt->json)
			script_json_line(s, &l);
		else
			script_text_line(s, &l);
		res->nr_printed++;
		rc = text_flush_large(&s->text);
		if (rc || (s->opt->limit && res->nr_printed == s->opt->limit))
			break;
	}
	if (rc >= 0 || !s->text.rc)
		text_flush(&s->text); /* what is whole is printed even when the rest can't be */
	if (s->text.rc)
		return err_sys(err, s->text.rc, "the output can't be written");
	return rc < 0 ? rc : 0;
}

/* ---- the whole ---- */

static int open_all(struct script *s, struct reader *r, struct err *err)
{
	struct timeline_options t = {.from_ns = s->opt->from_ns, .to_ns = s->opt->to_ns, .cpu = -1};
	int rc;

	s->wanted = calloc(s->m->nr_events + 1, sizeof(*s->wanted));
	if (!s->wanted)
		return err_set(err, -ENOMEM, "out of memory for the list of events");
	t.channels = channels_asked(s);
	if (s->opt->nr_cpus == 1)
		t.cpu = (int32_t)s->opt->cpus[0];
	rc = fields_new(s->m, &s->fields, err);
	if (!rc)
		rc = people_load(r, &s->people, err);
	if (!rc)
		rc = timeline_open(r, s->m, &t, &s->timeline, err);
	return rc;
}

static void close_all(struct script *s)
{
	timeline_close(s->timeline);
	people_free(s->people);
	fields_free(s->fields);
	free(s->wanted);
	text_free(&s->text);
}

int script_print(struct reader *r, const struct meta *m, const struct script_options *opt,
		 FILE *out, struct script_result *res, struct err *err)
{
	struct script s = {.m = m, .opt = opt, .text = TEXT_INIT(out)};
	struct people_counts people = {0};
	int rc;

	*res = (struct script_result){0};
	for (size_t i = 0; i < sizeof(stack_regs) / sizeof(stack_regs[0]); i++)
		if (strstr(m->uname, stack_regs[i].machine))
			s.regs = &stack_regs[i];
	rc = open_all(&s, r, err);
	if (!rc)
		rc = print_all(&s, res, err);
	if (s.people)
		people_counts(s.people, &people);
	res->nr_bad_blocks =
		people.nr_broken + (s.timeline ? timeline_nr_bad_blocks(s.timeline) : 0);
	close_all(&s);
	return rc;
}
