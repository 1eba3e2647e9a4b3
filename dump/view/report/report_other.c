// SPDX-License-Identifier: MIT
/* Events that no other section prints: the number of each, and the thread with most of them. */
#include "dump/base/sleepstack.h"
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 12

struct event_count {
	uint64_t key; /* index of meta's events */
	uint64_t nr, last_ns;
};

struct event_user {
	uint64_t key; /* hash of event and interned name */
	uint64_t event, nr;
	const char *comm;
};

struct other {
	struct map kinds, whos;
};

static int on_other(void *state, struct report *rp, const struct timeline_record *rec)
{
	uint64_t event = (uint64_t)(rec->event - rp->a.m->events);
	const char *comm = report_comm_of(rp, rec->tid, rec->time_ns);
	struct other *o = state;
	struct event_count *k = map_row(&o->kinds, event);
	struct event_user *w = map_row(&o->whos, (uintptr_t)comm ^ event << 48);

	if (k) {
		k->nr++;
		k->last_ns = rec->time_ns;
	}
	if (w) {
		w->event = event;
		w->comm = comm;
		w->nr++;
	}
	return 0;
}

/* Events of the schedule are not listed. */
static bool is_scheduler(const char *name)
{
	static const char *const names[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new",
					    "sched_waking", "sched_migrate_task"};

	if (strncmp(name, "sched:", 6) != 0)
		return !strcmp(name, SLEEP_STACKS);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name + 6, names[i]))
			return true;
	return false;
}

static int open_other(struct report *rp, void **state)
{
	struct other *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->kinds = MAP_INIT(struct event_count);
	o->whos = MAP_INIT(struct event_user);
	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		const struct meta_event *e = &rp->a.m->events[i];
		const char *name =
			e->attr.type == PERF_TYPE_TRACEPOINT ? analysis_event(&rp->a, e) : NULL;

		if (!meta_in_rings(rp->a.m, e) || rp->hooks[i].feed || e == rp->tick ||
		    is_scheduler(name ? name : e->name))
			continue;
		/* The same event in another channel, hooked by a section. */
		for (size_t k = 0; k < rp->a.m->nr_events; k++)
			if (k != i && rp->hooks[k].feed && rp->hooks[k].state != o &&
			    rp->a.m->events[k].attr.type == e->attr.type &&
			    rp->a.m->events[k].attr.config == e->attr.config)
				goto next;
		rp->hooks[i] = (struct report_hook){.feed = on_other, .state = o};
		*state = o;
	next:;
	}
	if (!*state)
		free(o);
	return 0;
}

static void close_other(void *state)
{
	struct other *o = state;

	map_free(&o->kinds);
	map_free(&o->whos);
	free(o);
}

static int most_first(const void *a, const void *b)
{
	const struct event_count *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_kind(struct report *rp, const struct other *o, const struct event_count *k)
{
	const struct event_user *best = NULL;
	struct page *p = &rp->page;
	unsigned name = p->width / 2 - 6;
	char at[32], who[96];

	for (size_t i = 0; i < map_nr(&o->whos); i++) {
		const struct event_user *w = map_nth(&o->whos, i);

		if (w->event == k->key && (!best || w->nr > best->nr))
			best = w;
	}
	text_str(p->t, "  ");
	page_left(p, rp->a.m->events[k->key].name, name);
	page_count(p, k->nr, 10);
	page_right(p, page_fmt_moment(at, sizeof(at), k->last_ns, rp->a.m->trigger.hit_ns), 10);
	snprintf(who, sizeof(who), "%s %.0f%%", best ? best->comm : "?",
		 best ? 100.0 * (double)best->nr / (double)k->nr : 0);
	text_str(p->t, "  ");
	page_last(p, who, p->width - name - 24);
	text_char(p->t, '\n');
}

static void print_other(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct other *o = state;
	char window[64];

	if (!map_nr(&o->kinds))
		return;
	page_title(&rp->page, "OTHER EVENTS", report_fmt_window(rp, window, sizeof(window), &w));
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  event");
	text_fill(&rp->text, ' ', (int)rp->page.width / 2 - 11);
	text_str(&rp->text, "     times      last  mostly of\n");
	page_end_color(&rp->page);
	map_sort(&o->kinds, most_first);
	for (size_t i = 0; i < map_nr(&o->kinds) && i < MAX_ROWS; i++)
		put_kind(rp, o, map_nth(&o->kinds, i));
}

const struct report_section report_other = {
	.what = "other events",
	.open = open_other,
	.print = print_other,
	.close = close_other,
};
