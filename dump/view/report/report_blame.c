// SPDX-License-Identifier: MIT
/* Which control groups waited for a CPU, and which other groups ran meanwhile. */
#include "dump/view/model/cgroup.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/schedule/blame.h"

#include <errno.h>
#include <string.h>

#define MAX_ROWS 8
/* A group with shorter waits is left out. */
#define LONG_NS 1000000
/* Columns of a group's name, and of those up to the list. */
#define NAME_WIDTH 29
#define LIST_AT	   56

static int open_blame(struct report *rp, void **state)
{
	if (schedule_has_switches(rp->a.sched))
		*state = rp;
	return 0;
}

/* With one group, and waits for itself only, the threads tell it all. */
static size_t nr_worth(const struct blame *b)
{
	size_t nr = 0, nr_foreign = 0;

	for (size_t i = 0; i < blame_nr(b) && blame_row(b, i)->waited_ns >= LONG_NS; i++) {
		const struct blame_row *r = blame_row(b, i);

		nr++;
		nr_foreign += r->others_ns >= LONG_NS || r->part_ns[BLAME_QUOTA] >= LONG_NS;
	}
	return nr > 1 || nr_foreign ? nr : 0;
}

/* Appends "NAME 12%" if there is room and it is not little. */
static size_t put_share(char *line, size_t len, size_t room, const char *name, uint64_t ns,
			uint64_t of_ns)
{
	char item[160];
	size_t n;

	if (ns * 20 < of_ns)
		return len;
	n = (size_t)snprintf(item, sizeof(item), "%s%s %.0f%%", len ? ", " : "", name,
			     100.0 * (double)ns / (double)of_ns);
	if (n >= sizeof(item) || (len && len + n > room))
		return len;
	memcpy(line + len, item, n + 1);
	return len + n;
}

static void put_row(struct report *rp, const struct blame_row *r)
{
	struct page *p = &rp->page;
	char line[512] = "", name[128];
	size_t room = p->width - LIST_AT, n = 0;

	room = room < sizeof(line) / 2 ? room : sizeof(line) / 2;
	text_str(p->t, "  ");
	page_left(p, cgroup_name(name, sizeof(name), rp->a.m, r->path), NAME_WIDTH);
	page_time(p, r->waited_ns, 9);
	page_part(p, r->part_ns[BLAME_OWN], r->waited_ns, 7);
	page_part(p, r->part_ns[BLAME_QUOTA], r->waited_ns, 7);
	for (size_t i = 0; i < r->nr_others; i++)
		n = put_share(line, n, room,
			      cgroup_name(name, sizeof(name), rp->a.m, r->others[i].path),
			      r->others[i].ns, r->waited_ns);
	n = put_share(line, n, room, "idle", r->part_ns[BLAME_IDLE], r->waited_ns);
	put_share(line, n, room, "unknown", r->part_ns[BLAME_UNKNOWN], r->waited_ns);
	/* No line ends in spaces. */
	if (*line) {
		text_str(p->t, "  ");
		page_last(p, line, (unsigned)room);
	}
	text_char(p->t, '\n');
}

static void put_rows(struct report *rp, const struct blame *b, size_t nr)
{
	uint64_t unknown_ns = 0;
	char window[64];

	page_title(&rp->page, "RUN QUEUE BLAME",
		   report_fmt_window(rp, window, sizeof(window), &rp->window));
	page_color(&rp->page, PAGE_DIM);
	page_line(&rp->page, 2, "%-*s%9s%7s%7s  %s", NAME_WIDTH, "control group", "waited", "own",
		  "quota", "other groups that ran");
	page_end_color(&rp->page);
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++) {
		put_row(rp, blame_row(b, i));
		unknown_ns += blame_row(b, i)->part_ns[BLAME_UNKNOWN];
	}
	if (nr > MAX_ROWS)
		page_line(&rp->page, 2, "and %zu more that waited for 1 ms or more", nr - MAX_ROWS);
	if (unknown_ns >= LONG_NS)
		page_wrap(&rp->page, 2,
			  "unknown: no switch of the CPU was recorded, or the control group of the "
			  "thread that ran is not known");
}

static void print_blame(struct report *rp, void *state)
{
	struct blame_input in = {.sched = rp->a.sched,
				 .history = rp->a.history,
				 .m = rp->a.m,
				 .from_ns = rp->window.from_ns,
				 .to_ns = rp->window.to_ns,
				 .victims = rp->filtered ? rp->asked : NULL};
	struct blame *b;
	size_t nr;

	if (blame_new(&in, &b)) {
		rp->text.rc = -ENOMEM;
		return;
	}
	nr = nr_worth(b);
	if (nr)
		put_rows(rp, b, nr);
	blame_free(b);
}

const struct report_section report_blame = {
	.what = "run queue blame",
	.open = open_blame,
	.print = print_blame,
};
