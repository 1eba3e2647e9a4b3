// SPDX-License-Identifier: MIT
/*
 * System calls by the time that threads spent in them, from raw_syscalls:sys_enter and sys_exit. A
 * call that is open at the end counts up to there. Calls without a recorded start, and calls that
 * end a thread, are left out.
 */
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/print/syscall_names.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS   10
#define MAX_ERR	   4095
#define MAX_NUMBER 512

struct call {
	uint64_t key; /* number */
	uint64_t nr, nr_failed, ns, worst_ns, worst_at_ns;
	uint32_t worst_tid;
	bool worst_open; /* still open at the end */
};

/* A thread in a call. */
struct inside {
	uint64_t key; /* tid */
	uint64_t since_ns;
	uint64_t call; /* number + 1; 0: none */
};

struct syscalls {
	const struct field *enter, *exit, *ret;
	struct map calls, inside;
	uint64_t last[2]; /* numbers of the calls that end a thread */
	uint64_t nr;
};

static const struct field *field_by_name(struct report *rp, const char *event, const char *name)
{
	for (size_t i = 0; i < rp->a.m->nr_events; i++) {
		uint32_t type = (uint32_t)rp->a.m->events[i].attr.config;
		const char *is = fields_name(rp->a.fields, type);

		if (is && !strcmp(is, event))
			return tpfields_find(fields_tracepoint(rp->a.fields, type), name,
					     strlen(name));
	}
	return NULL;
}

static void add(struct syscalls *st, const struct inside *in, uint64_t to_ns, int64_t ret,
		bool open)
{
	struct call *c = map_row(&st->calls, in->call - 1);
	uint64_t ns = to_ns > in->since_ns ? to_ns - in->since_ns : 0;

	if (!c)
		return;
	st->nr++;
	c->nr++;
	c->nr_failed += ret < 0 && ret >= -MAX_ERR;
	c->ns += ns;
	if (ns < c->worst_ns || !ns)
		return;
	c->worst_ns = ns;
	c->worst_at_ns = in->since_ns;
	c->worst_tid = (uint32_t)in->key;
	c->worst_open = open;
}

static int on_enter(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct syscalls *st = state;
	struct inside *in = map_row(&st->inside, rec->tid);

	uint64_t nr;

	if (!in)
		return 0;
	nr = field_number(st->enter, rec->s.raw);
	in->since_ns = rec->time_ns;
	in->call = nr + 1;
	if (nr == st->last[0] || nr == st->last[1])
		in->call = 0;
	return 0;
}

static int on_exit_(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct syscalls *st = state;
	struct inside *in = map_find(&st->inside, rec->tid);

	if (!in || in->call != field_number(st->exit, rec->s.raw) + 1)
		return 0;
	add(st, in, rec->time_ns, (int64_t)field_number(st->ret, rec->s.raw), false);
	in->call = 0;
	return 0;
}

static uint64_t number_of(const struct meta *m, const char *call)
{
	for (uint64_t nr = 0; nr < MAX_NUMBER; nr++) {
		const char *name = syscall_name(m, nr);

		if (name && !strcmp(name, call))
			return nr;
	}
	return UINT64_MAX;
}

static int open_syscalls(struct report *rp, void **state)
{
	struct syscalls *st = calloc(1, sizeof(*st));

	if (!st)
		return -ENOMEM;
	st->last[0] = number_of(rp->a.m, "exit");
	st->last[1] = number_of(rp->a.m, "exit_group");
	st->calls = MAP_INIT(struct call);
	st->inside = MAP_INIT(struct inside);
	st->enter = field_by_name(rp, "raw_syscalls:sys_enter", "id");
	st->exit = field_by_name(rp, "raw_syscalls:sys_exit", "id");
	st->ret = field_by_name(rp, "raw_syscalls:sys_exit", "ret");
	if (!st->enter || !st->exit || !st->ret) {
		free(st);
		return 0;
	}
	report_hook(rp, "raw_syscalls:sys_enter", on_enter, st);
	report_hook(rp, "raw_syscalls:sys_exit", on_exit_, st);
	report_hook_only(rp, "raw_syscalls:sys_enter", "id");
	*state = st;
	return 0;
}

static void close_syscalls(void *state)
{
	struct syscalls *st = state;

	map_free(&st->calls);
	map_free(&st->inside);
	free(st);
}

static int longest_first(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_call(struct report *rp, const struct call *c)
{
	const char *known = syscall_name(rp->a.m, c->key);
	struct page *p = &rp->page;
	char name[32], at[32], who[96];

	snprintf(name, sizeof(name), "%" PRIu64, c->key);
	text_str(p->t, "  ");
	page_left(p, known ? known : name, 18);
	page_time(p, c->ns, 9);
	page_count(p, c->nr, 10);
	page_color(p, c->nr_failed * 2 > c->nr ? PAGE_WARM : PAGE_PLAIN);
	page_count(p, c->nr_failed, 8);
	page_end_color(p);
	page_time(p, c->worst_ns, 9);
	page_right(p, page_fmt_moment(at, sizeof(at), c->worst_at_ns, rp->a.m->trigger.hit_ns), 10);
	snprintf(who, sizeof(who), "%s%s", report_comm_of(rp, c->worst_tid, c->worst_at_ns),
		 c->worst_open ? ", not over yet" : "");
	text_str(p->t, "  ");
	page_last(p, who, p->width - 68);
	text_char(p->t, '\n');
}

/* Open calls count only if their thread is known to be alive and they began within the time that
 * all rings cover: the end of an older call may be missing. */
static void add_open(struct report *rp, struct syscalls *st, const struct report_window *w)
{
	for (size_t i = 0; i < map_nr(&st->inside); i++) {
		const struct inside *in = map_nth(&st->inside, i);
		const struct fmt_task *t;

		if (!in->call || in->since_ns < w->from_ns || in->since_ns > w->to_ns)
			continue;
		t = history_task(rp->a.history, (uint32_t)in->key, in->since_ns);
		if (!t || !t->exit_ns || t->exit_ns > w->to_ns)
			add(st, in, w->to_ns, 0, true);
	}
}

static void print_syscalls(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct syscalls *st = state;
	char window[64], right[128], n[32];

	add_open(rp, st, &w);
	snprintf(right, sizeof(right), "%s call%s, %s", str_fmt_count(n, sizeof(n), st->nr),
		 str_plural(st->nr), report_fmt_window(rp, window, sizeof(window), &w));
	page_title(&rp->page, "SYSTEM CALLS", right);
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  call                  time      calls  failed    worst        at"
			    "  of\n");
	page_end_color(&rp->page);
	map_sort(&st->calls, longest_first);
	for (size_t i = 0; i < map_nr(&st->calls) && i < MAX_ROWS; i++)
		put_call(rp, map_nth(&st->calls, i));
	if (map_nr(&st->calls) > MAX_ROWS)
		page_line(&rp->page, 2, "and %zu other call%s", map_nr(&st->calls) - MAX_ROWS,
			  str_plural(map_nr(&st->calls) - MAX_ROWS));
}

const struct report_section report_syscalls = {
	.what = "system calls",
	.how = "--preset syscalls",
	.open = open_syscalls,
	.print = print_syscalls,
	.close = close_syscalls,
};
