// SPDX-License-Identifier: MIT
/* Interrupts and softirqs: number, total time, the longest one. */
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8
#define SOFT	 (1ull << 32)

struct vector {
	uint64_t key; /* number; for softirqs | SOFT */
	uint64_t nr, ns, worst_ns, worst_at_ns;
	int32_t worst_cpu;
	const char *name;
};

/* One in progress. */
struct going {
	uint64_t key; /* cpu << 1 | soft */
	uint64_t since_ns;
	uint64_t vector;
};

struct irq {
	struct map vectors, going;
	uint64_t ns;
};

static int begin(struct irq *q, struct report *rp, const struct timeline_record *rec,
		 uint64_t vector, const char *name)
{
	uint64_t cpu = (uint32_t)rec->window->cpu;
	struct going *g = map_row(&q->going, cpu << 1 | (vector & SOFT ? 1 : 0));
	struct vector *v = map_row(&q->vectors, vector);

	if (!g || !v || rec->window->cpu < 0)
		return 0;
	g->since_ns = rec->time_ns;
	g->vector = vector;
	if (!v->name)
		v->name = intern(&rp->names, (struct bytes){(const uint8_t *)name, strlen(name)});
	return 0;
}

static int end(struct irq *q, const struct timeline_record *rec, uint64_t vector)
{
	uint64_t cpu = (uint32_t)rec->window->cpu, ns;
	struct going *g = map_find(&q->going, cpu << 1 | (vector & SOFT ? 1 : 0));
	struct vector *v = map_find(&q->vectors, vector);

	if (!g || !v || !g->since_ns || g->vector != vector)
		return 0;
	ns = rec->time_ns - g->since_ns;
	g->since_ns = 0;
	v->nr++;
	v->ns += ns;
	q->ns += ns;
	if (ns > v->worst_ns) {
		v->worst_ns = ns;
		v->worst_at_ns = rec->time_ns - ns;
		v->worst_cpu = rec->window->cpu;
	}
	return 0;
}

static int on_irq(void *state, struct report *rp, const struct timeline_record *rec)
{
	char name[64];

	return begin(state, rp, rec, (uint32_t)analysis_number(&rp->a, rec, "irq"),
		     report_string(rp, rec, "name", name, sizeof(name)));
}

static int on_irq_end(void *state, struct report *rp, const struct timeline_record *rec)
{
	return end(state, rec, (uint32_t)analysis_number(&rp->a, rec, "irq"));
}

static int on_softirq(void *state, struct report *rp, const struct timeline_record *rec)
{
	/* include/linux/interrupt.h */
	static const char *const names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	uint64_t vec = analysis_number(&rp->a, rec, "vec");

	return begin(state, rp, rec, SOFT | (uint32_t)vec,
		     vec < sizeof(names) / sizeof(names[0]) ? names[vec] : "?");
}

static int on_softirq_end(void *state, struct report *rp, const struct timeline_record *rec)
{
	return end(state, rec, SOFT | (uint32_t)analysis_number(&rp->a, rec, "vec"));
}

static int open_irq(struct report *rp, void **state)
{
	struct irq *q = calloc(1, sizeof(*q));
	bool hard, soft;

	if (!q)
		return -ENOMEM;
	q->vectors = MAP_INIT(struct vector);
	q->going = MAP_INIT(struct going);
	hard = report_hook(rp, "irq:irq_handler_entry", on_irq, q);
	hard |= report_hook(rp, "irq:irq_handler_exit", on_irq_end, q);
	soft = report_hook(rp, "irq:softirq_entry", on_softirq, q);
	soft |= report_hook(rp, "irq:softirq_exit", on_softirq_end, q);
	if (hard || soft)
		*state = q;
	else
		free(q);
	return 0;
}

static void close_irq(void *state)
{
	struct irq *q = state;

	map_free(&q->vectors);
	map_free(&q->going);
	free(q);
}

static int longest_first(const void *a, const void *b)
{
	const struct vector *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void put_vector(struct report *rp, const struct vector *v, uint64_t window)
{
	struct page *p = &rp->page;
	char name[96], at[32], cpu[24];

	if (v->key & SOFT)
		snprintf(name, sizeof(name), "softirq %s", v->name ? v->name : "?");
	else
		snprintf(name, sizeof(name), "irq %" PRIu64 " %s", v->key, v->name ? v->name : "");
	text_str(p->t, "  ");
	page_left(p, name, 26);
	page_time(p, v->ns, 9);
	page_part(p, v->ns, window, 7);
	page_count(p, v->nr, 9);
	page_time(p, v->worst_ns, 9);
	page_right(p, page_fmt_moment(at, sizeof(at), v->worst_at_ns, rp->a.m->trigger.hit_ns), 10);
	snprintf(cpu, sizeof(cpu), "  CPU %d", v->worst_cpu);
	page_last(p, cpu, 8);
	text_char(p->t, '\n');
}

static void print_irq(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct irq *q = state;
	char window[64];

	page_title(&rp->page, "INTERRUPTS", report_fmt_window(rp, window, sizeof(window), &w));
	page_color(&rp->page, PAGE_DIM);
	text_str(&rp->text, "  which                          time of CPU    times    worst"
			    "        at  on\n");
	page_end_color(&rp->page);
	map_sort(&q->vectors, longest_first);
	for (size_t i = 0; i < map_nr(&q->vectors) && i < MAX_ROWS; i++)
		put_vector(rp, map_nth(&q->vectors, i), w.to_ns - w.from_ns);
}

const struct report_section report_irq = {
	.what = "interrupts",
	.how = "--preset irq",
	.open = open_irq,
	.print = print_irq,
	.close = close_irq,
};
