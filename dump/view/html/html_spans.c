// SPDX-License-Identifier: MIT
/*
 * Spans of threads for a page. Browsers are slow with all spans of a large dump, so their number is
 * limited: near the trigger, spans are kept as recorded; further away, short successive ones are
 * merged into one that has the total time in each state.
 *
 *	   merged: run 40 %, waits 35 %, ..  │ as recorded
 *	├──────────┼──────────┼──────────────┼┤├┤├──┤├┤├─▶ trigger
 *	           merge_ns                  whole_ns
 */
#include "dump/view/html/html_impl.h"

#include <errno.h>
#include <string.h>

/* Share of the page's spans that are kept as recorded. */
#define WHOLE_SHARE 0.7

/* Successive spans that are merged into one. */
struct span_group {
	uint64_t from_ns, to_ns, ns[NR_SPAN_STATES];
	const struct span *first;
	size_t nr;
	uint64_t chain_ns, cpu_ns; /* time in `chain`, on `cpu` */
	uint32_t chain;		   /* of the longest time off the CPU */
	int32_t cpu;		   /* of the longest run */
	uint8_t flags;
};

/* State of a walk over the spans; cols NULL: only counts them. */
struct span_walk {
	struct html *h;
	struct columns *cols;
	uint64_t merge_ns;
	uint64_t at_ns; /* end of the thread's last span */
	size_t nr, nr_merged;
};

/* Until the rings of all CPUs have begun, only running is known, from the rings that have begun: a
 * wake-up may be missing because it was in another ring. */
static uint64_t known_from(const struct html *h, const struct span *s)
{
	return s->state == SPAN_RUN || h->known_ns < h->base_ns ? h->base_ns : h->known_ns;
}

static uint64_t from_of(const struct html *h, const struct span *s)
{
	uint64_t from = known_from(h, s);

	return s->from_ns > from ? s->from_ns : from;
}

static uint64_t to_of(const struct html *h, const struct span *s)
{
	return s->to_ns < h->end_ns ? s->to_ns : h->end_ns;
}

static bool outside(const struct html *h, const struct span *s)
{
	return s->to_ns < known_from(h, s) || s->from_ns > h->end_ns || s->state == SPAN_UNKNOWN;
}

static void put(struct span_walk *w, const struct span_group *g)
{
	const struct span *s = g->first;
	struct columns *c = w->cols;
	bool merged = g->nr > 1;

	w->nr++;
	w->nr_merged += merged ? g->nr : 0;
	if (!c)
		return;
	column_put(c, COL_SPAN_GAP, g->from_ns > w->at_ns ? g->from_ns - w->at_ns : 0);
	column_put(c, COL_SPAN_NS, g->to_ns - g->from_ns);
	column_put(c, COL_SPAN_STATE, merged ? HTML_MERGED : s->state);
	column_put(c, COL_SPAN_FLAGS,
		   merged ? g->flags : s->flags | (g->from_ns > s->from_ns ? SPAN_CUT : 0));
	column_put(c, COL_SPAN_CPU, (uint64_t)((merged ? g->cpu : s->cpu) + 1));
	column_put(c, COL_SPAN_BY, merged || s->by == NO_THREAD ? 0 : s->by + 1ull);
	column_put(c, COL_SPAN_CHAIN, merged ? g->chain : s->chain);
	column_put(c, COL_SPAN_BY_CHAIN, merged ? 0 : s->by_chain);
	if (merged) {
		column_put(c, COL_MERGED_RUN, g->ns[SPAN_RUN]);
		column_put(c, COL_MERGED_READY, g->ns[SPAN_READY]);
		column_put(c, COL_MERGED_SLEEP, g->ns[SPAN_SLEEP]);
		column_put(c, COL_MERGED_BLOCKED, g->ns[SPAN_BLOCKED]);
	}
	w->at_ns = g->to_ns;
}

static void begin(struct html *h, struct span_group *g, const struct span *s)
{
	*g = (struct span_group){
		.from_ns = from_of(h, s), .to_ns = to_of(h, s), .first = s, .cpu = -1};
}

static void add(struct html *h, struct span_group *g, const struct span *s)
{
	uint64_t from = from_of(h, s), ns = to_of(h, s) - from;

	g->nr++;
	g->ns[s->state] += ns;
	g->to_ns = to_of(h, s);
	g->flags |= s->flags & SPAN_GUESSED;
	if ((s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED) && ns >= g->chain_ns) {
		g->chain = s->chain;
		g->chain_ns = ns;
	}
	if (s->state == SPAN_RUN && ns >= g->cpu_ns) {
		g->cpu = s->cpu;
		g->cpu_ns = ns;
	}
}

static bool may_merge(const struct span_walk *w, const struct span *s)
{
	const struct html *h = w->h;

	return w->merge_ns && (s->to_ns < h->whole_ns || s->from_ns > h->wholes_ns) &&
	       to_of(h, s) - from_of(h, s) < w->merge_ns && s->state != SPAN_STOPPED &&
	       s->state != SPAN_ENDED;
}

/* Whether `s` may be added to the group. A group has no gaps, except before known_ns, where only
 * running is known. */
static bool may_join(const struct span_walk *w, const struct span_group *g, const struct span *s)
{
	const struct html *h = w->h;
	uint64_t from = from_of(h, s);

	return may_merge(w, s) && may_merge(w, g->first) && from - g->from_ns < w->merge_ns &&
	       (from == g->to_ns || s->to_ns < h->known_ns) &&
	       (s->from_ns > h->wholes_ns) == (g->first->from_ns > h->wholes_ns);
}

static void walk_thread(struct span_walk *w, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(w->h->why.a.sched, thread);
	const struct span *s = schedule_span(w->h->why.a.sched, t->first);
	struct span_group g = {0};
	size_t before = w->nr;

	w->at_ns = w->h->base_ns;
	for (size_t i = 0; i < t->nr; i++, s++) {
		if (outside(w->h, s))
			continue;
		if (g.nr && !may_join(w, &g, s)) {
			put(w, &g);
			g.nr = 0;
		}
		if (!g.nr)
			begin(w->h, &g, s);
		add(w->h, &g, s);
	}
	if (g.nr)
		put(w, &g);
	if (w->cols)
		w->h->nr_spans_of[thread] = (uint32_t)(w->nr - before);
}

static size_t walk_all(struct html *h, struct columns *cols, uint64_t merge_ns, size_t *nr_merged)
{
	struct span_walk w = {.h = h, .cols = cols, .merge_ns = merge_ns};

	for (uint32_t i = 1; i < schedule_nr_threads(h->why.a.sched); i++)
		walk_thread(&w, i);
	if (nr_merged)
		*nr_merged = w.nr_merged;
	return w.nr;
}

static size_t count_near(const struct html *h, uint64_t from, uint64_t to)
{
	size_t n = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(h->why.a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(h->why.a.sched, i);
		const struct span *s = schedule_span(h->why.a.sched, t->first);

		for (size_t k = 0; k < t->nr; k++, s++)
			n += s->to_ns >= from && s->from_ns <= to;
	}
	return n;
}

/* Finds the longest time around the trigger whose spans are few enough to be kept as recorded. */
static void choose_whole(struct html *h, size_t max)
{
	uint64_t hit = h->m->trigger.hit_ns, low = 0, high = h->end_ns - h->base_ns;

	if (hit < h->base_ns || hit > h->end_ns)
		hit = h->end_ns;
	for (int i = 0; i < 20 && low < high; i++) {
		uint64_t mid = low + (high - low) / 2;
		uint64_t from = hit - h->base_ns > mid ? hit - mid : h->base_ns;
		uint64_t to = h->end_ns - hit > mid ? hit + mid : h->end_ns;

		if (count_near(h, from, to) <= max)
			low = mid;
		else
			high = mid;
	}
	h->whole_ns = hit - h->base_ns > low ? hit - low : h->base_ns;
	h->wholes_ns = h->end_ns - hit > low ? hit + low : h->end_ns;
}

int html_spans(struct html *h, size_t max)
{
	size_t nr_merged = 0;

	columns_clear(&h->cols, COL_SPAN_GAP, COL_MERGED_BLOCKED);
	h->merge_ns = 0;
	h->whole_ns = h->base_ns;
	h->wholes_ns = h->end_ns;
	if (walk_all(h, NULL, 0, NULL) > max) {
		choose_whole(h, (size_t)((double)max * WHOLE_SHARE));
		for (h->merge_ns = 1000; h->merge_ns < h->end_ns - h->base_ns; h->merge_ns *= 2)
			if (walk_all(h, NULL, h->merge_ns, NULL) <= max)
				break;
	}
	walk_all(h, &h->cols, h->merge_ns, &nr_merged);
	h->nr_merged = nr_merged;
	return h->cols.rc;
}

int html_samples(struct html *h)
{
	uint64_t at = h->base_ns;

	for (size_t i = 0; i < schedule_nr_samples(h->why.a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(h->why.a.sched, i);

		if (s->ns < h->base_ns || s->ns > h->end_ns || s->thread == NO_THREAD)
			continue;
		column_put(&h->cols, COL_SAMPLE_NS, s->ns > at ? s->ns - at : 0);
		column_put(&h->cols, COL_SAMPLE_THREAD, s->thread);
		column_put(&h->cols, COL_SAMPLE_CPU, (uint64_t)(s->cpu + 1));
		column_put(&h->cols, COL_SAMPLE_CHAIN, s->chain);
		at = s->ns > at ? s->ns : at;
	}
	return h->cols.rc;
}
