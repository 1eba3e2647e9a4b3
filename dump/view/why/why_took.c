// SPDX-License-Identifier: MIT
/*
 * A call, wait or silence that took longer than a rule allows, with its start. If no detector knows
 * the cause, this divides the time by what the thread did in it: it matters because it exceeds the
 * rule's threshold, however short it is.
 */
#include "dump/view/why/why_impl.h"

/* A state with less than 1/SMALL of the time gets no line. */
#define SMALL 20

/* Phrases for each state; the verdict uses that of the largest share. */
static const struct {
	enum span_state state;
	const char *did, *also;
} ways[] = {
	{SPAN_RUN, " ran ", "it ran "},
	{SPAN_READY, " waited for a CPU ", "waited for a CPU "},
	{SPAN_BLOCKED, " was blocked by a disk or a kernel lock ", "was blocked "},
	{SPAN_SLEEP, " slept ", "slept "},
	{SPAN_STOPPED, " was stopped ", "was stopped "},
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static size_t largest(const struct sums *s)
{
	size_t best = 0;

	for (size_t i = 1; i < NR_WAYS; i++)
		if (s->ns[ways[i].state] > s->ns[ways[best].state])
			best = i;
	return best;
}

static void say_split(const struct why *w, struct finding *f, const struct sums *s)
{
	struct text *t = finding_line(f, "time");
	bool first = true;

	for (size_t i = 0; i < NR_WAYS; i++) {
		uint64_t ns = s->ns[ways[i].state];

		if (ns * SMALL < why_focus_time(w))
			continue;
		text_str(t, first ? "" : ", ");
		text_str(t, ways[i].also);
		why_time(t, ns);
		first = false;
	}
	text_str(t, "\n");
}

/* The threads that had the CPU that it waited for. */
static void say_instead(const struct why *w, struct finding *f, uint32_t thread,
			const struct sums *s)
{
	struct rivals r;

	if (s->ns[SPAN_READY] * SMALL < why_focus_time(w))
		return;
	rivals_of(w, thread, w->focus_ns, w->end_ns, &r);
	if (!r.nr)
		return;
	finding_rivals(w, f, &r);
	f->culprit = r.top[0].thread;
}

/* The place of its longest sleep, then all sleeps with what ended them. */
static void say_sleep(const struct why *w, struct finding *f, uint32_t thread,
		      const struct span *longest)
{
	const struct span *last;

	if (longest)
		finding_asleep(w, f, longest->chain, "where");
	last = finding_sleeps(w, f, thread);
	if (!last || !path_woken_by_thread(w, last))
		return;
	f->culprit = last->by;
	why_phrase(w, &f->verdict, ", until {thread} woke it", SAY_THREAD(last->by));
}

static int find_took(struct why *w, uint32_t thread, struct finding *f)
{
	struct sums s;
	struct busy b;
	size_t way;

	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	way = largest(&s);
	if (!s.ns[ways[way].state])
		return 0;
	f->score = 1e5; /* above findings about other threads */
	f->sure = SURE_CERTAIN;
	why_phrase(w, &f->verdict, "{thread}{text}{time} of the {time} that it took",
		   SAY_THREAD(thread), SAY_TEXT(ways[way].did), SAY_TIME(s.ns[ways[way].state]),
		   SAY_TIME(why_focus_time(w)));
	say_split(w, f, &s);
	say_instead(w, f, thread, &s);
	if (ways[way].state != SPAN_RUN && ways[way].state != SPAN_READY)
		say_sleep(w, f, thread, s.longest[ways[way].state]);
	busy_of(w, thread, 0, w->focus_ns, w->end_ns, &b);
	finding_busy(f, &b, "there");
	return 0;
}

static bool can_took(const struct why *w)
{
	return w->met && w->a.m->trigger_began_ns && why_can_switch(w);
}

const struct detector detect_took = {
	.name = "took", .per_thread = true, .find = find_took, .can = can_took};
