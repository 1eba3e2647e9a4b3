// SPDX-License-Identifier: MIT
/* Switches and wake-ups as ftrace events, which Perfetto shows as slices of CPUs and states of
 * threads. Collects the events of each CPU into bundles. */
#include "dump/view/export/export_pftrace.h"

#include "dump/format/record.h"
#include "dump/view/print/fields.h"
#include "dump/view/model/process_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUNDLE	   256
#define MAX_CPUS   8192
#define NR_NUMBERS 5
#define NR_TEXTS   2

enum pf_sched_kind { SWITCH, WAKEUP, WAKING, WAKEUP_NEW, NR_KINDS };

/* Fields of perfetto.proto. */
enum { BUNDLE_CPU = 1, BUNDLE_EVENT, BUNDLE_LOST_EVENTS };
enum { EVENT_TIMESTAMP = 1, EVENT_PID };
enum {
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID,
	SWITCH_PREV_PRIO,
	SWITCH_PREV_STATE,
	SWITCH_NEXT_COMM,
	SWITCH_NEXT_PID,
	SWITCH_NEXT_PRIO,
};
enum { WAKE_COMM = 1, WAKE_PID, WAKE_PRIO, WAKE_SUCCESS, WAKE_TARGET_CPU };

static const struct {
	const char *name;
	uint32_t proto_field; /* of FtraceEvent */
	const char *texts[NR_TEXTS];
	const char *numbers[NR_NUMBERS];
} kinds[NR_KINDS] = {
	[SWITCH] = {"sched:sched_switch",
		    4,
		    {"prev_comm", "next_comm"},
		    {"prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"}},
	[WAKEUP] = {"sched:sched_wakeup", 17, {"comm"}, {"pid", "prio", "target_cpu"}},
	[WAKING] = {"sched:sched_waking", 20, {"comm"}, {"pid", "prio", "target_cpu"}},
	[WAKEUP_NEW] = {"sched:sched_wakeup_new", 114, {"comm"}, {"pid", "prio", "target_cpu"}},
};

/* How to read an event of the dump; kind NR_KINDS: another event. */
struct parser {
	enum pf_sched_kind kind;
	const struct field *texts[NR_TEXTS], *numbers[NR_NUMBERS];
};

struct sched_event {
	uint64_t ns;
	uint32_t tid;
	enum pf_sched_kind kind;
	int64_t numbers[NR_NUMBERS];
	char texts[NR_TEXTS][68]; /* 16 characters, escaped */
};

struct bundle {
	size_t nr;
	bool lost;
	struct sched_event events[BUNDLE];
};

struct pf_sched {
	struct parser *parsers; /* by index of meta's events */
	bool partial;		/* FMT_HOST_TARGET */
	uint64_t own_channels;	/* bit i: channel i has PERF_RECORD_SWITCH */
	struct bundle **cpus;
	size_t nr_cpus;
};

static bool find_fields(const struct fields *f, const struct meta_event *e, struct parser *p)
{
	const struct tpfields *tp = fields_tracepoint(f, (uint32_t)e->attr.config);
	size_t k = p->kind;

	for (size_t i = 0; i < NR_TEXTS && kinds[k].texts[i]; i++)
		if (!(p->texts[i] =
			      tpfields_find(tp, kinds[k].texts[i], strlen(kinds[k].texts[i]))))
			return false;
	for (size_t i = 0; i < NR_NUMBERS && kinds[k].numbers[i]; i++)
		if (!(p->numbers[i] =
			      tpfields_find(tp, kinds[k].numbers[i], strlen(kinds[k].numbers[i]))))
			return false;
	return true;
}

static void find_parser(const struct fields *f, const struct meta_event *e, struct parser *p)
{
	const char *name = fields_name(f, (uint32_t)e->attr.config);

	if (!e->f.tracepoint || !name)
		return;
	for (size_t k = 0; k < NR_KINDS; k++) {
		if (strcmp(kinds[k].name, name) != 0)
			continue;
		p->kind = (enum pf_sched_kind)k;
		if (!find_fields(f, e, p))
			p->kind = NR_KINDS;
		return;
	}
}

int pf_sched_new(struct pftrace *pf, struct pf_sched **out)
{
	const struct meta *m = pf->x->a.m;
	struct pf_sched *s = calloc(1, sizeof(*s));

	if (s)
		s->parsers = calloc(m->nr_events + 1, sizeof(*s->parsers));
	if (!s || !s->parsers) {
		free(s);
		return -ENOMEM;
	}
	s->partial = m->host.flags & FMT_HOST_TARGET;
	for (size_t i = 0; i < m->nr_events; i++) {
		const struct meta_event *e = &m->events[i];

		s->parsers[i].kind = NR_KINDS;
		if (!meta_in_rings(m, e))
			continue;
		find_parser(pf->x->a.fields, e, &s->parsers[i]);
		if (s->parsers[i].kind == SWITCH && e->attr.context_switch && e->f.channel < 64)
			s->own_channels |= 1ull << e->f.channel;
	}
	*out = s;
	return 0;
}

void pf_sched_free(struct pf_sched *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_cpus; i++)
		free(s->cpus[i]);
	free(s->cpus);
	free(s->parsers);
	free(s);
}

/* ---- writing ---- */

static void put_switch(struct text *p, const struct sched_event *e)
{
	proto_string(p, SWITCH_PREV_COMM, e->texts[0]);
	proto_number(p, SWITCH_PREV_PID, (uint64_t)(int32_t)e->numbers[0]);
	proto_number(p, SWITCH_PREV_PRIO, (uint64_t)(int32_t)e->numbers[1]);
	proto_number(p, SWITCH_PREV_STATE, (uint64_t)e->numbers[2]);
	proto_string(p, SWITCH_NEXT_COMM, e->texts[1]);
	proto_number(p, SWITCH_NEXT_PID, (uint64_t)(int32_t)e->numbers[3]);
	proto_number(p, SWITCH_NEXT_PRIO, (uint64_t)(int32_t)e->numbers[4]);
}

static void put_wake(struct text *p, const struct sched_event *e)
{
	proto_string(p, WAKE_COMM, e->texts[0]);
	proto_number(p, WAKE_PID, (uint64_t)(int32_t)e->numbers[0]);
	proto_number(p, WAKE_PRIO, (uint64_t)(int32_t)e->numbers[1]);
	proto_number(p, WAKE_SUCCESS, 1);
	proto_number(p, WAKE_TARGET_CPU, (uint64_t)(int32_t)e->numbers[2]);
}

static void put_event(struct pftrace *pf, struct text *p, const struct sched_event *e)
{
	size_t event = proto_open(p, BUNDLE_EVENT), m;

	proto_number(p, EVENT_TIMESTAMP, pf_ns(pf, e->ns));
	proto_number(p, EVENT_PID, e->tid);
	m = proto_open(p, kinds[e->kind].proto_field);
	(e->kind == SWITCH ? put_switch : put_wake)(p, e);
	proto_close(p, m);
	proto_close(p, event);
}

static void flush(struct pftrace *pf, size_t cpu)
{
	struct bundle *b = pf->sched->cpus[cpu];
	struct text *p = &pf->packet;
	size_t bundle;

	if (!b || !b->nr)
		return;
	p->b.len = 0;
	bundle = proto_open(p, PACKET_FTRACE_EVENTS);
	proto_number(p, BUNDLE_CPU, cpu);
	for (size_t i = 0; i < b->nr; i++)
		put_event(pf, p, &b->events[i]);
	if (b->lost)
		proto_number(p, BUNDLE_LOST_EVENTS, true);
	proto_close(p, bundle);
	pf_put(pf);
	b->nr = 0;
	b->lost = false;
}

void pf_sched_flush(struct pftrace *pf)
{
	for (size_t cpu = 0; cpu < pf->sched->nr_cpus; cpu++)
		flush(pf, cpu);
}

/* ---- taking ---- */

static struct bundle *bundle_of(struct pftrace *pf, size_t cpu)
{
	struct pf_sched *s = pf->sched;

	if (cpu >= s->nr_cpus) {
		struct bundle **more = realloc(s->cpus, (cpu + 1) * sizeof(struct bundle *));

		if (!more)
			return NULL;
		memset(more + s->nr_cpus, 0, (cpu + 1 - s->nr_cpus) * sizeof(struct bundle *));
		s->cpus = more;
		s->nr_cpus = cpu + 1;
	}
	if (!s->cpus[cpu])
		s->cpus[cpu] = calloc(1, sizeof(struct bundle));
	return s->cpus[cpu];
}

void pf_sched_lost(struct pftrace *pf, int32_t cpu)
{
	struct bundle *b;

	if (cpu < 0 || (size_t)cpu >= pf->sched->nr_cpus || !(b = pf->sched->cpus[cpu]))
		return;
	flush(pf, (size_t)cpu);
	b->lost = true;
}

static void parse(const struct parser *p, const struct timeline_record *rec, struct sched_event *e)
{
	struct bytes text;

	*e = (struct sched_event){.ns = rec->time_ns, .tid = rec->tid, .kind = p->kind};
	for (size_t i = 0; i < NR_NUMBERS && p->numbers[i]; i++)
		e->numbers[i] = (int64_t)field_number(p->numbers[i], rec->s.raw);
	for (size_t i = 0; i < NR_TEXTS && p->texts[i]; i++)
		if (field_string(p->texts[i], rec->s.raw, &text))
			pf_text(e->texts[i], sizeof(e->texts[i]), (const char *)text.p, text.len);
}

static void put(struct pftrace *pf, size_t cpu, const struct sched_event *e)
{
	struct bundle *b = bundle_of(pf, cpu);

	if (!b) {
		pf->rc = -ENOMEM;
		return;
	}
	b->events[b->nr++] = *e;
	if (b->nr == BUNDLE)
		flush(pf, cpu);
}

/* Switches to idle: for a target, other threads on the CPU are unknown, and Perfetto draws an idle
 * CPU as empty. */
static void leave_cpu_empty(struct sched_event *e)
{
	e->numbers[3] = 0;
	strcpy(e->texts[1], "swapper");
}

bool pf_sched_take(struct pftrace *pf, const struct timeline_record *rec)
{
	const struct parser *p = &pf->sched->parsers[rec->event - pf->x->a.m->events];
	int64_t cpu = export_cpu(rec);
	struct sched_event e;

	if (p->kind == NR_KINDS || cpu < 0 || cpu >= MAX_CPUS)
		return false;
	parse(p, rec, &e);
	if (pf->sched->partial && e.kind == SWITCH)
		leave_cpu_empty(&e);
	put(pf, (size_t)cpu, &e);
	return true;
}

/* Only for threads that return: the tracepoint already reports threads that leave. */
static void come_back(struct pftrace *pf, size_t cpu, const struct timeline_record *rec)
{
	struct sched_event e = {
		.ns = rec->time_ns, .tid = rec->tid, .kind = SWITCH, .texts = {"swapper"}};
	const char *comm = history_comm(pf->x->a.history, rec->tid, rec->time_ns);

	if (comm)
		pf_text(e.texts[1], sizeof(e.texts[1]), comm, strlen(comm));
	e.numbers[1] = e.numbers[4] = 120; /* the record has no priorities */
	e.numbers[3] = rec->tid;
	put(pf, cpu, &e);
}

bool pf_sched_take_own(struct pftrace *pf, const struct timeline_record *rec)
{
	const struct pf_sched *s = pf->sched;
	uint32_t channel = rec->window->channel;
	int64_t cpu = export_cpu(rec);
	struct perf_event_header h;

	if (!s->partial || channel >= 64 || !(s->own_channels >> channel & 1) ||
	    !record_at(rec->rec, 0, &h) ||
	    (h.type != PERF_RECORD_SWITCH && h.type != PERF_RECORD_SWITCH_CPU_WIDE) || !rec->tid ||
	    rec->tid == UINT32_MAX || cpu < 0 || cpu >= MAX_CPUS)
		return false;
	if (!(h.misc & PERF_RECORD_MISC_SWITCH_OUT))
		come_back(pf, (size_t)cpu, rec);
	return true;
}
