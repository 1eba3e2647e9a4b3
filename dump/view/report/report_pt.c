// SPDX-License-Identifier: MIT
/* Functions that ran just before the trigger according to Intel PT, with their own and total time,
 * and the last calls on each CPU. If nothing ran in the last 10 ms, looks further back. */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_spans.h"
#include "dump/view/pt/pt_trace.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 10
#define MAX_THREADS   5
#define MAX_LASTS     3	 /* CPUs or threads whose last calls are printed */
#define NR_LAST	      12 /* calls of each */
#define MAX_LEVELS    12
#define NAME	      200

/* Times before the trigger, tried in turn until something ran. */
static const uint64_t windows_ns[] = {10000000, 100000000, 1000000000, 10000000000, UINT64_MAX};

#define NR_WINDOWS (sizeof(windows_ns) / sizeof(windows_ns[0]))

struct pt_function {
	uint64_t key;
	uint64_t self_ns, total_ns, longest_ns, nr;
	uint64_t address, ns; /* a call of it, to look up the name */
	uint32_t tid;
};

struct pt_run {
	uint64_t key; /* tid */
	uint64_t ns, nr;
	uint64_t called_ns; /* its last call, for its name: another thread may get the tid later */
	int32_t cpu;
};

/* One of the last calls. */
struct last {
	uint64_t at_ns, ns, address;
	uint32_t tid;
	int32_t depth;
	bool open, out; /* has not returned; is in the kernel */
};

struct pt_last_steps {
	struct last v[NR_LAST];
	uint64_t nr; /* calls seen; the last are in v[i % NR_LAST] */
};

/* A call that was open at the end. */
struct open_call {
	uint64_t ns, address;
	uint32_t tid;
};

struct pt {
	struct report *rp;
	struct report_window window;
	struct pt_names *names;
	struct map functions, threads;
	struct buf open; /* struct open_call[], innermost first */
	struct pt_last_steps *areas;
	bool ending;
	uint64_t nr_lost;
};

static int open_pt(struct report *rp, void **state)
{
	if (pt_trace_is_in(rp->a.m))
		*state = rp;
	return 0;
}

/* ---- collecting ---- */

static uint64_t clipped(const struct pt *p, uint64_t from, uint64_t to)
{
	from = from > p->window.from_ns ? from : p->window.from_ns;
	to = to < p->window.to_ns ? to : p->window.to_ns;
	return to > from ? to - from : 0;
}

static bool wanted(const struct pt *p, uint32_t tid, uint64_t ns)
{
	struct timeline_record rec = {.tid = tid, .time_ns = ns};

	return ns >= p->window.from_ns && ns <= p->window.to_ns && report_wanted(p->rp, &rec);
}

static int count_thread(struct pt *p, const struct pt_spans_call *c, uint64_t self_ns)
{
	struct pt_run *t = map_row(&p->threads, c->tid);

	if (!t)
		return -ENOMEM;
	t->ns += self_ns;
	t->nr++;
	if (c->from_ns > t->called_ns)
		t->called_ns = c->from_ns;
	t->cpu = c->cpu >= 0 ? c->cpu : t->cpu;
	return 0;
}

static int take_call(void *ctx, const struct pt_spans_call *c)
{
	struct pt *p = ctx;
	uint64_t ns = clipped(p, c->from_ns, c->to_ns), self_ns = c->self_ns;
	uint64_t at = c->to_ns < p->window.to_ns ? c->to_ns : p->window.to_ns;
	const struct open_call open = {at, c->address, c->tid};
	struct pt_function *f;

	if (!wanted(p, c->tid, at))
		return 0;
	if (p->ending && buf_put(&p->open, &open, sizeof(open)))
		return -ENOMEM;
	self_ns = self_ns < ns ? self_ns : ns;
	f = map_row(&p->functions, c->id ? c->id : c->address);
	if (!f || count_thread(p, c, self_ns))
		return -ENOMEM;
	if (!f->nr++) {
		f->address = c->address;
		f->tid = c->tid;
		f->ns = at;
	}
	f->self_ns += self_ns;
	f->total_ns += c->flags & PT_SPANS_AGAIN ? 0 : ns;
	f->longest_ns = ns > f->longest_ns ? ns : f->longest_ns;
	return 0;
}

/* Notes the last calls of an area. */
static void note_last(struct pt *p, const struct pt_trace_step *s, const struct pt_spans_event *e)
{
	struct pt_last_steps *a = &p->areas[s->area];
	uint64_t nr = a->nr < NR_LAST ? a->nr : NR_LAST;

	if (e->what == PT_SPANS_CALL) {
		a->v[a->nr++ % NR_LAST] = (struct last){.at_ns = s->ns,
							.address = e->address,
							.tid = s->tid,
							.depth = e->depth,
							.open = true};
		return;
	}
	if (e->what != PT_SPANS_RETURN && e->what != PT_SPANS_OUT && e->what != PT_SPANS_BACK)
		return;
	for (uint64_t i = 0; i < nr; i++) {
		struct last *l = &a->v[(a->nr - 1 - i) % NR_LAST];

		if (l->tid != s->tid || l->depth != e->depth || !l->open)
			continue;
		l->out = e->what == PT_SPANS_OUT;
		if (e->what == PT_SPANS_RETURN) {
			l->open = false;
			l->ns = s->ns - l->at_ns;
		}
		break;
	}
}

static int go_through(struct pt *p, struct pt_trace *t, bool *any, struct err *err)
{
	struct pt_trace_step s;
	struct pt_spans_event e;
	struct pt_spans *spans;
	uint64_t end = 0;
	int rc;

	if (pt_spans_new(p->names, take_call, p, &spans))
		return err_sys(err, -ENOMEM, "Intel PT");
	while ((rc = pt_trace_next(t, &s, err)) > 0) {
		rc = pt_spans_step(spans, &s, &e);
		if (rc)
			break;
		end = s.ns;
		if (!wanted(p, s.tid, s.ns))
			continue;
		*any = true;
		p->nr_lost += e.what == PT_SPANS_LOST;
		note_last(p, &s, &e);
	}
	p->ending = true;
	rc = rc ? rc : pt_spans_end(spans, end);
	pt_spans_free(spans);
	return rc;
}

/* ---- printing ---- */

static const char *name_of(struct pt *p, uint32_t tid, uint64_t ns, uint64_t address, char *buf)
{
	struct text t = TEXT_INIT(NULL);
	size_t n;

	pt_names_put(pt_names_get(p->names, tid, ns, address), address, &t);
	n = t.b.len < NAME - 1 ? t.b.len : NAME - 1;
	if (n)
		memcpy(buf, t.b.p, n);
	buf[n] = '\0';
	text_free(&t);
	return buf;
}

static int by_self(const void *a, const void *b)
{
	const struct pt_function *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int by_time(const void *a, const void *b)
{
	const struct pt_run *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_threads(struct pt *p)
{
	uint64_t window = p->window.to_ns - p->window.from_ns;
	struct page *page = &p->rp->page;
	size_t nr = map_nr(&p->threads);

	page_color(page, PAGE_DIM);
	text_str(page->t, "  thread               tid  CPU   traced  of CPU      calls\n");
	page_end_color(page);
	map_sort(&p->threads, by_time);
	for (size_t i = 0; i < nr && i < MAX_THREADS; i++) {
		const struct pt_run *r = map_nth(&p->threads, i);
		uint32_t tid = (uint32_t)r->key;

		text_str(page->t, "  ");
		report_tid(p->rp, report_comm_of(p->rp, tid, r->called_ns), tid);
		if (r->cpu >= 0)
			page_count(page, (uint64_t)r->cpu, 5);
		else
			page_right(page, "-", 5);
		page_time(page, r->ns, 9);
		page_part(page, r->ns, window, 8);
		page_count(page, r->nr, 11);
		text_char(page->t, '\n');
	}
	if (nr > MAX_THREADS)
		page_line(page, 2, "and %zu more", nr - MAX_THREADS);
}

static void put_functions(struct pt *p)
{
	struct page *page = &p->rp->page;
	unsigned wide = page->width - 46;
	size_t nr = map_nr(&p->functions);
	uint64_t all = 0;
	char name[NAME];

	for (size_t i = 0; i < nr; i++)
		all += ((struct pt_function *)map_nth(&p->functions, i))->self_ns;
	map_sort(&p->functions, by_self);
	page_color(page, PAGE_DIM);
	text_str(page->t, "\n  ");
	page_left(page, "function", wide);
	text_str(page->t, "     self  of all    total    calls  longest\n");
	page_end_color(page);
	for (size_t i = 0; i < nr && i < MAX_FUNCTIONS; i++) {
		const struct pt_function *f = map_nth(&p->functions, i);

		text_str(page->t, "  ");
		page_left(page, name_of(p, f->tid, f->ns, f->address, name), wide);
		page_time(page, f->self_ns, 9);
		page_color(page, PAGE_BOLD);
		page_part(page, f->self_ns, all, 8);
		page_end_color(page);
		page_time(page, f->total_ns, 9);
		page_count(page, f->nr, 9);
		page_time(page, f->longest_ns, 9);
		text_char(page->t, '\n');
	}
	if (nr > MAX_FUNCTIONS)
		page_line(page, 2, "and %zu more function%s", nr - MAX_FUNCTIONS,
			  str_plural(nr - MAX_FUNCTIONS));
	page_color(page, PAGE_DIM);
	page_line(page, 2,
		  "self: its own instructions; total: until it returned, waiting included");
	page_end_color(page);
}

/* The stack of the thread at the end, outermost function first. */
static void put_stack(struct pt *p, uint32_t tid)
{
	const struct open_call *v = (const struct open_call *)p->open.p;
	char(*names)[REPORT_FRAME] = calloc(REPORT_MAX_PATH, REPORT_FRAME);
	char path[512], name[NAME];
	size_t nr = 0;

	for (size_t i = p->open.len / sizeof(*v); names && i-- > 0 && nr < REPORT_MAX_PATH;)
		if (v[i].tid == tid)
			snprintf(names[nr++], REPORT_FRAME, "%.*s", REPORT_FRAME - 1,
				 name_of(p, tid, v[i].ns, v[i].address, name));
	if (nr) {
		report_join(names, nr, p->rp->page.width - 12, path, sizeof(path));
		page_line(&p->rp->page, 4, "in: %s", path);
	}
	free(names);
}

static void put_last(struct pt *p, const struct last *l, int32_t outermost)
{
	struct page *page = &p->rp->page;
	int32_t levels = l->depth - outermost;
	char at[32], name[NAME];
	unsigned indent;

	levels = levels > MAX_LEVELS ? MAX_LEVELS : levels;
	indent = 2 * (unsigned)levels;
	text_str(page->t, "  ");
	page_right(page, page_fmt_moment(at, sizeof(at), l->at_ns, p->rp->a.m->trigger.hit_ns), 10);
	page_color(page, l->open ? PAGE_WARM : PAGE_PLAIN);
	if (l->open)
		page_right(page, l->out ? "in kernel" : "open", 10);
	else if (l->ns)
		page_time(page, l->ns, 10);
	else
		page_right(page, "-", 10); /* the trace's clock did not advance */
	page_end_color(page);
	text_fill(page->t, ' ', (int)indent + 2);
	page_last(page, name_of(p, l->tid, l->at_ns, l->address, name), page->width - 24 - indent);
	text_char(page->t, '\n');
}

static void put_lasts(struct pt *p, const struct pt_trace_area *of, const struct pt_last_steps *a)
{
	uint64_t nr = a->nr < NR_LAST ? a->nr : NR_LAST;
	const struct last *newest = &a->v[(a->nr - 1) % NR_LAST];
	char who[64], safe[32];
	int32_t outermost = INT32_MAX;
	const char *comm = report_comm_of(p->rp, newest->tid, newest->at_ns);

	page_color(&p->rp->page, PAGE_DIM);
	if (of->cpu >= 0)
		snprintf(who, sizeof(who), "on CPU %d, ", of->cpu);
	else
		*who = '\0';
	str_safe(safe, sizeof(safe), comm ? comm : "", comm ? strlen(comm) : 0);
	text_str(p->rp->page.t, "\n");
	page_line(&p->rp->page, 2, "the last calls %sof %s %u", who, safe, newest->tid);
	page_line(&p->rp->page, 2, "%10s%10s  function", "at", "took");
	page_end_color(&p->rp->page);
	for (uint64_t i = 0; i < nr; i++) {
		const struct last *l = &a->v[(a->nr - nr + i) % NR_LAST];

		if (l->tid == newest->tid && l->depth < outermost)
			outermost = l->depth;
	}
	for (uint64_t i = 0; i < nr; i++) {
		const struct last *l = &a->v[(a->nr - nr + i) % NR_LAST];

		if (l->tid == newest->tid)
			put_last(p, l, outermost);
	}
	put_stack(p, newest->tid);
}

/* The areas with the newest last calls. */
static void put_newest(struct pt *p, const struct pt_trace *t)
{
	bool done[MAX_LASTS * 64] = {0};
	size_t nr = pt_trace_nr_areas(t);

	nr = nr < sizeof(done) ? nr : sizeof(done);
	for (int n = 0; n < MAX_LASTS; n++) {
		size_t best = nr;

		for (size_t i = 0; i < nr; i++) {
			const struct pt_last_steps *a = &p->areas[i],
						   *b = &p->areas[best < nr ? best : i];

			if (!a->nr || done[i])
				continue;
			if (best == nr ||
			    a->v[(a->nr - 1) % NR_LAST].at_ns > b->v[(b->nr - 1) % NR_LAST].at_ns)
				best = i;
		}
		if (best == nr)
			break;
		done[best] = true;
		put_lasts(p, pt_trace_area(t, best), &p->areas[best]);
	}
}

static void put_troubles(struct pt *p, const struct pt_trace *t)
{
	size_t nr_unclocked = 0, nr_broken = 0;

	for (size_t i = 0; i < pt_trace_nr_areas(t); i++) {
		nr_unclocked += pt_trace_area(t, i)->no_clock;
		nr_broken += pt_trace_area(t, i)->broken;
	}
	page_color(&p->rp->page, PAGE_BAD);
	if (p->nr_lost)
		page_line(&p->rp->page, 2, "%llu gap%s: overflows, or code that is not known here",
			  (unsigned long long)p->nr_lost, str_plural(p->nr_lost));
	if (nr_unclocked)
		page_line(&p->rp->page, 2, "%zu area%s of no use: the clock is not known",
			  nr_unclocked, str_plural(nr_unclocked));
	if (nr_broken)
		page_line(&p->rp->page, 2, "%zu area%s damaged: what is newer is shown", nr_broken,
			  str_plural(nr_broken));
	page_end_color(&p->rp->page);
}

/* False: nothing was traced in this time. */
static bool print_window(struct pt *p, uint64_t back_ns, bool last, struct err *err)
{
	const struct report_options *o = p->rp->opt;
	uint64_t hit = p->rp->a.m->trigger.hit_ns;
	struct pt_trace_options opt = {.from_ns = o->from_ns, .to_ns = o->to_ns};
	struct pt_trace *t = NULL;
	bool any = false;
	char window[64];
	int rc;

	if (!opt.from_ns && opt.to_ns == UINT64_MAX)
		opt.from_ns = back_ns < hit ? hit - back_ns : 1;
	p->window.from_ns = opt.from_ns;
	p->window.to_ns = opt.to_ns != UINT64_MAX ? opt.to_ns : p->rp->a.m->trigger.freeze_ns;
	rc = pt_trace_open(p->rp->a.r, p->rp->a.m, p->rp->a.history, &opt, &t, err);
	if (!rc && t) {
		p->areas = calloc(pt_trace_nr_areas(t) + 1, sizeof(*p->areas));
		rc = p->areas ? go_through(p, t, &any, err) : -ENOMEM;
	}
	for (size_t i = 0; t && back_ns == UINT64_MAX && i < pt_trace_nr_areas(t); i++)
		if (!i || pt_trace_area(t, i)->from_ns < p->window.from_ns)
			p->window.from_ns = pt_trace_area(t, i)->from_ns;
	if (any || last || rc) {
		page_title(&p->rp->page, "CALL BY CALL: what Intel PT saw",
			   report_fmt_window(p->rp, window, sizeof(window), &p->window));
		if (rc)
			page_line(&p->rp->page, 2, "it can't be told: %s",
				  err->what[0] ? err->what : "out of memory");
		else if (any)
			put_threads(p), put_functions(p), put_newest(p, t);
		else
			page_line(&p->rp->page, 2, "nothing ran, or nothing could be decoded");
		if (t)
			put_troubles(p, t);
	}
	free(p->areas);
	p->areas = NULL;
	pt_trace_close(t);
	return any || rc;
}

static void print_pt(struct report *rp, void *state)
{
	bool asked = rp->opt->from_ns || rp->opt->to_ns != UINT64_MAX, done = false;
	struct pt p = {.rp = rp};
	struct err err = ERR_INIT;

	if (pt_names_new(rp->a.history, rp->a.symbols, &p.names))
		return;
	for (size_t i = 0; i < NR_WINDOWS && !done; i++) {
		p.functions = MAP_INIT(struct pt_function);
		p.threads = MAP_INIT(struct pt_run);
		p.ending = false;
		p.nr_lost = 0;
		p.open.len = 0;
		done = print_window(&p, windows_ns[i], asked || i + 1 == NR_WINDOWS, &err) || asked;
		map_free(&p.functions);
		map_free(&p.threads);
	}
	buf_free(&p.open);
	pt_names_free(p.names);
}

const struct report_section report_pt = {
	.what = "call by call",
	.open = open_pt,
	.print = print_pt,
};
