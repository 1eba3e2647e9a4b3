// SPDX-License-Identifier: MIT
/* CPU time: how busy each CPU was, and the threads with most CPU time. Threads of one name are one
 * row if each used little, or if there are many (such as the jobs of a compile). */
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 10
#define MAX_CPUS 8 /* that are listed one by one */
/* A thread below this part of one CPU is combined with others of its name. */
#define SMALL_PART 20
/* With this many threads of a name above 1/100 of a CPU, these are combined, too; never a thread
 * with half a CPU. */
#define MANY 4

struct cpu_row {
	uint64_t run_ns, nr_runs;
	uint32_t thread; /* of several: the one with most CPU time */
	uint32_t nr;
	uint64_t most_ns;
};

struct thread_group {
	uint64_t key; /* interned name */
	struct cpu_row row;
	uint32_t nr_large;
};

static int open_cpu(struct report *rp, void **state)
{
	if (schedule_has_switches(rp->a.sched) || rp->tick)
		*state = rp;
	return 0;
}

static uint64_t busy_ns(const struct report *rp, size_t cpu)
{
	uint64_t sum = 0;

	for (size_t i = schedule_run_after(rp->a.sched, cpu, rp->window.from_ns);
	     i < schedule_nr_runs(rp->a.sched, cpu); i++) {
		const struct span *s = schedule_run(rp->a.sched, cpu, i);

		if (s->from_ns >= rp->window.to_ns)
			break;
		sum += s->thread ? report_overlap(s, &rp->window) : 0;
	}
	return sum;
}

static void put_cpus(struct report *rp)
{
	uint64_t window = rp->window.to_ns - rp->window.from_ns, all = 0, most = 0;
	size_t nr = schedule_nr_cpus(rp->a.sched), busiest = 0, n = 0;
	char line[512];

	for (size_t i = 0; i < nr; i++) {
		uint64_t ns = busy_ns(rp, i);

		if (ns > most) {
			most = ns;
			busiest = i;
		}
		all += ns;
		if (nr <= MAX_CPUS)
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%sCPU %zu %.0f%%",
					      i ? ", " : "busy: ", i,
					      100.0 * (double)ns / (double)window);
	}
	if (nr > MAX_CPUS)
		snprintf(line, sizeof(line),
			 "busy: %zu CPUs %.0f%% each, most of all CPU %zu %.0f%%", nr,
			 100.0 * (double)all / (double)window / (double)nr, busiest,
			 100.0 * (double)most / (double)window);
	page_wrap(&rp->page, 2, line);
}

static int by_time(const void *a, const void *b)
{
	const struct cpu_row *x = a, *y = b;

	if (x->run_ns != y->run_ns)
		return x->run_ns > y->run_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int list_rows(struct report *rp, struct buf *rows)
{
	uint64_t window = rp->window.to_ns - rp->window.from_ns;
	struct map groups = MAP_INIT(struct thread_group);
	struct thread_group *g;
	int rc = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++) {
		if (rp->totals[i].run_ns <= window / 100 || !rp->asked[i])
			continue;
		g = map_row(&groups, (uintptr_t)report_comm(rp, i));
		if (g)
			g->nr_large++;
	}
	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched) && !rc; i++) {
		const struct report_totals *t = &rp->totals[i];
		struct cpu_row one = {t->run_ns, t->nr_runs, i, 1, t->run_ns};

		if (!t->run_ns || !rp->asked[i])
			continue;
		g = map_row(&groups, (uintptr_t)report_comm(rp, i));
		if (!g || t->run_ns >= window / 2 || rp->filtered ||
		    (t->run_ns >= window / SMALL_PART && g->nr_large < MANY)) {
			rc = buf_put(rows, &one, sizeof(one));
			continue;
		}
		g->row.run_ns += t->run_ns;
		g->row.nr_runs += t->nr_runs;
		g->row.nr++;
		if (t->run_ns > g->row.most_ns) {
			g->row.most_ns = t->run_ns;
			g->row.thread = i;
		}
	}
	for (size_t i = 0; i < map_nr(&groups) && !rc; i++) {
		g = map_nth(&groups, i);
		if (g->row.nr)
			rc = buf_put(rows, &g->row, sizeof(g->row));
	}
	map_free(&groups);
	if (rows->len)
		qsort(rows->p, rows->len / sizeof(struct cpu_row), sizeof(struct cpu_row), by_time);
	return rc;
}

/* A function with samples, or a stack if the function has no name. */
struct leaf {
	uint64_t key, nr;
	uint32_t chain; /* an example that ends there */
};

static int most_first(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	return x->nr != y->nr ? (x->nr > y->nr ? -1 : 1) : x->chain < y->chain ? -1 : 1;
}

/* The function with most samples of a row's threads. */
static void put_mostly(struct report *rp, const struct cpu_row *row, unsigned width)
{
	const char *comm = report_comm(rp, row->thread);
	struct map leaves = MAP_INIT(struct leaf);
	char name[256] = "", buf[200];
	struct leaf *l;
	uint64_t nr = 0;

	for (size_t i = 0; i < schedule_nr_samples(rp->a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(rp->a.sched, i);
		struct chain c;

		if (s->ns < rp->window.from_ns || s->ns >= rp->window.to_ns || !s->chain ||
		    (row->nr == 1 ? s->thread != row->thread : report_comm(rp, s->thread) != comm))
			continue;
		c = call_chains_get(rp->a.chains, s->chain);
		/* By function, or by stack if it has no name. */
		l = map_row(&leaves, c.nr && c.frames[0].function ? (uintptr_t)c.frames[0].function
								  : s->chain);
		if (!l)
			continue;
		if (!l->nr++)
			l->chain = s->chain;
		nr++;
	}
	map_sort(&leaves, most_first);
	if (map_nr(&leaves)) {
		l = map_nth(&leaves, 0);
		snprintf(name, sizeof(name), "%s %.0f%%",
			 report_leaf(rp, l->chain, buf, sizeof(buf)),
			 100.0 * (double)l->nr / (double)nr);
	}
	if (*name) {
		text_str(rp->page.t, "  ");
		page_last(&rp->page, name, width);
	}
	map_free(&leaves);
}

static void put_row(struct report *rp, const struct cpu_row *row, unsigned bar)
{
	uint64_t window = rp->window.to_ns - rp->window.from_ns;
	struct page *p = &rp->page;
	unsigned rest = p->width - (2 + 24 + 7 + 1 + bar + 9 + 9 + 2);
	char many[24];

	text_str(p->t, "  ");
	if (row->nr == 1) {
		report_who(rp, row->thread);
	} else {
		snprintf(many, sizeof(many), "%u threads", row->nr);
		page_left(p, report_comm(rp, row->thread), 12);
		page_right(p, many, 12);
	}
	page_color(p, PAGE_BOLD);
	page_part(p, row->run_ns, window, 7);
	page_end_color(p);
	text_char(p->t, ' ');
	page_bar(p, row->run_ns, window, bar);
	page_time(p, row->run_ns, 9);
	if (row->nr_runs)
		page_count(p, row->nr_runs, 9);
	else
		page_right(p, "-", 9);
	put_mostly(rp, row, rest);
	text_char(p->t, '\n');
}

static void put_heading(struct report *rp, unsigned bar)
{
	struct page *p = &rp->page;

	page_color(p, PAGE_DIM);
	text_str(p->t, "  thread               tid  of CPU ");
	text_fill(p->t, ' ', (int)bar);
	text_str(p->t, "   on CPU     runs");
	text_str(p->t, rp->tick ? "  mostly in\n" : "\n");
	page_end_color(p);
}

static void print_cpu(struct report *rp, void *state)
{
	unsigned bar = (rp->page.width - 60) / 4;
	struct buf rows = {0};
	char window[64], time[32];
	uint64_t rest = 0;
	size_t nr, shown;

	bar = bar < 5 ? 5 : bar > 20 ? 20 : bar;
	page_title(&rp->page, "WHAT RAN",
		   report_fmt_window(rp, window, sizeof(window), &rp->window));
	if (rp->window.from_ns == rp->window.to_ns)
		return;
	if (schedule_lacks_cpus(rp->a.sched))
		page_line(&rp->page, 2, "recorded CPUs only");
	else if (schedule_is_partial(rp->a.sched))
		page_line(&rp->page, 2, "recorded threads only");
	else if (schedule_has_switches(rp->a.sched))
		put_cpus(rp);
	list_rows(rp, &rows);
	nr = rows.len / sizeof(struct cpu_row);
	if (nr)
		put_heading(rp, bar);
	for (shown = 0; shown < nr && shown < MAX_ROWS; shown++)
		put_row(rp, (struct cpu_row *)rows.p + shown, bar);
	for (size_t i = shown; i < nr; i++)
		rest += ((struct cpu_row *)rows.p + i)->run_ns;
	if (rest)
		page_line(&rp->page, 2, "and %zu more, together %s", nr - shown,
			  page_fmt_time(time, sizeof(time), rest));
	if (!nr)
		page_line(&rp->page, 2, "nothing");
	buf_free(&rows);
}

const struct report_section report_cpu = {
	.what = "CPU time by thread",
	.how = "--preset sched",
	.open = open_cpu,
	.print = print_cpu,
};
