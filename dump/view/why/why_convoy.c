// SPDX-License-Identifier: MIT
/* Threads of a process that queue for one lock. */
#include "dump/view/why/why_impl.h"

#include "dump/base/str.h"
#include <errno.h>
#include <string.h>

#define MS 1000000ull

static uint32_t pid_of(const struct why *w, uint32_t thread)
{
	return schedule_thread(w->a.sched, thread)->pid;
}

#define MAX_HANDS 64

struct convoy {
	uint64_t ns;	      /* time that the thread waited in the queue */
	uint64_t hand_ns;     /* sum over waits: time times number of siblings passed */
	uint64_t held_ns;     /* siblings' running time during the waits */
	unsigned nr, nr_held; /* waits; times that a sibling ran */
	uint32_t hands[MAX_HANDS];
	uint64_t hands_ns[MAX_HANDS];
	unsigned nr_hands;
};

struct wait {
	uint64_t ns;
	uint32_t hands[MAX_HANDS];
	unsigned nr;
};

static void add_hand(uint32_t *hands, unsigned *nr, uint64_t *sums, uint32_t thread, uint64_t ns)
{
	unsigned i;

	for (i = 0; i < *nr && hands[i] != thread; i++)
		;
	if (i == MAX_HANDS)
		return;
	hands[i] = thread;
	*nr += i == *nr;
	if (sums)
		sums[i] += ns;
}

static void end_wait(struct convoy *c, struct wait *wait)
{
	if (wait->nr) {
		c->nr++;
		c->ns += wait->ns;
		c->hand_ns += wait->ns * wait->nr;
	}
	*wait = (struct wait){0};
}

/* Collects the path's pieces at siblings, wait by wait. */
static struct convoy convoy_of(const struct why *w, uint32_t thread)
{
	struct convoy c = {0};
	struct wait wait = {0};

	for (size_t i = 0; i < path_nr(&w->path); i++) {
		const struct piece *p = path_piece(&w->path, i);
		uint64_t ns = p->to_ns - p->from_ns;

		if (!p->depth) {
			end_wait(&c, &wait);
			continue;
		}
		if (pid_of(w, p->thread) != pid_of(w, thread) ||
		    (p->kind != LOST_RUN && p->kind != LOST_READY && p->kind != LOST_BLOCKED))
			continue;
		wait.ns += ns;
		add_hand(wait.hands, &wait.nr, NULL, p->thread, ns);
		add_hand(c.hands, &c.nr_hands, c.hands_ns, p->thread, ns);
		if (p->kind == LOST_RUN) {
			c.held_ns += ns;
			c.nr_held++;
		}
	}
	end_wait(&c, &wait);
	return c;
}

/* The stack of the longest sleep that a sibling ended: where the thread queues. */
static uint32_t where_in_line(const struct why *w, uint32_t thread)
{
	const struct schedule_thread *t = schedule_thread(w->a.sched, thread);
	uint32_t chain = CHAIN_NONE;
	uint64_t longest = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct span *s = schedule_span(w->a.sched, t->first + i);
		uint64_t ns = overlap(s->from_ns, s->to_ns, w->focus_ns, w->end_ns);

		if (s->state == SPAN_SLEEP && ns > longest && path_woken_by_thread(w, s) &&
		    pid_of(w, s->by) == t->pid) {
			longest = ns;
			chain = s->chain;
		}
	}
	return chain;
}

/* False for places where threads wait for work or for data, not for a lock. */
static bool is_lock(enum wait_class c)
{
	return c == WAIT_UNKNOWN || c == WAIT_FUTEX || c == WAIT_LOCK || c == WAIT_INTERPRETER ||
	       c == WAIT_ADDRESS_SPACE || c == WAIT_DIRECTORY || c == WAIT_FILE_LOCK ||
	       c == WAIT_KERNEL_LOCK;
}

/* False: too few waits, or one thread is to blame for most of them. Of a rule's duration, one wait
 * is enough. */
static bool is_convoy(const struct why *w, uint32_t thread, const struct convoy *c)
{
	bool asked = thread == w->asked, whole = asked && why_interval(w);
	uint64_t most = 0;

	for (unsigned i = 0; i < c->nr_hands; i++)
		most = c->hands_ns[i] > most ? c->hands_ns[i] : most;
	if (c->nr_hands < 3 || 2 * most > c->ns || c->hand_ns < 2 * c->ns)
		return false;
	if (whole)
		return 2 * c->ns >= why_focus_time(w);
	return c->nr >= 5 && c->ns >= (asked ? 50 * MS : 150 * MS) &&
	       (asked || 5 * c->ns >= why_focus_time(w));
}

/* In a convoy each wait passes through several siblings in turn, so that no single one is the
 * culprit. A thread of a pool that waits for work is woken by one sibling only. */
static int find_convoy(struct why *w, uint32_t thread, struct finding *f)
{
	enum wait_class class;
	struct convoy c;
	struct busy b;
	struct text *t;
	int rc;

	if (!pid_of(w, thread))
		return 0;
	rc = path_of(w, thread);
	if (rc)
		return rc;
	c = convoy_of(w, thread);
	if (!is_convoy(w, thread, &c))
		return 0;
	class = wait_class_of(w, where_in_line(w, thread));
	if (!is_lock(class))
		return 0;
	busy_of(w, thread, pid_of(w, thread), w->focus_ns, w->end_ns, &b);
	f->score = why_ms(c.ns) * 1.5;
	f->culprit = c.hands[0];
	f->sure = class == WAIT_UNKNOWN || class == WAIT_FUTEX ? SURE_FAIRLY : SURE_CERTAIN;
	t = &f->verdict;
	why_phrase(w, t,
		   "lock convoy: {nr} threads queue for a lock; {thread} waited {time} of the last "
		   "{time}",
		   SAY_NR(c.nr_hands + 1), SAY_THREAD(thread), SAY_TIME(c.ns),
		   SAY_TIME(why_focus_time(w)));
	if (b.hits)
		why_phrase(w, t, " for {function} in the others", SAY_FUNCTION(&b.function));
	t = finding_line(f, "queue");
	why_phrase(w, t, "{nr} wait{s} of {time} on average, ", SAY_NR(c.nr),
		   SAY_TIME(c.ns / c.nr));
	text_fmt(t, "each behind %.1f other threads, ", (double)c.hand_ns / (double)c.ns);
	why_phrase(w, t, "{time} in each\n", SAY_TIME(c.nr_held ? c.held_ns / c.nr_held : 0));
	t = finding_line(f, "others");
	for (unsigned i = 0; i < c.nr_hands && i < 6; i++) {
		text_str(t, i ? ", " : "");
		why_phrase(w, t, "{thread} {time}", SAY_THREAD(c.hands[i]),
			   SAY_TIME(c.hands_ns[i]));
	}
	text_str(t, "\n");
	finding_busy(f, &b, "holding");
	finding_asleep(w, f, where_in_line(w, thread), "where");
	f->more = schedule_has_stacks(w->a.sched)
			  ? NULL
			  : "which lock: stacks of sleeping threads (--preset "
			    "waits), or futex calls (-e raw_syscalls:*)";
	return 0;
}

const struct detector detect_convoy = {
	.name = "lock-convoy", .per_thread = true, .find = find_convoy, .can = why_can_wake};
