// SPDX-License-Identifier: MIT
/*
 * Blocked threads: where, and what ended it. Uninterruptible sleeps come first, since they are
 * never intended. Other sleeps are listed one by one only if another thread ended them: a thread
 * that sleeps until a timer or the network wakes it is mostly idle.
 */
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8
#define MIN_NS	 100000
/* Of rows below this, at most MIN_ROWS are shown. */
#define LITTLE_NS 2000000
#define MIN_ROWS  3
/* Minimum width for a column with the share of the window. */
#define WIDE 100

/* Sleeps of one thread at one place. */
struct sleep_place {
	uint64_t key; /* thread << 32 | chain */
	uint64_t ns, worst_ns, worst_at_ns, nr;
	bool hard; /* uninterruptible, or stopped */
	bool idle; /* one sleep for almost the whole window: idle */
};

struct waker {
	uint64_t key; /* interned name << 3 | enum how; without a name, only how */
	uint64_t ns, nr;
};

enum how { BY_THREAD, BY_SOFTIRQ, BY_INTERRUPT, BY_NOBODY, BY_UNKNOWN };

struct block {
	struct map hard, soft;
	size_t nr_idle, nr_silent; /* threads woken by no thread; not woken at all */
	size_t nr_unknown;	   /* wake-up not recorded */
};

static int open_block(struct report *rp, void **state)
{
	if (schedule_has_switches(rp->a.sched))
		*state = rp;
	return 0;
}

/* Softirqs are separate: the interrupted thread may have caused them, as with packets to the same
 * machine. */
static enum how ended_by(const struct span *s)
{
	if (s->by == NO_THREAD)
		return s->flags & SPAN_OPEN ? BY_NOBODY : BY_UNKNOWN;
	if (s->by == 0 || s->flags & SPAN_HARDIRQ)
		return BY_INTERRUPT;
	return s->flags & SPAN_SOFTIRQ ? BY_SOFTIRQ : BY_THREAD;
}

static void add(const struct report *rp, struct map *m, const struct span *s, uint64_t ns)
{
	struct sleep_place *p = map_row(m, (uint64_t)s->thread << 32 | s->chain);

	if (!p)
		return;
	p->ns += ns;
	p->nr++;
	p->hard |= s->state != SPAN_SLEEP;
	if (ns > p->worst_ns) {
		p->worst_ns = ns;
		p->worst_at_ns = report_from(rp, s);
		p->idle = s->state == SPAN_SLEEP &&
			  ns > (rp->window.to_ns - rp->window.from_ns) / 4 * 3;
	}
}

static void sort_out(struct report *rp, struct block *b, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(rp->a.sched, thread);
	bool kernel = report_is_kernel(rp, thread), slept = false, woken = false;
	bool by_thread = false, unknown = false;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(rp->a.sched, t->first + i);
		uint64_t ns = report_overlap(s, &rp->window);

		/* Whether the thread slept from before the window is unknown. */
		if (!ns || (s->flags & SPAN_GUESSED && s->flags & SPAN_OPEN))
			continue;
		if (s->state == SPAN_BLOCKED || s->state == SPAN_STOPPED)
			add(rp, &b->hard, s, ns);
		if (s->state != SPAN_SLEEP || kernel)
			continue;
		slept = true;
		woken |= ended_by(s) != BY_NOBODY;
		unknown |= ended_by(s) == BY_UNKNOWN;
		if (ended_by(s) > BY_SOFTIRQ)
			continue;
		by_thread = true;
		add(rp, &b->soft, s, ns);
	}
	b->nr_silent += slept && !woken;
	b->nr_idle += woken && !by_thread && !unknown;
	b->nr_unknown += unknown && !by_thread;
}

static int longest_first(const void *a, const void *b)
{
	const struct sleep_place *x = a, *y = b;

	if (x->idle != y->idle)
		return x->idle ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int most_first(const void *a, const void *b)
{
	const struct waker *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The wakers for these sleeps: "redis-benchmark 98%". */
static void put_wakers(struct report *rp, const struct sleep_place *pl, unsigned width)
{
	static const char *const said[] = {[BY_THREAD] = "",
					   [BY_SOFTIRQ] = " (softirq)",
					   [BY_INTERRUPT] = "an interrupt",
					   [BY_NOBODY] = "not yet",
					   [BY_UNKNOWN] = "unknown"};
	const struct schedule_thread *t = schedule_thread(rp->a.sched, (uint32_t)(pl->key >> 32));
	struct map wakers = MAP_INIT(struct waker);
	const struct waker *w;
	char line[128] = "";

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(rp->a.sched, t->first + i);
		uint64_t ns = report_overlap(s, &rp->window);
		enum how how = ended_by(s);
		struct waker *row;

		if (!ns || s->chain != (uint32_t)pl->key || s->state == SPAN_RUN ||
		    s->state == SPAN_READY || s->state == SPAN_UNKNOWN ||
		    (s->state != SPAN_SLEEP) != pl->hard)
			continue;
		if (!pl->hard && how > BY_SOFTIRQ)
			continue;
		row = map_row(&wakers,
			      how <= BY_SOFTIRQ
				      ? (uint64_t)(uintptr_t)report_comm(rp, s->by) << 3 | how
				      : how);
		if (row) {
			row->ns += ns;
			row->nr++;
		}
	}
	map_sort(&wakers, most_first);
	if (map_nr(&wakers)) {
		w = map_nth(&wakers, 0);
		snprintf(line, sizeof(line), "%s%s %.0f%%",
			 w->key >> 3 ? (const char *)(uintptr_t)(w->key >> 3) : "",
			 said[w->key & 7], 100.0 * (double)w->ns / (double)pl->ns);
	}
	page_last(&rp->page, line, width);
	map_free(&wakers);
}

static void put_place(struct report *rp, const struct sleep_place *pl)
{
	uint64_t window = rp->window.to_ns - rp->window.from_ns;
	struct page *p = &rp->page;
	char at[32];

	text_str(p->t, "  ");
	report_who(rp, (uint32_t)(pl->key >> 32));
	page_time(p, pl->ns, 9);
	if (p->width >= WIDE)
		page_part(p, pl->ns, window, 7);
	page_count(p, pl->nr, 7);
	page_color(p, pl->hard && pl->worst_ns >= 10000000 ? PAGE_WARM : PAGE_PLAIN);
	page_time(p, pl->worst_ns, 9);
	page_end_color(p);
	page_right(p, page_fmt_moment(at, sizeof(at), pl->worst_at_ns, rp->a.m->trigger.hit_ns),
		   10);
	text_str(p->t, "  ");
	put_wakers(rp, pl, p->width - (p->width >= WIDE ? 70 : 63));
	text_char(p->t, '\n');
	if ((uint32_t)pl->key)
		report_path(rp, (uint32_t)pl->key, 6, 2);
}

static void put_places(struct report *rp, struct map *m, const char *title)
{
	size_t nr = map_nr(m), shown = 0;
	uint64_t most = 0;
	char window[64];

	map_sort(m, longest_first);
	for (size_t i = 0; i < nr; i++)
		most = ((struct sleep_place *)map_nth(m, i))->ns > most
			       ? ((struct sleep_place *)map_nth(m, i))->ns
			       : most;
	if (most < MIN_NS)
		return;
	page_title(&rp->page, title, report_fmt_window(rp, window, sizeof(window), &rp->window));
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  thread               tid  blocked");
	text_str(&rp->text, rp->page.width >= WIDE ? "  of all" : "");
	text_str(&rp->text, "  times    worst        at  woken by\n");
	page_end_color(&rp->page);
	for (; shown < nr && shown < MAX_ROWS; shown++) {
		const struct sleep_place *pl = map_nth(m, shown);

		if (shown >= MIN_ROWS && pl->ns < LITTLE_NS && !pl->idle)
			break;
		put_place(rp, pl);
	}
	if (shown < nr)
		page_line(&rp->page, 2, "and %zu more", nr - shown);
}

static void print_block(struct report *rp, void *state)
{
	struct block b = {.hard = MAP_INIT(struct sleep_place),
			  .soft = MAP_INIT(struct sleep_place)};

	for (uint32_t i = 1; i < schedule_nr_threads(rp->a.sched); i++)
		if (rp->asked[i])
			sort_out(rp, &b, i);
	put_places(rp, &b.hard, "BLOCKED, UNINTERRUPTIBLE: disks, kernel locks");
	put_places(rp, &b.soft, "SLEPT UNTIL ANOTHER THREAD WOKE IT");
	if (b.nr_idle || b.nr_silent)
		page_line(&rp->page, 2,
			  "%zu more slept until a timer or a device woke them; %zu were not woken",
			  b.nr_idle, b.nr_silent);
	if (b.nr_unknown)
		page_line(&rp->page, 2, "%zu more sleeps: the wake-up was not recorded",
			  b.nr_unknown);
	map_free(&b.hard);
	map_free(&b.soft);
}

const struct report_section report_block = {
	.what = "blocked threads",
	.open = open_block,
	.print = print_block,
};
