// SPDX-License-Identifier: MIT
/* Sets up a schedule: chooses the events of switches and wake-ups, finds the time for which they
 * are complete, and adds threads; see schedule.h. schedule.c takes the records. */
#include "dump/view/schedule/schedule.h"

#include "dump/base/err.h"
#include "dump/base/sleepstack.h"
#include "dump/view/print/fields.h"
#include "dump/view/schedule/schedule_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bounds what an untrusted dump can ask for. */
#define MAX_CPUS 8192

/* The used tracepoints and their required fields. */
static const struct {
	const char *name;
	enum sched_event_kind kind;
	const char *fields[MAX_FIELDS];
} tracepoints[] = {
	{"sched:sched_switch",
	 KIND_SWITCH,
	 {"prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"}},
	{"sched:sched_waking", KIND_WAKING, {"pid", "prio", "target_cpu", "common_flags"}},
	{"sched:sched_wakeup", KIND_WAKEUP, {"pid", "prio", "target_cpu", "common_flags"}},
	{"sched:sched_wakeup_new", KIND_WAKEUP, {"pid", "prio", "target_cpu", "common_flags"}},
	{"sched:sched_migrate_task", KIND_MIGRATE, {"pid", "dest_cpu"}},
	{"sched:sched_process_fork", KIND_FORK, {"parent_pid", "child_pid"}},
};

#define NR_TRACEPOINTS (sizeof(tracepoints) / sizeof(tracepoints[0]))

static bool parser_of(const struct fields *f, const struct meta_event *e, struct event_parser *p)
{
	const struct tpfields *tp = fields_tracepoint(f, (uint32_t)e->attr.config);
	const char *name = fields_name(f, (uint32_t)e->attr.config);

	for (size_t i = 0; tp && name && i < NR_TRACEPOINTS; i++) {
		if (strcmp(name, tracepoints[i].name) != 0)
			continue;
		p->kind = tracepoints[i].kind;
		for (size_t k = 0; k < MAX_FIELDS && tracepoints[i].fields[k]; k++) {
			const char *field = tracepoints[i].fields[k];

			p->fields[k] = tpfields_find(tp, field, strlen(field));
			if (!p->fields[k])
				return false;
		}
		if (p->kind == KIND_SWITCH)
			p->comm = tpfields_find(tp, "next_comm", 9);
		return true;
	}
	return false;
}

static bool is_sleep_stacks(const struct meta_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config == PERF_COUNT_SW_BPF_OUTPUT &&
	       !strcmp(e->name, SLEEP_STACKS);
}

/* Clocks and cycle counters: their samples show where time goes. */
static bool ticks(const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_SOFTWARE)
		return a->config == PERF_COUNT_SW_CPU_CLOCK ||
		       a->config == PERF_COUNT_SW_TASK_CLOCK;
	return a->type == PERF_TYPE_HARDWARE &&
	       (a->config == PERF_COUNT_HW_CPU_CYCLES || a->config == PERF_COUNT_HW_REF_CPU_CYCLES);
}

/* Chooses the events to use. Events with a filter are skipped, since all switches are needed. For a
 * tracepoint in two channels, takes the one with stacks. */
static void choose(struct schedule *s, const struct fields *f)
{
	for (size_t i = 0; i < s->m->nr_events; i++) {
		const struct meta_event *e = &s->m->events[i];
		struct event_parser p = {0};
		bool stacks = e->attr.sample_type & PERF_SAMPLE_CALLCHAIN;

		if (!meta_in_rings(s->m, e) || *e->filter)
			continue;
		if (ticks(&e->attr)) {
			s->parsers[i].kind = KIND_SAMPLE;
			continue;
		}
		if (is_sleep_stacks(e) && s->chains) {
			s->parsers[i].kind = KIND_PLACE;
			s->has_stacks = true;
			continue;
		}
		if (e->attr.type != PERF_TYPE_TRACEPOINT || !parser_of(f, e, &p))
			continue;
		for (size_t k = 0; k < i; k++) {
			struct event_parser *had = &s->parsers[k];

			if (s->m->events[k].attr.type != e->attr.type ||
			    s->m->events[k].attr.config != e->attr.config || !had->kind)
				continue;
			if (stacks)
				had->kind = KIND_NONE;
			else
				p.kind = KIND_NONE;
		}
		s->parsers[i] = p;
	}
	for (size_t i = 0; i < s->m->nr_events; i++) {
		s->has_switches |= s->parsers[i].kind == KIND_SWITCH;
		s->has_wakings |= s->parsers[i].kind == KIND_WAKING;
		s->has_stacks |= s->parsers[i].kind == KIND_SWITCH && s->chains &&
				 s->m->events[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN;
	}
	s->partial = s->m->host.flags & FMT_HOST_TARGET;
	s->own_only = s->partial && !s->has_switches;
	for (size_t i = 0; i < s->m->nr_events; i++) {
		const struct meta_event *e = &s->m->events[i];

		if (meta_in_rings(s->m, e) && e->attr.context_switch && e->f.channel < 64 &&
		    (s->own_only ? e->attr.type == PERF_TYPE_SOFTWARE
				 : s->parsers[i].kind == KIND_SWITCH))
			s->own_channels |= 1ull << e->f.channel;
	}
	/* In the ring of an AUX area, switches serve the area. */
	for (size_t i = 0; i < s->m->nr_areas; i++)
		for (size_t k = 0; k < s->m->nr_windows; k++)
			if (s->m->windows[k].ring == s->m->areas[i].ring)
				s->own_channels &= ~(1ull << (s->m->windows[k].channel & 63));
	s->has_switches |= s->own_channels != 0;
}

/* Narrows the time in which all rings of sleep-stacks were on. */
static void measure_places(struct schedule *s, const struct fmt_window *w)
{
	bool places = false;

	for (size_t k = 0; k < s->m->nr_events; k++)
		places |=
			s->parsers[k].kind == KIND_PLACE && s->m->events[k].f.channel == w->channel;
	if (!places || w->flags & FMT_WINDOW_OFFLINE)
		return;
	if (w->armed_ns > s->places_from_ns)
		s->places_from_ns = w->armed_ns;
	if (w->paused_ns && w->paused_ns < s->places_to_ns)
		s->places_to_ns = w->paused_ns;
}

/* Finds the window, in which all rings with switches are complete, and the number of CPUs. */
static void measure(struct schedule *s)
{
	uint8_t recorded[MAX_CPUS] = {0};
	size_t nr_recorded = 0;

	s->to_ns = s->places_to_ns = UINT64_MAX;
	for (size_t i = 0; i < s->m->nr_windows; i++) {
		const struct fmt_window *w = &s->m->windows[i];
		uint64_t from = w->overwritten_bytes ? w->first_ns : w->armed_ns;
		bool switches = false;

		if (!meta_is_ring(w))
			continue;
		measure_places(s, w);
		if (w->cpu >= 0 && w->cpu < MAX_CPUS && (size_t)w->cpu >= s->nr_cpus)
			s->nr_cpus = (size_t)w->cpu + 1;
		for (size_t k = 0; k < s->m->nr_events; k++)
			switches |= s->parsers[k].kind == KIND_SWITCH &&
				    s->m->events[k].f.channel == w->channel;
		switches |= schedule_is_own(s, w->channel);
		/* A CPU that went offline long ago must not shorten the window of the others. */
		if (!switches || w->flags & FMT_WINDOW_OFFLINE)
			continue;
		if (w->cpu >= 0 && w->cpu < MAX_CPUS && !recorded[w->cpu]) {
			recorded[w->cpu] = true;
			nr_recorded++;
		}
		if (from > s->from_ns)
			s->from_ns = from;
		if (w->paused_ns && w->paused_ns < s->to_ns)
			s->to_ns = w->paused_ns;
	}
	s->some_cpus = nr_recorded && nr_recorded < s->m->host.nr_cpus_online;
	if (s->to_ns == UINT64_MAX)
		s->to_ns = s->m->trigger.freeze_ns;
	if (s->from_ns > s->to_ns)
		s->from_ns = s->to_ns;
}

int schedule_add_thread(struct schedule *s, uint32_t tid, uint32_t *out)
{
	struct live_thread t = {.pub = {.tid = tid}, .now = {.cpu = -1, .prio = -1}};
	struct tid_thread *row = map_row(&s->by_tid, tid);
	size_t nr = nr_threads(s);

	if (!row || nr >= NO_THREAD - 1 || buf_put(&s->threads, &t, sizeof(t)))
		return -ENOMEM;
	row->thread = (uint32_t)nr;
	*out = (uint32_t)nr;
	return 0;
}

int schedule_new(const struct meta *m, const struct fields *f, const struct process_history *p,
		 struct call_chains *chains, struct schedule **out, struct err *err)
{
	struct schedule *s = calloc(1, sizeof(*s));
	uint32_t idle;
	int rc = -ENOMEM;

	if (!s)
		goto out;
	s->m = m;
	s->p = p;
	s->chains = chains;
	s->by_tid = MAP_INIT(struct tid_thread);
	s->parsers = calloc(m->nr_events + 1, sizeof(*s->parsers));
	if (!s->parsers)
		goto out;
	choose(s, f);
	measure(s);
	s->cpus = calloc(s->nr_cpus + 1, sizeof(*s->cpus));
	if (!s->cpus)
		goto out;
	for (size_t i = 0; i < s->nr_cpus; i++)
		s->cpus[i] = (struct live_cpu){.current = NO_THREAD, .stray = NO_THREAD};
	rc = schedule_add_thread(s, 0, &idle);
out:
	if (rc) {
		schedule_free(s);
		return err_set(err, rc, "out of memory for the scheduler's events");
	}
	*out = s;
	return 0;
}

void schedule_free(struct schedule *s)
{
	if (!s)
		return;
	map_free(&s->by_tid);
	free(s->parsers);
	free(s->cpus);
	free(s->runs);
	free(s->first_run);
	buf_free(&s->threads);
	buf_free(&s->spans);
	buf_free(&s->samples);
	intern_free(&s->names);
	free(s);
}
