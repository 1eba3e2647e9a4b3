// SPDX-License-Identifier: MIT
/* More runnable threads than CPUs while all CPUs are busy. Each thread gets its share, so there is
 * no culprit; why.c runs this detector only if the others found nothing. */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"
#include <stdlib.h>
#include <string.h>

/* Shares of the time of all CPUs: minimum use, and minimum unmet demand. */
#define BUSY   0.95
#define WANTED 0.5
/* Share of the focus: minimum wait of one thread. */
#define WAITED 0.3
/* Names with less than 1/SMALL of the running time are not listed. */
#define SMALL	  50
#define MAX_USERS 64
#define SHOWN	  4

/* Threads of one name and priority. */
struct user {
	uint32_t thread; /* the one that ran longest */
	unsigned nr;
	uint64_t ns, most_ns;
	int16_t prio;
};

struct demand {
	struct user top[MAX_USERS]; /* the largest first */
	size_t nr;
	uint64_t run_ns, ready_ns;    /* all threads; without niced ones */
	uint64_t wanted_ns;	      /* run and ready, without niced threads */
	uint32_t victim;	      /* the one of these that waited longest; NO_THREAD */
	uint64_t waited_ns, worst_ns; /* total, and longest wait */
};

static bool same_name(const struct why *w, uint32_t a, uint32_t b)
{
	const char *x = schedule_thread(w->a.sched, a)->comm,
		   *y = schedule_thread(w->a.sched, b)->comm;

	return a == b || (x && y && !strcmp(x, y));
}

static void add_user(const struct why *w, struct demand *d, uint32_t thread, uint64_t ns)
{
	int16_t prio = why_prio(w, thread, w->end_ns);
	struct user *u;
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (d->top[i].prio == prio && same_name(w, d->top[i].thread, thread))
			break;
	if (i == MAX_USERS)
		return;
	u = &d->top[i];
	if (i == d->nr) {
		d->nr++;
		*u = (struct user){.thread = thread, .prio = prio};
	}
	u->nr++;
	u->ns += ns;
	if (ns > u->most_ns) {
		u->most_ns = ns;
		u->thread = thread;
	}
}

static int by_ns(const void *a, const void *b)
{
	const struct user *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static void measure(const struct why *w, uint64_t from_ns, uint64_t to_ns, struct demand *d)
{
	*d = (struct demand){.victim = NO_THREAD};
	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct sums s;

		sums_of(w, i, from_ns, to_ns, &s);
		d->run_ns += s.ns[SPAN_RUN];
		if (s.ns[SPAN_RUN])
			add_user(w, d, i, s.ns[SPAN_RUN]);
		if (why_is_kernel(w, i) || why_is_patient(w, i))
			continue;
		d->ready_ns += s.ns[SPAN_READY];
		d->wanted_ns += s.ns[SPAN_RUN] + s.ns[SPAN_READY];
		if (s.ns[SPAN_READY] <= d->waited_ns)
			continue;
		d->victim = i;
		d->waited_ns = s.ns[SPAN_READY];
		d->worst_ns = s.longest_ns[SPAN_READY];
	}
	qsort(d->top, d->nr, sizeof(d->top[0]), by_ns);
}

/* "wrk (2 threads) 31 %, make (812) (nice 10) 20 %" */
static void say_users(const struct why *w, struct finding *f, const struct demand *d)
{
	struct text *t = finding_line(f, "used");

	for (size_t i = 0; i < d->nr && i < SHOWN; i++) {
		const struct user *u = &d->top[i];

		if (u->ns * SMALL < d->run_ns)
			break;
		text_str(t, i ? ", " : "");
		if (u->nr > 1) {
			why_name(w, u->thread, t);
			text_fmt(t, " (%u threads)", u->nr);
		} else {
			why_who(w, u->thread, t);
		}
		why_say_prio(u->prio, t);
		text_fmt(t, " %.0f %%", 100 * why_ms(u->ns) / why_ms(d->run_ns));
	}
	text_fmt(t, " of the time that %zu CPU%s ran\n", schedule_nr_cpus(w->a.sched),
		 str_plural(schedule_nr_cpus(w->a.sched)));
}

static int find_overload(struct why *w, uint32_t thread, struct finding *f)
{
	double time = why_ms(why_focus_time(w)), cpus = (double)schedule_nr_cpus(w->a.sched);
	struct demand d, before;

	measure(w, w->focus_ns, w->end_ns, &d);
	if (d.victim == NO_THREAD || why_ms(d.run_ns) < BUSY * cpus * time ||
	    why_ms(d.ready_ns) < WANTED * cpus * time || why_ms(d.waited_ns) < WAITED * time)
		return 0;
	f->score = why_ms(d.ready_ns) / cpus;
	f->victim = d.victim;
	f->culprit = d.top[0].thread;
	f->sure = w->asked == NO_THREAD ? SURE_FAIRLY : SURE_CERTAIN;
	text_fmt(&f->verdict, "overload: on average %.1f threads were runnable on %.0f CPU%s; ",
		 why_ms(d.wanted_ns) / time, cpus, cpus > 1 ? "s" : "");
	why_phrase(w, &f->verdict, "{thread} waited for a CPU {percent} of the last {time}",
		   SAY_THREAD(d.victim), SAY_PERCENT(why_ms(d.waited_ns) / time),
		   SAY_TIME(why_focus_time(w)));
	say_users(w, f, &d);
	finding_say(w, f, "waits", "{thread} waited {time}, longest {time}", SAY_THREAD(d.victim),
		    SAY_TIME(d.waited_ns), SAY_TIME(d.worst_ns));
	if (w->focus_ns - w->from_ns < why_focus_time(w) / 10)
		return 0;
	measure(w, w->from_ns, w->focus_ns, &before);
	text_fmt(finding_line(f, "before"), "%.1f threads were runnable\n",
		 why_ms(before.wanted_ns) / why_ms(w->focus_ns - w->from_ns));
	return 0;
}

static bool can_overload(const struct why *w)
{
	return why_can_switch(w) && !schedule_is_partial(w->a.sched);
}

const struct detector detect_overload = {
	.name = "overload", .find = find_overload, .can = can_overload};
