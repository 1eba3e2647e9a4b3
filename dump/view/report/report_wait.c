// SPDX-License-Identifier: MIT
/* Runnable threads that waited for a CPU: how long, and what ran instead. */
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8
#define MAX_RAN	 3
/* Minimum of single waits and of sums to be shown. */
#define LONG_NS	  1000000
#define LONG_PART 100
/* Minimum width for a column with the share of the window. */
#define WIDE 100

struct ran_instead {
	uint64_t key; /* interned name; RAN_NOBODY, RAN_OTHERS */
	uint64_t ns;
};

#define RAN_NOBODY 0
#define RAN_OTHERS 1 /* threads that were not recorded */

static int open_wait(struct report *rp, void **state)
{
	if (schedule_has_switches(rp->a.sched))
		*state = rp;
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const struct ran_instead *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* Adds what ran on a CPU during a wait. */
static void add_ran(struct report *rp, struct map *ran, const struct span *wait)
{
	size_t cpu = (size_t)wait->cpu;

	if (wait->cpu < 0 || cpu >= schedule_nr_cpus(rp->a.sched))
		return;
	for (size_t i = schedule_run_after(rp->a.sched, cpu, wait->from_ns);
	     i < schedule_nr_runs(rp->a.sched, cpu); i++) {
		const struct span *s = schedule_run(rp->a.sched, cpu, i);
		struct report_window w = {wait->from_ns, wait->to_ns};
		struct ran_instead *r;

		if (s->from_ns >= wait->to_ns)
			break;
		if (s->thread == wait->thread)
			continue;
		r = map_row(ran, s->thread ? (uintptr_t)report_comm(rp, s->thread) : 0);
		if (r)
			r->ns += report_overlap(s, &w);
	}
}

static void put_ran(struct report *rp, uint32_t thread, unsigned width)
{
	const struct schedule_thread *t = schedule_thread(rp->a.sched, thread);
	struct map ran = MAP_INIT(struct ran_instead);
	char line[256] = "", name[64];
	uint64_t sum = 0, waited = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(rp->a.sched, t->first + i);

		if (s->state != SPAN_READY || !report_overlap(s, &rp->window))
			continue;
		add_ran(rp, &ran, s);
		waited += s->to_ns - s->from_ns;
	}
	for (size_t i = 0; i < map_nr(&ran); i++)
		sum += ((struct ran_instead *)map_nth(&ran, i))->ns;
	if (schedule_is_partial(rp->a.sched) && waited > sum) {
		struct ran_instead *others = map_row(&ran, RAN_OTHERS);

		if (others)
			others->ns = waited - sum;
		sum = waited;
	}
	map_sort(&ran, most_first);
	for (size_t i = 0; i < map_nr(&ran) && i < MAX_RAN; i++) {
		const struct ran_instead *r = map_nth(&ran, i);
		const char *who = r->key == RAN_NOBODY	 ? "idle"
				  : r->key == RAN_OTHERS ? "threads not recorded"
							 : (const char *)(uintptr_t)r->key;
		size_t more;

		snprintf(name, sizeof(name), "%s%s %.0f%%", n ? ", " : "", who,
			 sum ? 100.0 * (double)r->ns / (double)sum : 0);
		more = strlen(name);
		if (r->ns * 20 < sum || (n && n + more > width) || n + more >= sizeof(line))
			break;
		memcpy(line + n, name, more + 1);
		n += more;
	}
	page_last(&rp->page, line, width);
	map_free(&ran);
}

struct wait_row {
	uint32_t thread;
	uint64_t ns;
};

static int longest_first(const void *a, const void *b)
{
	const struct wait_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->thread < y->thread ? -1 : 1;
}

static void put_row(struct report *rp, uint32_t thread)
{
	const struct report_totals *t = &rp->totals[thread];
	uint64_t window = rp->window.to_ns - rp->window.from_ns;
	struct page *p = &rp->page;
	char at[32];

	text_str(p->t, "  ");
	report_who(rp, thread);
	page_time(p, t->ready_ns, 9);
	if (p->width >= WIDE)
		page_part(p, t->ready_ns, window, 7);
	page_color(p, t->worst_ready_ns >= 10 * LONG_NS ? PAGE_WARM : PAGE_PLAIN);
	page_time(p, t->worst_ready_ns, 9);
	page_end_color(p);
	page_right(p,
		   page_fmt_moment(at, sizeof(at), report_from(rp, t->worst_ready),
				   rp->a.m->trigger.hit_ns),
		   10);
	text_str(p->t, "  ");
	put_ran(rp, thread, p->width - (p->width >= WIDE ? 63 : 56));
	text_char(p->t, '\n');
}

/* Time that the numbers above do not include. */
static void put_unknown(struct report *rp)
{
	uint64_t ns = 0;
	size_t nr = 0;
	char time[32];

	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++)
		if (rp->asked[i] && rp->totals[i].unknown_ns) {
			ns += rp->totals[i].unknown_ns;
			nr++;
		}
	if (schedule_is_partial(rp->a.sched))
		page_wrap(
			&rp->page, 2,
			"only waits after preemption; waits after a sleep are unknown because "
			"wake-ups by threads outside the target are not recorded (record with -a)");
	if (ns)
		page_line(&rp->page, 2, "unknown: %s of %zu thread%s, whose switches are missing",
			  page_fmt_time(time, sizeof(time), ns), nr, nr == 1 ? "" : "s");
}

static void print_wait(struct report *rp, void *state)
{
	uint64_t window = rp->window.to_ns - rp->window.from_ns, all = 0, worst = 0;
	size_t nr_threads = schedule_nr_threads(rp->a.sched), nr = 0;
	struct wait_row *rows;
	char sum[32], most[32], right[96];

	if (schedule_lacks_cpus(rp->a.sched)) {
		page_title(&rp->page, "RUN QUEUE LATENCY", "");
		page_wrap(&rp->page, 2,
			  "unknown: a thread that left the recorded CPUs may have run on another "
			  "(record with -a)");
		return;
	}
	rows = calloc(nr_threads, sizeof(*rows));
	for (uint32_t i = 1; rows && i < nr_threads; i++) {
		const struct report_totals *t = &rp->totals[i];

		if (!rp->asked[i])
			continue;
		all += t->ready_ns;
		worst = t->worst_ready_ns > worst ? t->worst_ready_ns : worst;
		if (t->worst_ready_ns >= LONG_NS || t->ready_ns > window / LONG_PART)
			rows[nr++] = (struct wait_row){i, t->ready_ns};
	}
	snprintf(right, sizeof(right), "all together %s, worst %s",
		 page_fmt_time(sum, sizeof(sum), all), page_fmt_time(most, sizeof(most), worst));
	page_title(&rp->page, "RUN QUEUE LATENCY", right);
	if (nr) {
		qsort(rows, nr, sizeof(*rows), longest_first);
		page_color(&rp->page, PAGE_DIM);
		text_str(&rp->text, "  thread               tid   waited");
		text_str(&rp->text, rp->page.width >= WIDE ? "  of all" : "");
		text_str(&rp->text, "    worst        at  running instead\n");
		page_end_color(&rp->page);
	} else {
		page_line(&rp->page, 2, "no long waits");
	}
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++)
		put_row(rp, rows[i].thread);
	if (nr > MAX_ROWS)
		page_line(&rp->page, 2, "and %zu more that waited for 1 ms or more", nr - MAX_ROWS);
	put_unknown(rp);
	free(rows);
}

const struct report_section report_wait = {
	.what = "run queue latency",
	.open = open_wait,
	.print = print_wait,
};
