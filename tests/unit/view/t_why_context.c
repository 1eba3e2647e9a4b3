/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* What the states of threads at the freeze add to the verdict, and what a baseline takes from it. */
#include "tests/helpers/why_story.h"

#include <sched.h>

/* A thread at the freeze; `cpus`: its affinity mask. */
static void state_of(struct story *s, struct fmt_thread_state f, uint64_t cpus)
{
	f.pid = f.pid ? f.pid : f.tid;
	f.state = 'S';
	f.flags = FMT_THREAD_SCHED | (f.futex_owner ? FMT_THREAD_FUTEX : 0);
	f.syscall = f.fd = -1;
	mk_thread(&s->d, &f, cpus, "\0\0\0\0", 5);
}

/* Two threads hold what the other one waits for, or one waits for the other that is just asleep. */
static void test_deadlock(void **state)
{
	for (int locked = 0; locked < 2; locked++) {
		struct story *s = begin();
		struct said said;

		task(s, 30, 30, "teller");
		task(s, 31, 30, "auditor");
		run(s, 0, 1, SLEEPS, 30);
		run(s, 1, 2, SLEEPS, 31);
		for (uint64_t ns = 100 * MS; ns < 130 * MS; ns += 2 * MS) {
			run(s, 0, ns, SLEEPS, 0);
			wake(s, 1, ns + MS, 0, 30, 0);
			run(s, 0, ns + MS + 1000, SLEEPS, 30);
		}
		run(s, 0, HIT - 600 * MS, SLEEPS, 0);
		run(s, 1, HIT - 500 * MS, SLEEPS, 0);
		run(s, 0, HIT - 10, SLEEPS, 0);
		state_of(s, (struct fmt_thread_state){.tid = 30, .pid = 30, .futex_owner = 31}, 0);
		state_of(s,
			 (struct fmt_thread_state){
				 .tid = 31, .pid = 30, .futex_owner = locked ? 30 : 0},
			 0);
		said = ask(s, (struct why_options){.tid = 30});
		assert_int_equal(!strncmp(said.text, "deadlock: teller (30) waited 600 ms", 35),
				 locked);
		assert_int_equal(!!strstr(said.text, "for a lock held by teller (30)"), locked);
		if (locked)
			expect(&said, "kind", "deadlock");
		expect_tid(&said, "culprit", 31);
		forget(&said);
	}
}

/* Thread 30 waits for CPU 0, which another has, for 400 ms, while CPU 1 is idle. */
static struct story *starved(uint32_t hog_pid)
{
	struct story *s = begin();

	task(s, 30, 30, "worker");
	task(s, 31, hog_pid, "worker");
	run(s, 0, 1, SLEEPS, 31);
	run(s, 1, 2, SLEEPS, 0);
	run(s, 1, 100 * MS, SLEEPS, 0);
	wake(s, 0, HIT - 400 * MS, 0, 30, 0);
	run(s, 0, HIT - 1000, PREEMPT, 30);
	run(s, 1, HIT - 900, SLEEPS, 0);
	run(s, 0, HIT - 10, SLEEPS, 0);
	return s;
}

/* A setting of the thread explains why it waited: its policy, its nice value, its mask. */
static void test_limits(void **state)
{
	static const struct {
		struct fmt_thread_state f;
		uint64_t cpus;
		uint32_t hog_pid;
		const char *kind, *text;
	} cases[] = {
		{{.tid = 30, .policy = SCHED_IDLE},
		 3,
		 31,
		 "low-priority",
		 "the scheduling policy of worker (30) is SCHED_IDLE"},
		{{.tid = 30, .nice = 10},
		 3,
		 31,
		 "low-priority",
		 "the priority of worker (30) is low (nice 10)"},
		{{.tid = 30}, 1, 30, "affinity", "the affinity of worker (30) allows only CPU 0"},
		{{.tid = 30}, 3, 31, "cpu-contention", "worker (31) had it 100 % of that time"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct story *s = starved(cases[i].hog_pid);
		struct said said;

		state_of(s, cases[i].f, cases[i].cpus);
		said = ask(s, (struct why_options){.tid = 30});
		expect(&said, "kind", cases[i].kind);
		if (!strstr(said.text, cases[i].text))
			fail_msg("%s", said.text);
		forget(&said);
	}
}

/* Thread 30 waits for 31: `nr_short` times for a millisecond, then `nr_long` times for 60 ms. */
static void wait_often(struct story *s, uint64_t ns, int nr_short, int nr_long)
{
	task(s, 30, 30, "checkout");
	task(s, 31, 31, "bank");
	run(s, 0, ns - MS, SLEEPS, 30);
	run(s, 1, 2, SLEEPS, 31);
	for (int i = 0; i < nr_short + nr_long; i++) {
		uint64_t took = i < nr_short ? MS : 60 * MS;

		run(s, 0, ns, SLEEPS, 0);
		wake(s, 1, ns + took, 0, 30, 0);
		run(s, 0, ns + took + 1000, 0, 30);
		ns += took + MS;
	}
}

/* What is unusual here was usual then. */
static void test_baseline(void **state)
{
	for (int long_then = 0; long_then < 2; long_then++) {
		struct story *s = begin();
		struct said said;
		struct reader *r;
		struct meta *m;
		struct mk d;

		wait_often(s, 100 * MS, 12, long_then ? 28 : 0);
		r = finish(s);
		d = s->d;
		m = mk_meta(r);
		s = begin();
		wait_often(s, HIT - 200 * MS, 12, 1);
		run(s, 0, HIT - 10, SLEEPS, 0);
		said = ask(s, (struct why_options){.tid = 30, .baseline = r, .baseline_meta = m});
		assert_int_equal(!strstr(said.text, "checkout (30) waited 60 ms for bank"),
				 long_then);
		assert_int_equal(!strstr(said.text, "here and in the baseline"), long_then);
		forget(&said);
		meta_free(m);
		mk_close(&d, r);
	}
}

/* A thread of a pool waits for work that one other thread hands out, however often: no convoy, and one
 * thread that is woken is no herd. */
static void test_hand_offs(void **state)
{
	struct story *s = begin();
	struct said said;
	uint64_t ns = HIT - 800 * MS;

	task(s, 30, 30, "worker-1");
	task(s, 31, 30, "acceptor");
	run(s, 0, 1, SLEEPS, 0);
	run(s, 1, 2, SLEEPS, 31);
	run(s, 0, ns - MS, SLEEPS, 30);
	for (; ns < HIT - 20 * MS; ns += 11 * MS) {
		run(s, 0, ns, SLEEPS, 0);
		wake(s, 1, ns + 10 * MS, 0, 30, 0);
		run(s, 0, ns + 10 * MS + 1000, SLEEPS, 30);
	}
	run(s, 0, HIT - 10, SLEEPS, 0);
	said = ask(s, (struct why_options){.tid = 30});
	assert_string_not_equal(text_of(&said, "kind"), "lock-convoy");
	assert_string_not_equal(text_of(&said, "kind"), "thundering-herd");
	assert_string_not_equal(text_of(&said, "kind"), "deadlock");
	forget(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_hand_offs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
