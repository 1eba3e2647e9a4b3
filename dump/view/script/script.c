// SPDX-License-Identifier: MIT
/* Walks the timeline and prints the records that pass the filters, with several threads for large
 * dumps; see script.h. Called by `ringback script`. Allocates nothing per record. */
#include "dump/view/script/script_impl.h"

#include "dump/base/err.h"
#include "dump/base/thread_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 8
/* One thread prints these in 5 ms, before other threads would have started. */
#define FEW_RECORDS 20000

/* enum perf_event_x86_regs, enum perf_event_arm_regs of arm64 */
static const struct stack_regs stack_regs[] = {
	{"x86_64", 7, 8},
	{"aarch64", 31, 32},
};

/* ---- a printer ---- */

int script_printer_init(struct printer *p, const struct script *s)
{
	*p = (struct printer){.s = s};
	p->who = calloc(NR_WHO, sizeof(*p->who));
	p->places = calloc(NR_PLACES, sizeof(*p->places));
	if (!p->who || !p->places)
		return -ENOMEM;
	if (s->a.symbols && unwind_rules_nr(symbols_rules(s->a.symbols)) &&
	    stack_unwind_new(s->a.history, s->a.symbols, &p->unwind, NULL))
		return -ENOMEM;
	/* All entries are invalid. */
	for (size_t i = 0; i < NR_WHO; i++)
		p->who[i].span.from_ns = UINT64_MAX;
	return 0;
}

void script_printer_free(struct printer *p)
{
	text_free(&p->text);
	text_free(&p->place);
	unwind_free(p->unwind);
	free(p->who);
	free(p->places);
}

bool script_print_line(struct printer *p, struct line *l)
{
	if (!script_complete(p, l))
		return false;
	if (p->s->opt->json)
		script_json_line(p, l);
	else
		script_text_line(p, l);
	if (p->place.rc && !p->text.rc)
		p->text.rc = p->place.rc;
	return true;
}

/* ---- with one thread ---- */

/* `pt` NULL: no calls to interleave. */
static int print_all(struct printer *p, struct timeline *t, struct script_pt *pt, FILE *out,
		     uint64_t *nr_printed, struct err *err)
{
	uint64_t limit = p->s->opt->limit;
	struct line l;
	int rc;

	p->text.out = out;
	while ((rc = timeline_next(t, &l.rec, err)) > 0) {
		if (pt)
			rc = script_pt_print(pt, p, l.rec.time_ns, limit, nr_printed, err);
		if (rc < 0 || (limit && *nr_printed == limit))
			break;
		if (!script_print_line(p, &l))
			continue;
		++*nr_printed;
		rc = text_flush_large(&p->text);
		if (rc || *nr_printed == limit)
			break;
	}
	if (!rc && pt && (!limit || *nr_printed < limit))
		rc = script_pt_print(pt, p, p->s->opt->to_ns, limit, nr_printed, err);
	if (rc >= 0 || !p->text.rc)
		text_flush(&p->text); /* complete lines are printed even after an error */
	if (p->text.rc)
		return err_sys(err, p->text.rc, "the output can't be written");
	return rc < 0 ? rc : 0;
}

static int print_alone(const struct script *s, struct timeline *t, struct script_pt *pt, FILE *out,
		       uint64_t *nr_printed, struct err *err)
{
	struct printer p;
	int rc = script_printer_init(&p, s);

	if (rc)
		err_set(err, rc, "out of memory for printing");
	else
		rc = print_all(&p, t, pt, out, nr_printed, err);
	script_printer_free(&p);
	return rc;
}

/* ---- how many threads ---- */

/* One thread for each usable CPU, if there are enough records. */
static unsigned threads_wanted(struct reader *r, const struct script_options *opt, bool pt)
{
	unsigned nr;

	/* Calls are interleaved with events, which needs the events one by one. */
	if (opt->limit || pt)
		return 1;
	if (opt->nr_threads)
		return opt->nr_threads < MAX_THREADS ? opt->nr_threads : MAX_THREADS;
	if (reader_nr_records(r, opt->from_ns, opt->to_ns) < FEW_RECORDS)
		return 1;
	nr = thread_pool_useful(MAX_THREADS);
	return nr ? nr : 1;
}

/* ---- all ---- */

/* Tells the timeline which records it may skip; `asker` looks up threads. */
static int set_wishes(struct script *s, struct printer *asker, struct timeline_options *o)
{
	const struct script_options *opt = s->opt;

	o->channels = script_channels(s);
	if (opt->nr_cpus == 1)
		o->cpu = (int32_t)opt->cpus[0];
	if (opt->nr_events) {
		s->wanted = calloc(s->a.m->nr_events + 1, sizeof(*s->wanted));
		if (!s->wanted)
			return -ENOMEM;
		for (size_t i = 0; i < s->a.m->nr_events; i++)
			/* An event without a name may get one from its tracepoint's format. */
			s->wanted[i] = s->heads[i].wanted || !s->a.m->events[i].name[0];
		o->events = s->wanted;
	}
	if (!opt->nr_tids && !opt->nr_comms)
		return 0;
	o->thread = script_thread_asked;
	o->ctx = asker;
	return script_printer_init(asker, s);
}

static int open_all(struct script *s, struct printer *asker, unsigned nr_threads,
		    struct timeline **t, struct err *err)
{
	struct timeline_options o = {
		.from_ns = s->opt->from_ns,
		.to_ns = s->opt->to_ns,
		.cpu = -1,
		.nr_helpers = nr_threads / 2,
	};
	int rc;

	if (script_make_heads(s) || set_wishes(s, asker, &o))
		return err_set(err, -ENOMEM, "out of memory for the list of events");
	rc = analysis_open(&s->a, ANALYSIS_FIELDS | ANALYSIS_SYMBOLS, err);
	return rc ? rc : timeline_open(s->a.r, s->a.m, &o, t, err);
}

static void close_all(struct script *s)
{
	analysis_close(&s->a);
	free(s->heads);
	free(s->wanted);
	text_free(&s->head_text);
}

int script_print(struct reader *r, const struct meta *m, const struct script_options *opt,
		 FILE *out, struct script_result *res, struct err *err)
{
	struct script s = {.a = {.r = r, .m = m}, .opt = opt};
	struct symbols_counts symbols = {0};
	struct printer asker = {0};
	struct timeline *t = NULL;
	unsigned nr_threads = threads_wanted(r, opt, script_pt_wanted(&s));
	struct script_pt *pt = NULL;
	int rc;

	*res = (struct script_result){0};
	for (size_t i = 0; i < sizeof(stack_regs) / sizeof(stack_regs[0]); i++)
		if (strstr(m->uname, stack_regs[i].machine))
			s.regs = &stack_regs[i];
	rc = open_all(&s, &asker, nr_threads, &t, err);
	if (!rc) {
		symbols_counts(s.a.symbols, &symbols);
		s.has_symbols = symbols.nr_functions;
	}
	if (!rc)
		rc = script_pt_open(&s, r, &pt, err);
	if (!rc && nr_threads > 1)
		rc = script_print_threads(&s, t, nr_threads, out, &res->nr_printed, err);
	if (nr_threads > 1 ? rc == -EAGAIN : !rc)
		rc = print_alone(&s, t, pt, out, &res->nr_printed, err);
	res->nr_bad_blocks = analysis_nr_broken(&s.a) + (t ? timeline_nr_bad_blocks(t) : 0);
	script_pt_close(pt);
	timeline_close(t);
	script_printer_free(&asker);
	close_all(&s);
	return rc;
}
