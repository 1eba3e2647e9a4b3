// SPDX-License-Identifier: MIT
/* The steps of a dump's Intel PT in time order; see pt_trace.h. Called by script, report, pages,
 * exports, and whatever collects code. */
#include "dump/view/pt/pt_trace.h"

#include "dump/base/array.h"
#include "dump/file/aux_areas.h"
#include "dump/base/err.h"
#include "dump/view/base/row_map.h"
#include "dump/view/pt/pt_prefetch.h"
#include "dump/view/pt/pt_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PMU	    "intel_pt"
#define NOBODY	    UINT32_MAX
#define FIRST_BYTES (2u << 20)
/* Limit for all areas together. */
#define MAX_BYTES (1ull << 30)
/* Size of a part: small, so that the steps in memory stay few. */
#define PART_BYTES (64u << 10)
/* Parts decoded ahead per thread, for all areas together; each area has at least one. */
#define PARTS_AHEAD 2u
/*
 * Longer parts, where a trace has few PSBs, are not decoded ahead: they would take too much memory.
 */
#define MAX_AHEAD_BYTES (2 * PART_BYTES)
/* Each area has one part in memory as steps of 40 bytes. With many areas, parts are smaller, as far
 * as PSBs allow it. */
#define MAX_STEPS (16u << 20)
/* Limit for all areas together, and per thread and area. */
#define MAX_BLOCKS (1u << 20)
#define MANY	   16
#define MIN_BYTES  (4u << 10)
/* More than the CPUs of a machine; each area is checked for the next step. */
#define MAX_AREAS 8192

struct area {
	struct pt_trace *t;
	const struct dump_area *a;
	struct pt_trace_area pub;
	struct pt_flow_source book;
	struct buf bytes;
	struct pt_flow *flow;
	size_t next_part;
	size_t next_ahead;	      /* the first part not queued yet; at least next_part */
	struct pt_prefetch_job *jobs; /* part i: jobs[i % nr_ahead] */
	struct pt_flow_steps steps;
	size_t at; /* index into the steps */
	bool over;
};

/* An exec of a process. */
struct exec {
	uint64_t ns;
	uint32_t key;
};

/* The time of a thread's last step. */
struct seen {
	uint64_t key; /* tid */
	uint64_t ns;
};

struct pt_trace {
	struct reader *r;
	const struct meta *m;
	const struct process_history *history;
	struct pt_trace_options opt;
	struct aux_list list;
	struct pt_threads *who;
	struct code_cache *book;
	struct area *areas;
	size_t nr;
	bool began;		   /* pt_trace_next() was called */
	struct thread_pool *ahead; /* NULL: no decoding ahead */
	size_t nr_ahead;	   /* parts ahead per area */
	struct buf execs;	   /* struct exec[], by key and time */
	struct map seen;
	struct area *now;  /* the source of steps until limit_ns; NULL: to be chosen */
	uint64_t limit_ns; /* inclusive */
};

static bool is_pt(const struct meta_event *e)
{
	return e && e->pmu && !strcmp(e->pmu, PMU);
}

bool pt_trace_is_in(const struct meta *m)
{
	for (size_t i = 0; i < m->nr_events; i++)
		if (m->events[i].f.id != UINT32_MAX && is_pt(&m->events[i]))
			return m->nr_areas > 0;
	return false;
}

/* ---- the clock ---- */

/* ns = zero + (cycles * mult >> shift), exact at the moment of the stop. */
static bool find_clock(const struct fmt_window_aux *f, struct pt_flow_clock *c)
{
	uint64_t cycles = f->stop_cycles - f->start_cycles;
	uint64_t ns = f->stop_cycles_ns - f->start_cycles_ns;
	uint64_t rest;

	if (!f->stop_cycles || !f->stop_cycles_ns)
		return false;
	if (f->time_mult && f->time_shift < 32) {
		c->mult = f->time_mult;
		c->shift = (uint16_t)f->time_shift;
	} else {
		if (!f->start_cycles || f->stop_cycles <= f->start_cycles ||
		    f->stop_cycles_ns <= f->start_cycles_ns)
			return false;
		for (c->shift = 31; c->shift; c->shift--)
			if (((unsigned __int128)ns << c->shift) / cycles <= UINT32_MAX)
				break;
		c->mult = (uint32_t)(((unsigned __int128)ns << c->shift) / cycles);
		if (!c->mult)
			return false;
	}
	rest = f->stop_cycles & ((1ull << c->shift) - 1);
	c->zero = f->stop_cycles_ns -
		  ((f->stop_cycles >> c->shift) * c->mult + (rest * c->mult >> c->shift));
	return true;
}

/* ---- what the decoder needs to know ---- */

static uint32_t number_of(const struct meta_event *e, const char *path)
{
	const char *text = meta_pmu_file(e, path);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* A term of the event's configuration, at the bits that format/NAME gives ("config:14-17"). */
static uint32_t term_of(const struct meta_event *e, const char *path)
{
	const char *text = meta_pmu_file(e, path);
	unsigned from, to;

	if (!text || sscanf(text, "config:%u-%u", &from, &to) != 2 || from > to || to > 63)
		return 0;
	return (uint32_t)(e->attr.config >> from & ((2ull << (to - from)) - 1));
}

static void describe(const struct area *a, struct pt_flow_input *in)
{
	const struct meta_event *e = a->a->event;
	const char *ratio = meta_pmu_file(e, "tsc_art_ratio");
	unsigned family, model, stepping;
	char vendor[32];

	if (sscanf(a->t->m->cpu_id, "%31[^,],%u,%u,%u", vendor, &family, &model, &stepping) == 4 &&
	    !strcmp(vendor, "GenuineIntel")) {
		in->family = (uint16_t)family;
		in->model = (uint8_t)model;
		in->stepping = (uint8_t)stepping;
	}
	in->mtc_freq = (uint8_t)term_of(e, "format/mtc_period");
	in->nominal_ratio = (uint8_t)number_of(e, "max_nonturbo_ratio");
	if (ratio && sscanf(ratio, "%u:%u", &in->crystal_ebx, &in->crystal_eax) != 2)
		in->crystal_ebx = in->crystal_eax = 0;
}

/* ---- whose code it is ---- */

static bool fits(const struct area *a, uint32_t tid, uint64_t ns, uint64_t ip)
{
	return tid != NOBODY && code_cache_has(a->t->book, tid, ns, ip);
}

/* The trace's time of a switch may be slightly early or late. The address decides: the threads
 * mostly have code at different addresses. */
static void who(void *ctx, uint64_t ip, struct pt_flow_who *out)
{
	static const int ways[] = {1, -1};
	const struct area *a = ctx;
	const struct pt_threads *w = a->t->who;
	uint64_t ns = out->ns, from;
	uint32_t tid = pt_threads_at(w, a->a->f.ring, ns, 0, NULL), other;

	if (tid == NOBODY && a->a->tid >= 0)
		tid = (uint32_t)a->a->tid;
	if (ip && !fits(a, tid, ns, ip)) {
		for (size_t i = 0; i < 2; i++) {
			other = pt_threads_at(w, a->a->f.ring, ns, ways[i], &from);
			if (!fits(a, other, from > ns ? from : ns, ip))
				continue;
			tid = other;
			out->ns = from > ns ? from : ns;
			break;
		}
	}
	code_cache_who(a->t->book, tid, out->ns, out);
}

static bool find(void *ctx, const struct pt_flow_who *w, uint64_t address,
		 struct pt_flow_piece *out)
{
	const struct area *a = ctx;

	return a->book.find(a->book.ctx, w, address, out);
}

static void touch(void *ctx, const struct pt_flow_who *w, uint64_t address)
{
	const struct area *a = ctx;

	a->book.touch(a->book.ctx, w, address);
}

/* ---- areas ---- */

static int make_flow(struct area *a, struct err *err)
{
	struct pt_flow_input in = {.bytes = {a->bytes.p, a->bytes.len},
				   .part_bytes = PART_BYTES,
				   .max_steps = MAX_STEPS / a->t->nr,
				   .max_blocks = MAX_BLOCKS / a->t->nr};

	if (a->t->nr > MANY)
		in.part_bytes = PART_BYTES * MANY / a->t->nr;
	if (in.part_bytes < MIN_BYTES)
		in.part_bytes = MIN_BYTES;

	code_cache_source(a->t->book, &a->book);
	in.source = a->book;
	in.source.who = who;
	in.source.find = find;
	/* Only the owner of the cache uses the touched pages. */
	in.source.touch = a->t->opt.book ? touch : NULL;
	in.source.ctx = a;
	find_clock(&a->a->f, &in.clock);
	describe(a, &in);
	pt_flow_free(a->flow);
	a->flow = NULL;
	return pt_flow_new(&in, &a->flow, err);
}

/* Finds the last part that begins by from_ns. */
static bool find_begin(struct area *a)
{
	size_t nr = pt_flow_nr_parts(a->flow);
	bool early = false;
	uint64_t ns;

	a->next_part = 0;
	for (size_t i = nr; i-- > 0 && !early;) {
		ns = pt_flow_part_ns(a->flow, i);
		if (!ns)
			continue;
		a->pub.from_ns = ns;
		a->next_part = i;
		early = ns <= a->t->opt.from_ns;
	}
	return early;
}

/* Loads the area back to the wanted time. */
static int load_area(struct area *a, struct err *err)
{
	struct pt_trace *t = a->t;
	uint64_t max = t->opt.max_bytes ? t->opt.max_bytes : MAX_BYTES / t->nr;
	uint64_t bytes = t->opt.from_ns ? FIRST_BYTES : max;
	int rc;

	if (max > a->a->f.bytes)
		max = a->a->f.bytes;
	for (;; bytes *= 4) {
		bytes = bytes < max ? bytes : max;
		rc = aux_load(t->r, a->a, bytes, &a->bytes, err);
		a->pub.broken = rc == -EBADMSG || rc == -ENOTSUP;
		if (rc && !a->pub.broken)
			return rc;
		a->pub.used_bytes = a->bytes.len;
		rc = make_flow(a, err);
		if (rc || find_begin(a) || a->pub.broken || bytes >= max)
			return rc;
	}
}

static int open_area(struct area *a, struct err *err)
{
	const struct dump_area *d = a->a;
	struct pt_flow_clock clock;

	a->pub = (struct pt_trace_area){.channel = d->channel ? d->channel->name : "",
					.cpu = d->cpu,
					.tid = d->tid,
					.bytes = d->f.bytes,
					.stop_ns = d->f.stop_ns};
	a->over = true;
	if (!is_pt(d->event))
		return 0;
	a->pub.no_clock = !find_clock(&d->f, &clock);
	if (a->pub.no_clock || !d->f.bytes)
		return 0;
	a->over = false;
	return load_area(a, err);
}

static int compare_execs(const void *x, const void *y)
{
	const struct exec *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int list_execs(struct pt_trace *t)
{
	struct history_counts counts;
	struct history_comm c;
	int rc = 0;

	history_counts(t->history, &counts);
	for (size_t i = 0; i < counts.nr_comms && !rc; i++) {
		history_nth_comm(t->history, i, &c);
		if (c.exec)
			rc = buf_put(&t->execs, &(struct exec){c.ns, c.key}, sizeof(struct exec));
	}
	if (t->execs.len)
		qsort(t->execs.p, t->execs.len / sizeof(struct exec), sizeof(struct exec),
		      compare_execs);
	return rc;
}

static int list_areas(struct pt_trace *t, uint64_t *channels)
{
	t->areas = calloc(t->list.nr + 1, sizeof(*t->areas));
	if (!t->areas)
		return -ENOMEM;
	for (size_t i = 0; i < t->list.nr; i++) {
		const struct dump_area *d = &t->list.v[i];

		if (!is_pt(d->event) || t->nr == MAX_AREAS)
			continue;
		t->areas[t->nr++] = (struct area){.t = t, .a = d, .over = true};
		if (d->event->f.channel < 64)
			*channels |= 1ull << d->event->f.channel;
	}
	return 0;
}

int pt_trace_open(struct reader *r, const struct meta *m, const struct process_history *p,
		  const struct pt_trace_options *opt, struct pt_trace **out, struct err *err)
{
	struct pt_trace *t;
	uint64_t channels = 0;
	int rc;

	*out = NULL;
	if (!pt_trace_is_in(m))
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_sys(err, -ENOMEM, "Intel PT");
	*t = (struct pt_trace){.r = r, .m = m, .history = p, .opt = *opt};
	t->seen = MAP_INIT(struct seen);
	rc = aux_list_load(r, m, &t->list, err);
	if (!rc && (list_areas(t, &channels) || list_execs(t)))
		rc = err_sys(err, -ENOMEM, "Intel PT");
	if (!rc)
		rc = pt_threads_load(r, m, channels, &t->who, err);
	t->book = opt->book;
	if (!rc && !t->book)
		rc = code_cache_new(r, p, &(struct code_cache_options){0}, &t->book, err);
	for (size_t i = 0; i < t->nr && !rc; i++)
		rc = open_area(&t->areas[i], err);
	if (rc) {
		pt_trace_close(t);
		return rc;
	}
	*out = t;
	return 0;
}

void pt_trace_close(struct pt_trace *t)
{
	if (!t)
		return;
	thread_pool_free(t->ahead);
	for (size_t i = 0; i < t->nr; i++) {
		for (size_t k = 0; k < t->nr_ahead && t->areas[i].jobs; k++)
			pt_flow_steps_free(&t->areas[i].jobs[k].steps);
		free(t->areas[i].jobs);
		pt_flow_free(t->areas[i].flow);
		pt_flow_steps_free(&t->areas[i].steps);
		buf_free(&t->areas[i].bytes);
	}
	free(t->areas);
	if (t->book != t->opt.book)
		code_cache_free(t->book);
	pt_threads_free(t->who);
	aux_list_free(&t->list);
	buf_free(&t->execs);
	map_free(&t->seen);
	free(t);
}

size_t pt_trace_nr_areas(const struct pt_trace *t)
{
	return t->nr;
}

const struct pt_trace_area *pt_trace_area(const struct pt_trace *t, size_t i)
{
	return &t->areas[i].pub;
}

/* ---- ahead ---- */

/* Queues parts while there is room, except those after to_ns. */
static void put_ahead(struct area *a)
{
	struct pt_trace *t = a->t;
	size_t nr = pt_flow_nr_parts(a->flow);

	for (; a->next_ahead < nr && a->next_ahead - a->next_part < t->nr_ahead; a->next_ahead++) {
		struct pt_prefetch_job *job = &a->jobs[a->next_ahead % t->nr_ahead];

		if (t->opt.to_ns != UINT64_MAX &&
		    pt_flow_part_ns(a->flow, a->next_ahead) > t->opt.to_ns)
			break;
		if (pt_flow_part_at(a->flow, a->next_ahead + 1) -
			    pt_flow_part_at(a->flow, a->next_ahead) >
		    MAX_AHEAD_BYTES)
			continue;
		job->flow = a->flow;
		job->part = a->next_ahead;
		thread_pool_put(t->ahead, &job->job);
	}
}

static size_t nr_parts_left(const struct pt_trace *t)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		if (!t->areas[i].over)
			nr += pt_flow_nr_parts(t->areas[i].flow) - t->areas[i].next_part;
	return nr;
}

/* Starts decoding ahead. Not used for few parts; optional, so failures are ignored. */
static void start_ahead(struct pt_trace *t)
{
	unsigned nr = t->opt.nr_threads ? t->opt.nr_threads : pt_prefetch_helpers();
	size_t nr_parts = nr_parts_left(t);
	bool all = true;

	t->began = true;
	nr = nr_parts < nr ? (unsigned)nr_parts : nr;
	if (nr < 2)
		return;
	t->nr_ahead = PARTS_AHEAD * nr / t->nr;
	t->nr_ahead += !t->nr_ahead;
	for (size_t i = 0; i < t->nr && all; i++) {
		t->areas[i].jobs = calloc(t->nr_ahead, sizeof(*t->areas[i].jobs));
		t->areas[i].next_ahead = t->areas[i].next_part;
		all = t->areas[i].jobs;
	}
	if (!all || pt_prefetch_new(nr, &t->ahead))
		return;
	for (size_t i = 0; i < t->nr; i++)
		if (!t->areas[i].over)
			put_ahead(&t->areas[i]);
}

/* Gets the steps of the next part. 0, -ENOMEM. */
static int next_steps(struct area *a)
{
	struct pt_trace *t = a->t;
	struct pt_flow_steps empty = a->steps;
	struct pt_prefetch_job *job;
	int rc;

	if (!t->ahead)
		return pt_flow_part(a->flow, a->next_part++, &a->steps);
	job = &a->jobs[a->next_part % t->nr_ahead];
	if (thread_pool_take(t->ahead, &job->job)) {
		a->steps = job->steps;
		job->steps = empty;
		rc = job->rc;
	} else {
		rc = pt_flow_part(a->flow, a->next_part, &a->steps);
	}
	a->next_part++;
	if (a->next_ahead < a->next_part)
		a->next_ahead = a->next_part;
	put_ahead(a);
	return rc;
}

/* ---- steps ---- */

/* Decodes parts until there is a step. */
static int fill(struct area *a, struct err *err)
{
	while (!a->over && a->at == a->steps.nr) {
		if (a->next_part >= pt_flow_nr_parts(a->flow)) {
			a->over = true;
			break;
		}
		a->at = 0;
		if (next_steps(a))
			return err_sys(err, -ENOMEM, "decoding Intel PT");
	}
	if (!a->over && a->steps.v[a->at].time_ns > a->t->opt.to_ns)
		a->over = true;
	return 0;
}

/* Chooses the area with the next step, and until when it stays the next. */
static int choose(struct pt_trace *t, struct err *err)
{
	uint64_t first = UINT64_MAX, second = UINT64_MAX;
	int rc = 0;

	t->now = NULL;
	for (size_t i = 0; i < t->nr && !rc; i++) {
		struct area *a = &t->areas[i];
		uint64_t ns;

		rc = fill(a, err);
		if (rc || a->over)
			continue;
		ns = a->steps.v[a->at].time_ns;
		if (!t->now || ns < first) {
			second = t->now ? first : second;
			first = ns;
			t->now = a;
		} else if (ns < second) {
			second = ns;
		}
	}
	t->limit_ns = second;
	return rc;
}

static bool has_from(const struct pt_flow_step *s)
{
	return s->kind == PT_FLOW_CALL || s->kind == PT_FLOW_RETURN || s->kind == PT_FLOW_OFF;
}

/* The time of the last exec of the thread's process. */
static uint64_t exec_before(const struct pt_trace *t, uint32_t tid, uint64_t ns)
{
	const struct exec *v = (const struct exec *)t->execs.p;
	size_t nr = t->execs.len / sizeof(*v), until;
	struct pt_flow_who w = {0};

	if (!nr || tid == NOBODY)
		return 0;
	code_cache_who(t->book, tid, ns, &w);
	until = array_bisect(i, nr, v[i].key < w.key || (v[i].key == w.key && v[i].ns <= ns));
	return until && v[until - 1].key == w.key ? v[until - 1].ns : 0;
}

static void note_exec(struct pt_trace *t, struct pt_trace_step *s)
{
	struct seen *seen = map_row(&t->seen, s->tid);

	if (!seen)
		return;
	if (s->kind == PT_FLOW_ON && seen->ns)
		s->anew = exec_before(t, s->tid, s->ns) > seen->ns;
	seen->ns = s->ns;
}

static void make_step(struct pt_trace *t, struct area *a, struct pt_trace_step *out)
{
	const struct pt_flow_step *s = &a->steps.v[a->at++];

	*out = (struct pt_trace_step){.ns = s->time_ns,
				      .from = s->from,
				      .to = s->to,
				      .tid = s->tid,
				      .area = (uint32_t)(a - t->areas),
				      .cpu = a->a->cpu,
				      .kind = (uint8_t)s->kind};
	if (a->at < a->steps.nr && has_from(s + 1) && s[1].tid == s->tid)
		out->at = s[1].from;
	if (s->kind == PT_FLOW_ON || s->kind == PT_FLOW_OFF)
		note_exec(t, out);
}

int pt_trace_next(struct pt_trace *t, struct pt_trace_step *out, struct err *err)
{
	struct area *a = t->now;
	int rc = 0;

	if (!t->began)
		start_ahead(t);
	if (!a || a->at == a->steps.nr || a->steps.v[a->at].time_ns > t->limit_ns)
		rc = choose(t, err);
	a = t->now;
	if (rc || !a)
		return rc;
	if (a->steps.v[a->at].time_ns > t->opt.to_ns) {
		a->over = true;
		t->now = NULL;
		return pt_trace_next(t, out, err);
	}
	make_step(t, a, out);
	return 1;
}

/* ---- backwards ---- */

struct backwards {
	struct area *a;
	int (*each)(void *ctx, size_t area, const struct pt_flow_steps *s);
	void *ctx;
};

static int hand_on(void *ctx, size_t part, const struct pt_flow_steps *s)
{
	struct backwards *b = ctx;

	return b->each(b->ctx, (size_t)(b->a - b->a->t->areas), s);
}

int pt_trace_backwards(struct pt_trace *t, size_t area, unsigned nr_threads,
		       int (*each)(void *ctx, size_t area, const struct pt_flow_steps *s),
		       void *ctx, struct err *err)
{
	struct backwards b = {&t->areas[area], each, ctx};

	if (b.a->over || !b.a->flow)
		return 0;
	return pt_flow_backwards(b.a->flow, nr_threads, hand_on, &b, err);
}
