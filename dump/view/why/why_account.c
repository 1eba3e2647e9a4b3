// SPDX-License-Identifier: MIT
/* Adds up the pieces of a path by thread and by what it did; see why_account.h. */
#include "dump/view/why/why_account.h"

#include <stdlib.h>

bool lost_is_asleep(uint8_t kind)
{
	return kind == LOST_IDLE || kind == LOST_OPEN || kind == LOST_BLOCKED ||
	       kind == LOST_STOPPED;
}

static void add_piece(const struct why *w, struct account *a, const struct piece *p)
{
	uint8_t class =
		lost_is_asleep(p->kind) ? (uint8_t)wait_class_of(w, p->chain) : WAIT_UNKNOWN;
	uint64_t ns = p->to_ns - p->from_ns;
	struct time_share *s;
	size_t i;

	a->ns += ns;
	a->by_others_ns += p->depth ? ns : 0;
	for (i = 0; i < a->nr; i++)
		if (a->list[i].thread == p->thread && a->list[i].kind == p->kind &&
		    a->list[i].class == class)
			break;
	if (i == MAX_SHARES)
		return;
	s = &a->list[i];
	if (i == a->nr) {
		a->nr++;
		*s = (struct time_share){.thread = p->thread, .kind = p->kind, .class = class};
	}
	s->ns += ns;
	s->link_ns[p->link] += ns;
	if (!s->longest.to_ns || ns > s->longest.to_ns - s->longest.from_ns)
		s->longest = *p;
}

enum path_link account_link(const struct time_share *s)
{
	enum path_link link = NR_LINKS;
	uint64_t ns = 0;

	while (link > LINK_WOKE && 10 * ns < s->ns)
		ns += s->link_ns[--link];
	return link;
}

static int by_ns(const void *a, const void *b)
{
	const struct time_share *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* Of short waits, idle sleeps and running of the thread itself are not what is looked for. */
static bool counts(const struct why *w, const struct stretch *s, const struct piece *p)
{
	if (!s->many || p->depth)
		return true;
	if (p->kind == LOST_BLOCKED || p->kind == LOST_STOPPED)
		return true;
	return lost_is_asleep(p->kind) && !wait_words(wait_class_of(w, p->chain))->idle;
}

void account_stretch(const struct why *w, const struct stretch *s, const struct time_path *p,
		     struct account *a)
{
	*a = (struct account){.victim = s->thread};
	for (size_t i = 0; i < path_nr(p); i++)
		if (counts(w, s, path_piece(p, i)))
			add_piece(w, a, path_piece(p, i));
	qsort(a->list, a->nr, sizeof(a->list[0]), by_ns);
}

bool account_is_same(const struct why *w, uint32_t a, uint32_t b)
{
	uint32_t pid = schedule_thread(w->a.sched, a)->pid;

	return a == b || (pid && pid == schedule_thread(w->a.sched, b)->pid);
}

uint64_t account_total(const struct why *w, const struct account *a, uint32_t thread, bool process)
{
	uint64_t ns = 0;

	process &= !account_is_same(w, thread, a->victim);

	for (size_t i = 0; i < a->nr; i++)
		if (a->list[i].thread == thread ||
		    (process && account_is_same(w, a->list[i].thread, thread)))
			ns += a->list[i].ns;
	return ns;
}

static const struct time_share *share_of(const struct account *a, uint32_t thread, uint8_t kind)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->list[i].thread == thread && a->list[i].kind == kind)
			return &a->list[i];
	return NULL;
}

const struct time_share *account_main(const struct why *w, const struct account *a)
{
	const struct time_share *best = NULL, *run;
	uint64_t most = 0;

	for (size_t i = 0; i < a->nr; i++) {
		uint64_t ns = account_total(w, a, a->list[i].thread, true);

		if (ns > most) {
			most = ns;
			best = &a->list[i];
		}
	}
	if (!best || best->kind != LOST_READY)
		return best;
	run = share_of(a, best->thread, LOST_RUN);
	return run && 2 * run->ns > best->ns ? run : best;
}
