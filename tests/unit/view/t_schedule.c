/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The schedule: spans of threads and runs of CPUs, from hand-made events with known results; from
 * rings that begin at different times; with events missing. Whatever the events, the spans of a
 * thread follow each other and the runs of a CPU do not overlap.
 */
#include "dump/view/schedule/schedule.h"

#include "dump/view/unwind/call_chains.h"
#include "dump/view/print/fields.h"
#include "dump/view/model/process_history.h"
#include "dump/view/model/timeline.h"
#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE   (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define SWITCH 301
#define WAKING 302
#define WAKEUP 303
#define FORK   304

#define NR_CPUS 4
#define HARDIRQ 0x08
#define SOFTIRQ 0x10

#define COMMON(name)                                                                               \
	"name: " name "\nID: 1\nformat:\n"                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(name, at) "\tfield:int " name ";\toffset:" #at ";\tsize:4;\tsigned:1;\n"
#define END		"\nprint fmt: \"\"\n"

#define WAKE_FIELDS FIELD("pid", 8) FIELD("prio", 12) FIELD("target_cpu", 16) END

static const char switch_format[] =
	COMMON("sched_switch") FIELD("prev_pid", 8) FIELD("prev_prio", 12) FIELD("prev_state", 16)
		FIELD("next_pid", 20) FIELD("next_prio", 24) END;
static const char waking_format[] = COMMON("sched_waking") WAKE_FIELDS;
static const char wakeup_format[] = COMMON("sched_wakeup") WAKE_FIELDS;
static const char fork_format[] =
	COMMON("sched_process_fork") FIELD("parent_pid", 8) FIELD("child_pid", 12) END;

struct raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t v[5];
};

/* A dump in the making: a ring for each CPU. */
struct story {
	struct mk d;
	struct mk_records rings[NR_CPUS];
	uint64_t last[NR_CPUS], first[NR_CPUS];
	struct fmt_window windows[NR_CPUS];
	int nr_windows; /* CPUs from this on have no ring */
};

static struct story *begin_as(uint32_t flags)
{
	static struct story s;

	s = (struct story){.d = mk_begin(), .nr_windows = NR_CPUS};
	mk_host_as(&s.d, FMT_HOST_INITIAL_PIDNS | flags);
	mk_trigger(&s.d, 100000);
	mk_channel(&s.d, 0, "sched", TYPE);
	mk_event(&s.d, 0, 0, "sched:sched_switch", SWITCH, TYPE);
	mk_event(&s.d, 1, 0, "sched:sched_waking", WAKING, TYPE);
	mk_event(&s.d, 2, 0, "sched:sched_wakeup", WAKEUP, TYPE);
	mk_event(&s.d, 3, 0, "sched:sched_process_fork", FORK, TYPE);
	mk_format(&s.d, SWITCH, "sched", switch_format);
	mk_format(&s.d, WAKING, "sched", waking_format);
	mk_format(&s.d, WAKEUP, "sched", wakeup_format);
	mk_format(&s.d, FORK, "sched", fork_format);
	for (int i = 0; i < NR_CPUS; i++)
		s.windows[i] = (struct fmt_window){.ring = (uint32_t)i,
						   .cpu = i,
						   .tid = -1,
						   .armed_ns = 1000,
						   .paused_ns = 100000};
	return &s;
}

static struct story *begin(void)
{
	return begin_as(0);
}

static void put(struct story *s, int cpu, uint64_t ns, const struct raw *raw, size_t nr)
{
	mk_sample(&s->rings[cpu], ns, raw, (uint32_t)(8 + 4 * nr));
	s->first[cpu] = s->first[cpu] ? s->first[cpu] : ns;
	s->last[cpu] = ns;
}

static void do_switch(struct story *s, int cpu, uint64_t ns, int prev, int state, int next)
{
	put(s, cpu, ns, &(struct raw){SWITCH, 0, 0, prev, {prev, 120, state, next, 120}}, 5);
}

static void do_waking(struct story *s, int cpu, uint64_t ns, int by, int flags, int whom, int on)
{
	put(s, cpu, ns, &(struct raw){WAKING, (uint8_t)flags, 0, by, {whom, 120, on}}, 3);
}

static void do_wakeup(struct story *s, int cpu, uint64_t ns, int by, int whom, int on)
{
	put(s, cpu, ns, &(struct raw){WAKEUP, 0, 0, by, {whom, 120, on}}, 3);
}

static void do_fork(struct story *s, int cpu, uint64_t ns, int parent, int child)
{
	put(s, cpu, ns, &(struct raw){FORK, 0, 0, parent, {parent, child}}, 2);
}

/* Everything that it takes to ask a schedule. */
struct told {
	struct story *s;
	struct reader *r;
	struct meta *m;
	struct process_history *p;
	struct fields *f;
	struct schedule *sched;
};

static struct told tell(struct story *s)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct told t = {.s = s};
	struct timeline_record rec;
	struct timeline *tl;

	for (int i = 0; i < s->nr_windows; i++) {
		s->windows[i].nr_records = s->rings[i].nr;
		s->windows[i].first_ns = s->first[i];
		s->windows[i].last_ns = s->last[i];
		mk_window(&s->d, &s->windows[i]);
	}
	for (uint32_t i = 0; i < NR_CPUS; i++) {
		if (s->rings[i].nr)
			mk_block(&s->d, i, 0, s->first[i], s->last[i], &s->rings[i]);
		mk_records_free(&s->rings[i]);
	}
	t.r = mk_end(&s->d);
	t.m = mk_meta(t.r);
	assert_int_equal(history_load(t.r, &t.p, NULL), 0);
	assert_int_equal(fields_new(t.m, &t.f, NULL), 0);
	assert_int_equal(schedule_new(t.m, t.f, t.p, NULL, &t.sched, NULL), 0);
	assert_int_equal(timeline_open(t.r, t.m, &opt, &tl, NULL), 0);
	while (timeline_next(tl, &rec, NULL) > 0)
		assert_int_equal(schedule_feed(t.sched, &rec), 0);
	timeline_close(tl);
	assert_int_equal(schedule_end(t.sched), 0);
	return t;
}

static void forget(struct told *t)
{
	schedule_free(t->sched);
	fields_free(t->f);
	history_free(t->p);
	meta_free(t->m);
	mk_close(&t->s->d, t->r);
}

/* What must hold whatever the events are. */
static void check_order(const struct schedule *s)
{
	for (uint32_t i = 1; i < schedule_nr_threads(s); i++) {
		const struct schedule_thread *t = schedule_thread(s, i);

		for (size_t k = 0; k < t->nr; k++) {
			const struct span *span = schedule_span(s, t->first + k);

			assert_int_equal(span->thread, i);
			assert_true(span->from_ns <= span->to_ns);
			if (k)
				assert_true(span[-1].to_ns <= span->from_ns);
		}
	}
	for (size_t cpu = 0; cpu < schedule_nr_cpus(s); cpu++)
		for (size_t i = 0; i < schedule_nr_runs(s, cpu); i++) {
			const struct span *run = schedule_run(s, cpu, i);

			assert_int_equal(run->state, SPAN_RUN);
			assert_int_equal(run->cpu, cpu);
			if (i)
				assert_true(schedule_run(s, cpu, i - 1)->to_ns <= run->from_ns);
		}
}

static const struct span *at(const struct told *t, uint32_t tid, uint64_t ns)
{
	uint32_t thread = schedule_find(t->sched, tid);

	assert_int_not_equal(thread, NO_THREAD);
	return schedule_at(t->sched, thread, ns);
}

static void check_span(const struct told *t, uint32_t tid, uint64_t from, uint64_t to, int state)
{
	const struct span *s = at(t, tid, from);

	assert_non_null(s);
	assert_int_equal(s->from_ns, from);
	assert_int_equal(s->to_ns, to);
	assert_int_equal(s->state, state);
}

static uint32_t tid_of(const struct told *t, uint32_t thread)
{
	return thread == NO_THREAD ? UINT32_MAX : schedule_thread(t->sched, thread)->tid;
}

static void test_a_sleep_and_who_ended_it(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_switch(s, 0, 3000, 10, 1, 0);
	do_switch(s, 1, 2500, 0, 0, 20);
	do_waking(s, 1, 5000, 20, 0, 10, 0);
	do_switch(s, 0, 5500, 0, 0, 10);
	do_switch(s, 0, 9000, 10, 2, 0);
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 2000, 3000, SPAN_RUN);
	check_span(&t, 10, 3000, 5000, SPAN_SLEEP);
	check_span(&t, 10, 5000, 5500, SPAN_READY);
	check_span(&t, 10, 5500, 9000, SPAN_RUN);
	check_span(&t, 10, 9000, 100000, SPAN_BLOCKED);
	assert_int_equal(tid_of(&t, at(&t, 10, 3000)->by), 20);
	assert_int_equal(tid_of(&t, at(&t, 10, 9000)->by), UINT32_MAX);
	assert_true(at(&t, 10, 9000)->flags & SPAN_OPEN);
	assert_int_equal(at(&t, 10, 5000)->cpu, 0);
	/* Between two runs the CPU was idle, and that is a run of the idle task. */
	assert_int_equal(schedule_nr_runs(t.sched, 0), 4);
	assert_int_equal(schedule_run(t.sched, 0, 1)->thread, 0);
	assert_int_equal(schedule_run(t.sched, 0, 1)->from_ns, 3000);
	assert_int_equal(schedule_run(t.sched, 0, 1)->to_ns, 5500);
	forget(&t);
}

static void test_kinds_of_ends_and_wakers(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_switch(s, 0, 3000, 10, 0x100, 11); /* preempted */
	do_switch(s, 0, 4000, 11, 0x04, 12);  /* stopped */
	do_switch(s, 0, 5000, 12, 0x20, 10);  /* ended */
	do_waking(s, 0, 6000, 10, HARDIRQ, 11, 0);
	do_switch(s, 0, 7000, 10, 0, 11); /* gave way */
	do_switch(s, 0, 8000, 11, 0x80, 10);
	do_waking(s, 0, 9000, 10, SOFTIRQ, 11, 2);
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 3000, 5000, SPAN_READY);
	assert_true(at(&t, 10, 3000)->flags & SPAN_PREEMPTED);
	check_span(&t, 11, 4000, 6000, SPAN_STOPPED);
	assert_true(at(&t, 11, 4000)->flags & SPAN_HARDIRQ);
	check_span(&t, 10, 7000, 8000, SPAN_READY);
	check_span(&t, 11, 8000, 9000, SPAN_SLEEP);
	assert_true(at(&t, 11, 8000)->flags & SPAN_SOFTIRQ);
	check_span(&t, 11, 9000, 100000, SPAN_READY);
	assert_int_equal(at(&t, 11, 9000)->cpu, 2);
	assert_null(at(&t, 12, 5001)); /* of one that ended, nothing */
	forget(&t);
}

static void test_a_tid_that_is_used_again(void **state)
{
	struct story *s = begin();
	struct told t;
	size_t nr = 0;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_switch(s, 0, 3000, 10, 0x20, 20);
	do_fork(s, 0, 4000, 20, 10);
	do_switch(s, 1, 5000, 0, 0, 10);
	do_switch(s, 1, 6000, 10, 1, 0);
	t = tell(s);
	check_order(t.sched);
	for (uint32_t i = 1; i < schedule_nr_threads(t.sched); i++)
		nr += schedule_thread(t.sched, i)->tid == 10;
	assert_int_equal(nr, 2);
	check_span(&t, 10, 4000, 5000, SPAN_READY); /* the later one is found */
	assert_true(at(&t, 10, 4000)->flags & SPAN_FORKED);
	assert_int_equal(tid_of(&t, at(&t, 10, 4000)->by), 20);
	assert_null(at(&t, 10, 2500));
	forget(&t);
}

/* CPU 0 is known from 2000 on, CPU 1 from 50000 on: in between, thread 10 may have run there. */
static void test_rings_that_begin_at_different_times(void **state)
{
	struct story *s = begin();
	uint64_t from, to;
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_switch(s, 0, 3000, 10, 1, 30);
	do_switch(s, 0, 60000, 30, 1, 0);
	do_switch(s, 1, 50000, 40, 1, 0);
	do_switch(s, 1, 70000, 0, 0, 40);
	s->windows[1].overwritten_bytes = 4096;
	t = tell(s);
	check_order(t.sched);
	schedule_window(t.sched, &from, &to);
	assert_int_equal(from, 50000);
	assert_int_equal(to, 100000);
	assert_null(at(&t, 10, 60000));
	assert_null(at(&t, 10, 99999));
	check_span(&t, 30, 50000, 60000, SPAN_RUN);
	forget(&t);
}

/* CPU 1 does not trace switches out of idle: a thread woken there runs there. */
static void test_a_cpu_that_leaves_idle_unseen(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 1, 2000, 10, 1, 0);
	do_waking(s, 0, 5000, 20, 0, 10, 1);
	do_switch(s, 1, 9000, 10, 1, 0);
	do_waking(s, 0, 10000, 20, 0, 10, 1);
	do_waking(s, 0, 10500, 20, 0, 11, 1);
	do_switch(s, 1, 12000, 10, 1, 11);
	do_switch(s, 1, 13000, 11, 1, 0);
	do_waking(s, 0, 20000, 20, 0, 10, 1); /* and it is not heard of again */
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 2000, 5000, SPAN_SLEEP);
	check_span(&t, 10, 5000, 9000, SPAN_RUN);
	check_span(&t, 10, 10000, 12000, SPAN_RUN);
	check_span(&t, 11, 10500, 12000, SPAN_READY);
	check_span(&t, 10, 20000, 100000, SPAN_UNKNOWN);
	/* Idle until 5000, from 9000 to 10000, and from 13000 on. */
	assert_int_equal(schedule_run(t.sched, 1, 1)->to_ns, 5000);
	forget(&t);
}

/* sched_waking comes just before the switch of the thread that it wakes. */
static void test_a_thread_that_is_woken_as_it_leaves(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 1, 2000000, 0, 0, 10);
	do_waking(s, 0, 2990000, 20, 0, 10, 1);
	do_switch(s, 1, 3000000, 10, 1, 0);
	/* CPU 1 does not trace switches out of idle. */
	do_waking(s, 0, 3990000, 20, 0, 10, 1);
	do_switch(s, 1, 4000000, 10, 1, 0);
	/* This wake-up found it on its queue. */
	do_switch(s, 1, 5000000, 0, 0, 11);
	do_waking(s, 0, 5990000, 20, 0, 11, 1);
	do_wakeup(s, 0, 5991000, 20, 11, 1);
	do_switch(s, 1, 6000000, 11, 1, 0);
	/* This one came long before. */
	do_switch(s, 1, 7000000, 0, 0, 12);
	do_waking(s, 0, 7100000, 20, 0, 12, 1);
	do_switch(s, 1, 8000000, 12, 1, 0);
	for (int i = 0; i < NR_CPUS; i++)
		s->windows[i].paused_ns = 9000000;
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 2000000, 3000000, SPAN_RUN);
	check_span(&t, 10, 3000000, 4000000, SPAN_RUN);
	check_span(&t, 11, 6000000, 9000000, SPAN_SLEEP);
	check_span(&t, 12, 8000000, 9000000, SPAN_SLEEP);
	forget(&t);
}

/* Only a sleeping thread is woken: between two wake-ups it ran, at an unknown time. */
static void test_a_thread_that_is_woken_twice(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 20);
	do_switch(s, 1, 2500, 0, 0, 30);
	do_waking(s, 0, 5000, 20, 0, 10, 1);
	do_waking(s, 0, 50000, 20, 0, 10, 1);
	do_switch(s, 1, 51000, 30, 1, 10);
	/* Preempted on its way to sleep, it may well be woken. */
	do_switch(s, 1, 52000, 10, 0x100, 30);
	do_waking(s, 0, 53000, 20, 0, 10, 1);
	do_switch(s, 1, 54000, 30, 1, 10);
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 5000, 50000, SPAN_UNKNOWN);
	check_span(&t, 10, 50000, 51000, SPAN_READY);
	check_span(&t, 10, 52000, 54000, SPAN_READY);
	forget(&t);
}

/* It was to run on CPU 0 and was met on CPU 1, which had been idle: when did it come there? */
static void test_a_wait_that_ends_elsewhere_unseen(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 1, 2000, 40, 1, 0);
	do_switch(s, 0, 2000, 0, 0, 20);
	do_waking(s, 0, 5000, 20, 0, 10, 0);
	do_switch(s, 1, 60000, 10, 1, 0);
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 5000, 60000, SPAN_UNKNOWN);
	forget(&t);
}

/* Thread 10 alone was recorded: of 20 nothing is known but that it came after it, and its name. */
static void test_a_target(void **state)
{
	struct story *s = begin_as(FMT_HOST_TARGET);
	struct told t;
	uint32_t other;

	do_switch(s, 0, 2000, 10, 1, 20);
	do_waking(s, 0, 40000, 10, 0, 30, 1);
	do_switch(s, 0, 50000, 10, 0x100, 20);
	t = tell(s);
	check_order(t.sched);
	assert_true(schedule_is_partial(t.sched));
	other = schedule_find(t.sched, 20);
	assert_int_not_equal(other, NO_THREAD);
	assert_int_equal(schedule_thread(t.sched, other)->nr, 0);
	other = schedule_find(t.sched, 30);
	assert_int_equal(schedule_thread(t.sched, other)->nr, 0);
	for (size_t i = 0; i < schedule_nr_runs(t.sched, 0); i++)
		assert_int_equal(tid_of(&t, schedule_run(t.sched, 0, i)->thread), 10);
	check_span(&t, 10, 50000, 100000, SPAN_READY);
	forget(&t);
}

/* Only CPU 0 was recorded: a thread that left it may have run on CPU 1. */
static void test_some_cpus(void **state)
{
	struct story *s = begin();
	struct told t;

	s->nr_windows = 1;
	do_switch(s, 0, 2000, 0, 0, 10);
	do_switch(s, 0, 10000, 10, 0, 20);
	do_waking(s, 0, 30000, 20, 0, 30, 0);
	do_switch(s, 0, 50000, 20, 1, 10);
	t = tell(s);
	check_order(t.sched);
	assert_true(schedule_is_partial(t.sched));
	assert_true(schedule_lacks_cpus(t.sched));
	check_span(&t, 10, 2000, 10000, SPAN_RUN);
	check_span(&t, 10, 10000, 50000, SPAN_UNKNOWN);
	check_span(&t, 10, 50000, 100000, SPAN_RUN);
	check_span(&t, 20, 50000, 100000, SPAN_UNKNOWN);
	check_span(&t, 30, 30000, 100000, SPAN_UNKNOWN);
	forget(&t);
}

/* The ring reports lost records: the running thread is unknown there. */
static void test_lost_records(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_waking(s, 0, 3000, 10, 0, 77, 1);
	mk_lost(&s->rings[0], 9000, 0, 5);
	do_switch(s, 0, 12000, 20, 1, 0);
	t = tell(s);
	check_order(t.sched);
	assert_int_equal(at(&t, 10, 2000)->to_ns, 3000);
	assert_true(at(&t, 10, 2000)->flags & SPAN_GUESSED);
	assert_null(at(&t, 10, 5000));
	forget(&t);
}

/* A switch is missing without a word: the next ones tell. */
static void test_a_missing_switch(void **state)
{
	struct story *s = begin();
	struct told t;

	do_switch(s, 0, 2000, 0, 0, 10);
	do_waking(s, 0, 4000, 20, 0, 77, 1); /* so 20 was there by now */
	do_switch(s, 0, 6000, 20, 1, 0);
	t = tell(s);
	check_order(t.sched);
	check_span(&t, 10, 2000, 4000, SPAN_RUN);
	assert_true(at(&t, 10, 2000)->flags & SPAN_GUESSED);
	check_span(&t, 20, 4000, 6000, SPAN_RUN);
	check_span(&t, 20, 6000, 100000, SPAN_SLEEP);
	forget(&t);
}

/* ---- a machine made up ---- */

#define NR_THREADS 12

struct machine {
	int on[NR_CPUS];	    /* tid that runs, 0 idle */
	int asleep[NR_THREADS + 1]; /* by tid; 0 ready or running */
	uint64_t ran_ns[NR_THREADS + 1], since[NR_CPUS];
	uint64_t seed;
};

static uint32_t draw(struct machine *m, uint32_t below)
{
	m->seed = m->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(m->seed >> 33) % below;
}

static int pick(struct machine *m)
{
	int tid = (int)draw(m, NR_THREADS) + 1;

	for (int i = 0; i < NR_CPUS; i++)
		if (m->on[i] == tid)
			return 0;
	return m->asleep[tid] ? 0 : tid;
}

/* Drops `drop` in 100 events. */
static struct told make_up(struct machine *m, uint32_t drop)
{
	static const int states[] = {0, 1, 2, 0x100};
	struct story *s = begin();

	for (uint64_t ns = 1010; ns < 99000; ns += 10) {
		int cpu = (int)draw(m, NR_CPUS), state = states[draw(m, 4)], prev = m->on[cpu];
		int whom = (int)draw(m, NR_THREADS) + 1, next;
		bool heard = draw(m, 100) >= drop;

		if (draw(m, 2) && m->asleep[whom]) {
			m->asleep[whom] = 0;
			if (heard)
				do_waking(s, cpu, ns, prev, 0, whom, cpu);
			continue;
		}
		next = pick(m);
		if (next == prev)
			continue;
		if (prev) {
			m->asleep[prev] = state == 1 || state == 2;
			m->ran_ns[prev] += ns - m->since[cpu];
		}
		m->on[cpu] = next;
		m->since[cpu] = ns;
		if (heard)
			do_switch(s, cpu, ns, prev, state, next);
	}
	for (int i = 0; i < NR_CPUS; i++)
		m->ran_ns[m->on[i]] += 100000 - m->since[i];
	return tell(s);
}

static void test_a_made_up_machine(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct machine m = {.seed = seed, .since = {1000, 1000, 1000, 1000}};
		struct told t = make_up(&m, 0);

		check_order(t.sched);
		for (uint32_t tid = 1; tid <= NR_THREADS; tid++) {
			uint32_t thread = schedule_find(t.sched, tid);
			const struct schedule_thread *of = schedule_thread(t.sched, thread);
			uint64_t ran = 0;

			for (size_t i = 0; i < of->nr; i++) {
				const struct span *span = schedule_span(t.sched, of->first + i);

				assert_false(span->flags & SPAN_GUESSED);
				ran += span->state == SPAN_RUN ? span->to_ns - span->from_ns : 0;
				/* Nothing is left out between its spans. */
				if (i)
					assert_int_equal(span[-1].to_ns, span->from_ns);
			}
			assert_int_equal(ran, m.ran_ns[tid]);
		}
		forget(&t);
	}
}

static void test_a_made_up_machine_with_holes(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct machine m = {.seed = seed};
		struct told t = make_up(&m, 1 + (uint32_t)seed % 30);

		check_order(t.sched);
		forget(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sleep_and_who_ended_it),
		cmocka_unit_test(test_kinds_of_ends_and_wakers),
		cmocka_unit_test(test_a_tid_that_is_used_again),
		cmocka_unit_test(test_rings_that_begin_at_different_times),
		cmocka_unit_test(test_a_cpu_that_leaves_idle_unseen),
		cmocka_unit_test(test_a_thread_that_is_woken_as_it_leaves),
		cmocka_unit_test(test_a_thread_that_is_woken_twice),
		cmocka_unit_test(test_a_wait_that_ends_elsewhere_unseen),
		cmocka_unit_test(test_a_target),
		cmocka_unit_test(test_some_cpus),
		cmocka_unit_test(test_lost_records),
		cmocka_unit_test(test_a_missing_switch),
		cmocka_unit_test(test_a_made_up_machine),
		cmocka_unit_test(test_a_made_up_machine_with_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
