// SPDX-License-Identifier: MIT
/* Time in which a thread was on a CPU that served interrupts: handlers and softirqs run on top of
 * any thread. Of nested ones, the outermost counts. The time of ksoftirqd is its own. */
#include "dump/view/print/fields.h"

#include "dump/base/array.h"
#include "dump/view/model/timeline.h"
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
/* Limit for untrusted numbers of CPUs. */
#define MAX_CPUS 8192
/* Interrupts kept per CPU; beyond this, the older half is dropped. */
#define MAX_SERVED (1u << 18)
#define MAX_DEPTH  8
/*
 * Minimum time and share to report. Network and timers usually take some percent. A thread that
 * sends through the loopback device runs the receiver's softirq itself, up to a third of its time,
 * which is no problem for a thread that did not request the dump.
 */
#define MIN_NS	     (20 * MS)
#define SHARE_ASKED  4 /* of its running time: a quarter */
#define SHARE_OTHERS 2

enum irq_kind { IRQ_NONE, IRQ_ENTRY, IRQ_EXIT, SOFTIRQ_ENTRY, SOFTIRQ_EXIT };

static const struct {
	const char *name, *field;
	enum irq_kind kind;
} events[] = {
	{"irq:irq_handler_entry", "irq", IRQ_ENTRY},
	{"irq:irq_handler_exit", "irq", IRQ_EXIT},
	{"irq:softirq_entry", "vec", SOFTIRQ_ENTRY},
	{"irq:softirq_exit", "vec", SOFTIRQ_EXIT},
};

/* In the order of the kernel's numbers (include/linux/interrupt.h). */
static const char *const softirqs[] = {"HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU"};

#define NR_SOFTIRQS (sizeof(softirqs) / sizeof(softirqs[0]))

/* An interrupt, from the outermost entry to its exit. */
struct served {
	uint64_t from_ns, to_ns;
	int32_t nr; /* interrupt number, or -1 - the softirq's number */
};

struct irq_cpu {
	unsigned depth;
	uint64_t since_ns;
	int32_t nr;
	struct buf served; /* by time */
};

struct irqs {
	struct {
		enum irq_kind kind;
		const struct field *nr;
	} * parsers; /* by index of meta's events */
	struct irq_cpu *cpus;
	size_t nr_cpus;
	uint64_t first_ns; /* first event: these rings may cover less time than others */
	bool recorded;
};

int why_irqs_new(struct why *w)
{
	struct irqs *q = calloc(1, sizeof(*q));

	w->irqs = q;
	if (q)
		q->parsers = calloc(w->a.m->nr_events + 1, sizeof(*q->parsers));
	if (!q || !q->parsers)
		return -ENOMEM;
	for (size_t i = 0; i < w->a.m->nr_events; i++) {
		const struct meta_event *e = &w->a.m->events[i];
		const char *name = analysis_event(&w->a, e);

		if (!meta_in_rings(w->a.m, e))
			continue;
		for (size_t k = 0; name && k < sizeof(events) / sizeof(events[0]); k++) {
			if (strcmp(name, events[k].name) != 0)
				continue;
			q->parsers[i].nr = analysis_field(&w->a, e, events[k].field);
			q->parsers[i].kind = q->parsers[i].nr ? events[k].kind : IRQ_NONE;
			q->recorded |= q->parsers[i].kind != IRQ_NONE;
		}
	}
	return 0;
}

bool why_irqs_need(const struct why *w, size_t event, struct timeline_need *need)
{
	const struct field *nr = w->irqs->parsers[event].nr;

	if (!nr)
		return false;
	timeline_need_raw(need, nr->offset, nr->size);
	return true;
}

void why_irqs_free(struct irqs *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->nr_cpus; i++)
		buf_free(&q->cpus[i].served);
	free(q->parsers);
	free(q->cpus);
	free(q);
}

static struct irq_cpu *cpu_of(struct irqs *q, int32_t cpu)
{
	struct irq_cpu *more;

	if ((size_t)cpu < q->nr_cpus)
		return &q->cpus[cpu];
	more = realloc(q->cpus, ((size_t)cpu + 1) * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + q->nr_cpus, 0, ((size_t)cpu + 1 - q->nr_cpus) * sizeof(*more));
	q->cpus = more;
	q->nr_cpus = (size_t)cpu + 1;
	return &q->cpus[cpu];
}

static int keep(struct buf *b, const struct served *s)
{
	size_t nr = b->len / sizeof(*s), half = nr / 2;

	if (nr >= MAX_SERVED) {
		memmove(b->p, b->p + half * sizeof(*s), (nr - half) * sizeof(*s));
		b->len = (nr - half) * sizeof(*s);
	}
	return buf_put(b, s, sizeof(*s));
}

int why_irqs_feed(struct why *w, const struct timeline_record *rec)
{
	struct irqs *q = w->irqs;
	int32_t cpu = rec->window->cpu, nr;
	enum irq_kind kind = rec->event ? q->parsers[rec->event - w->a.m->events].kind : IRQ_NONE;
	struct irq_cpu *c;

	if (kind == IRQ_NONE || cpu < 0 || cpu >= MAX_CPUS)
		return 0;
	if (!q->first_ns)
		q->first_ns = rec->time_ns;
	c = cpu_of(q, cpu);
	if (!c)
		return -ENOMEM;
	nr = (int32_t)field_number(q->parsers[rec->event - w->a.m->events].nr, rec->s.raw);
	if (kind == IRQ_ENTRY || kind == SOFTIRQ_ENTRY) {
		/* Interrupts do not nest this deep: exits are missing. */
		if (c->depth == MAX_DEPTH)
			c->depth = 0;
		if (!c->depth++) {
			c->since_ns = rec->time_ns;
			c->nr = kind == IRQ_ENTRY ? nr : -1 - nr;
		}
		return 0;
	}
	if (!c->depth || --c->depth)
		return 0;
	return keep(&c->served, &(struct served){c->since_ns, rec->time_ns, c->nr});
}

/* ---- the detector ---- */

/* Minimum number of samples in interrupts, and their minimum share is 1 of as many. */
#define MIN_SAMPLES 5

/* The time that a thread lost, and by what. */
struct loss {
	uint64_t ns, softirq_ns[NR_SOFTIRQS], hard_ns;
	int32_t cpu;
};

static void add(struct loss *l, int32_t cpu, const struct served *s, uint64_t ns)
{
	size_t soft = s->nr < 0 ? (size_t)(-1 - (int64_t)s->nr) : NR_SOFTIRQS;

	l->ns += ns;
	if (soft < NR_SOFTIRQS)
		l->softirq_ns[soft] += ns;
	else
		l->hard_ns += ns;
	l->cpu = cpu;
}

/* The first that ends after `ns`. */
static size_t first_after(const struct served *all, size_t nr, uint64_t ns)
{
	return array_bisect(i, nr, all[i].to_ns <= ns);
}

/* Adds the interrupts of a CPU between two times. */
static void add_served(const struct irqs *q, int32_t cpu, uint64_t from, uint64_t to,
		       struct loss *l)
{
	const struct served *all;
	size_t nr;

	if (cpu < 0 || (size_t)cpu >= q->nr_cpus)
		return;
	all = (const struct served *)q->cpus[cpu].served.p;
	nr = q->cpus[cpu].served.len / sizeof(*all);
	for (size_t k = first_after(all, nr, from); k < nr && all[k].from_ns < to; k++)
		add(l, cpu, &all[k], overlap(all[k].from_ns, all[k].to_ns, from, to));
}

static struct loss loss_of(const struct why *w, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	struct loss l = {.cpu = -1};

	for (size_t i = t->first; i < t->first + t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, i);
		uint64_t from = s->from_ns > w->focus_ns ? s->from_ns : w->focus_ns;
		uint64_t to = s->to_ns < w->end_ns ? s->to_ns : w->end_ns;

		if (s->state == SPAN_RUN && from < to)
			add_served(w->irqs, s->cpu, from, to, &l);
	}
	return l;
}

static const char *mostly(const struct loss *l, uint64_t *ns)
{
	const char *name = "interrupt handlers";

	*ns = l->hard_ns;
	for (size_t i = 0; i < NR_SOFTIRQS; i++)
		if (l->softirq_ns[i] > *ns) {
			*ns = l->softirq_ns[i];
			name = softirqs[i];
		}
	return name;
}

/* Without events of interrupts: samples of the thread that show softirqs. */
static int find_in_samples(const struct why *w, uint32_t thread, struct finding *f)
{
	double share;
	struct sums s;
	struct busy b;

	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	if (b.in[IN_IRQ] < MIN_SAMPLES || b.in[IN_IRQ] * MIN_SAMPLES < b.nr)
		return 0;
	share = (double)b.in[IN_IRQ] / b.nr;
	f->score = why_ms(s.ns[SPAN_RUN]) * share;
	f->sure = SURE_FAIRLY;
	f->more = "which interrupts: --preset irq";
	why_phrase(w, &f->verdict,
		   "{thread} lost {percent} of the {time} that it ran to softirqs and interrupts",
		   SAY_THREAD(thread), SAY_PERCENT(share), SAY_TIME(s.ns[SPAN_RUN]));
	finding_say(w, f, "samples", "{nr} of {nr} in interrupts", SAY_NR(b.in[IN_IRQ]),
		    SAY_NR(b.nr));
	return 0;
}

static int find_irqs(struct why *w, uint32_t thread, struct finding *f)
{
	struct loss l = loss_of(w, thread);
	const char *name;
	uint64_t ns, from_ns = w->irqs->first_ns > w->focus_ns ? w->irqs->first_ns : w->focus_ns;
	struct sums s;

	if (!w->irqs->recorded)
		return find_in_samples(w, thread, f);
	if (from_ns >= w->end_ns)
		return 0;
	sums_of(w, thread, from_ns, w->end_ns, &s);
	if (l.ns < MIN_NS ||
	    l.ns * (thread == w->asked ? SHARE_ASKED : SHARE_OTHERS) < s.ns[SPAN_RUN])
		return 0;
	f->score = why_ms(l.ns);
	f->sure = SURE_CERTAIN;
	why_phrase(w, &f->verdict,
		   "{thread} lost {time} of the {time} that it ran to interrupts on CPU {nr}",
		   SAY_THREAD(thread), SAY_TIME(l.ns), SAY_TIME(s.ns[SPAN_RUN]), SAY_NR(l.cpu));
	name = mostly(&l, &ns);
	finding_say(w, f, "served", "{text}{text} {time}, {nr} % of it",
		    SAY_TEXT(ns == l.hard_ns ? "" : "softirq "), SAY_TEXT(name), SAY_TIME(ns),
		    SAY_NR(100 * ns / l.ns));
	return 0;
}

static bool can_irqs(const struct why *w)
{
	return (w->irqs->recorded || (w->has_samples && w->has_names)) && why_can_switch(w);
}

const struct detector detect_irqs = {
	.name = "interrupts", .per_thread = true, .find = find_irqs, .can = can_irqs};
