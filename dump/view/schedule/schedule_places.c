// SPDX-License-Identifier: MIT
/* The stacks of sleeps and of wakers, from the samples of sleep-stacks; see schedule.h. */
#include "dump/view/unwind/call_chains.h"
#include "dump/view/schedule/schedule_impl.h"

uint32_t schedule_place_of(const struct schedule *s, const struct live_thread *t, uint64_t ns)
{
	bool known = t->place_ns >= s->places_from_ns && ns <= s->places_to_ns &&
		     ns < t->place_ns + SLEEP_RENEW_NS + SLEEP_NEAR_NS;

	return known ? t->place : CHAIN_NONE;
}

/* Adds the waker's stack to the previous wake-up, which ended one of the last spans. */
static void name_waker(struct schedule *s, uint32_t thread, uint32_t chain, uint64_t ns)
{
	struct span *spans = (struct span *)s->spans.p;
	size_t nr = s->spans.len / sizeof(*spans);

	for (size_t i = nr; i-- > 0 && nr - i < 64;) {
		if (spans[i].thread != thread || spans[i].state == SPAN_RUN)
			continue;
		if (schedule_is_near(spans[i].to_ns, ns) && spans[i].by != NO_THREAD &&
		    !spans[i].by_chain) {
			spans[i].by_chain = chain;
			live_of(s, thread)->waker_ns = 0;
		}
		return;
	}
}

static bool is_asleep(const struct span *s)
{
	return s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED || s->state == SPAN_STOPPED;
}

/* Adds the stack to the thread's sleep, which a wake-up may have ended already. */
static void set_place(struct schedule *s, struct live_thread *t, uint32_t chain)
{
	struct span *spans = (struct span *)s->spans.p;
	size_t nr = s->spans.len / sizeof(*spans);

	if (t->known && is_asleep(&t->now))
		t->now.chain = chain;
	if (!t->known || t->now.state != SPAN_READY || t->now.flags & SPAN_PREEMPTED)
		return;
	for (size_t i = nr; i-- > 0 && nr - i < 64;)
		if (spans[i].thread == t->now.thread) {
			if (is_asleep(&spans[i]))
				spans[i].chain = chain;
			return;
		}
}

void schedule_take_stack(struct schedule *s, uint32_t thread, uint32_t kind, uint32_t chain,
			 uint64_t ns)
{
	struct live_thread *t = live_of(s, thread);

	if (kind == SLEEP_ENDS) {
		t->waker = chain;
		t->waker_ns = ns;
		name_waker(s, thread, chain, ns);
	} else if (kind == SLEEP_BEGINS) {
		t->place = chain;
		t->place_ns = ns;
		set_place(s, t, chain);
	}
}
