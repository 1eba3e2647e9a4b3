/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The verdict: on hand-made dumps with a known cause, to the millisecond; on thousands of events
 * that make no sense it still says something that a terminal and a JSON parser can take, in 15
 * lines. Real incidents: it_why.sh.
 */
#include "tests/helpers/why_story.h"

/* ---- known causes ---- */

/* 10 waits for 50, which holds a lock; 20 is in between and keeps 50 from running. */
static void test_inversion(void **state)
{
	struct story *s = begin();
	struct said said;

	task(s, 10, 9, "high");
	task(s, 20, 9, "middle");
	task(s, 50, 9, "low");
	run(s, 0, 1 * MS, SLEEPS, 50);
	wake(s, 0, 1500 * MS, HARDIRQ, 10, 0);
	run(s, 0, 1500 * MS + 1, PREEMPT, 10);
	run(s, 0, 1501 * MS, SLEEPS, 50);
	wake(s, 0, 1502 * MS, HARDIRQ, 20, 0);
	run(s, 0, 1502 * MS + 1, PREEMPT, 20);
	run(s, 0, 1802 * MS, SLEEPS, 50);
	wake(s, 0, 1803 * MS, 0, 10, 0);
	run(s, 0, 1803 * MS + 1, PREEMPT, 10);
	run(s, 0, 1804 * MS, SLEEPS, 50);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "priority-inversion");
	expect(&said, "verdict",
	       "priority inversion: high (10) waited for low (50), which middle (20) kept from "
	       "running for 300 ms");
	expect_tid(&said, "thread", 10);
	expect_tid(&said, "culprit", 20);
	forget(&said);
}

/* 7 waits 300 ms for 40, which another keeps from running for 200 ms of these. */
static void test_without(void **state)
{
	static const struct {
		const char *who;
		int remain_ms;
	} cases[] = {{"hog", 100}, {"41", 100}, {"worker", 0}, {"h*", 100}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct story *s = begin();
		struct said said;
		json_t *without;

		task(s, 7, 7, "client");
		task(s, 40, 40, "worker");
		task(s, 41, 41, "hog");
		run(s, 0, 1 * MS, SLEEPS, 7);
		run(s, 1, 1 * MS, SLEEPS, 40);
		run(s, 0, 1600 * MS, SLEEPS, 0);
		run(s, 1, 1600 * MS, PREEMPT, 41);
		run(s, 1, 1800 * MS, SLEEPS, 40);
		wake(s, 1, 1900 * MS, 0, 7, 0);
		run(s, 0, 1900 * MS + 1000, SLEEPS, 7);
		run(s, 1, 1901 * MS, SLEEPS, 0);
		said = ask(s, (struct why_options){.tid = 7, .without = cases[i].who});
		without = json_object_get(said.json, "without");
		assert_int_equal(json_integer_value(json_object_get(without, "threads")), 1);
		assert_int_equal(json_integer_value(json_object_get(without, "wait_ns")) / MS, 300);
		assert_int_equal(json_integer_value(json_object_get(without, "remaining_ns")) / MS,
				 cases[i].remain_ms);
		assert_non_null(strstr(said.text, "would remain"));
		forget(&said);
	}
}

/* `tid` on CPU 0 waits for `by` on CPU 1: `nr` times for a millisecond, then once for 400 ms. */
static void serve_late(struct story *s, int tid, int by, uint64_t ns, int nr)
{
	for (int i = 0; i <= nr; i++) {
		uint64_t took = i < nr ? MS : 400 * MS;

		run(s, 0, ns, SLEEPS, tid);
		wake(s, 0, ns + 1000, 0, by, 1);
		run(s, 0, ns + 2000, SLEEPS, 0);
		run(s, 1, ns + 3000, SLEEPS, by);
		wake(s, 1, ns + took, 0, tid, 0);
		run(s, 1, ns + took + 1000, SLEEPS, 0);
		run(s, 0, ns + took + 2000, SLEEPS, tid);
		ns += took + MS;
	}
	run(s, 0, ns, SLEEPS, 0);
}

/* Of two threads that wait unusually long, the one that the reason names. */
static void test_hint(void **state)
{
	static const struct {
		const char *reason;
		int tid;
	} cases[] = {{"checkout is slow", 30}, {"prices: late again (pid 32)", 32}, {"PRICES", 32}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct story *s = begin();
		struct said said;

		mk_text(&s->d, FMT_TRIGGER, FMT_TRIGGER_REASON, cases[i].reason);
		task(s, 30, 30, "checkout");
		task(s, 31, 31, "bank");
		task(s, 32, 32, "prices-1");
		task(s, 33, 33, "market");
		run(s, 0, 1, SLEEPS, 30);
		run(s, 1, 2, SLEEPS, 31);
		serve_late(s, 30, 31, 10 * MS, 50);
		serve_late(s, 32, 33, 900 * MS, 50);
		said = ask(s, (struct why_options){0});
		expect_tid(&said, "thread", cases[i].tid);
		expect_tid(&said, "culprit", cases[i].tid + 1);
		expect(&said, "kind", "long-task");
		forget(&said);
	}
}

/* A thread that always sleeps for 400 ms, and is always woken by the same one, is usual. */
static void test_poller(void **state)
{
	struct story *s = begin();
	struct said said;

	task(s, 30, 30, "poller");
	task(s, 31, 31, "ticker");
	run(s, 0, 1, SLEEPS, 30);
	run(s, 1, 2, SLEEPS, 31);
	for (int i = 0; i < 4; i++)
		serve_late(s, 30, 31, (10 + 401 * (uint64_t)i) * MS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "none");
	forget(&said);
}

/* The same without the one in between: a lock is held, and that is all. */
static void test_no_inversion(void **state)
{
	struct story *s = begin();
	struct said said;

	task(s, 10, 9, "high");
	task(s, 50, 9, "low");
	run(s, 0, 1 * MS, SLEEPS, 50);
	wake(s, 0, 1500 * MS, HARDIRQ, 10, 0);
	run(s, 0, 1500 * MS + 1, PREEMPT, 10);
	run(s, 0, 1501 * MS, SLEEPS, 50);
	wake(s, 0, 1803 * MS, 0, 10, 0);
	run(s, 0, 1803 * MS + 1, PREEMPT, 10);
	run(s, 0, 1804 * MS, SLEEPS, 50);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "none");
	forget(&said);

	s = begin();
	task(s, 10, 9, "high");
	task(s, 50, 9, "low");
	run(s, 0, 1 * MS, SLEEPS, 10);
	run(s, 0, 1501 * MS, SLEEPS, 50);
	wake(s, 0, 1803 * MS, 0, 10, 0);
	run(s, 0, 1803 * MS + 1, PREEMPT, 10);
	run(s, 0, 1804 * MS, SLEEPS, 50);
	said = ask(s, (struct why_options){.tid = 10});
	expect(&said, "kind", "long-task");
	expect_tid(&said, "culprit", 50);
	forget(&said);
}

/* 40 answers 30 at once, a hundred times; then it is stopped by 60. */
static void test_stopped_peer(void **state)
{
	struct story *s = begin();
	struct said said;
	uint64_t ns = 1 * MS;

	task(s, 30, 30, "asks");
	task(s, 40, 40, "answers");
	task(s, 60, 60, "stops");
	run(s, 0, ns, SLEEPS, 30);
	for (int i = 0; i < 100; i++, ns += 5 * MS) {
		wake(s, 0, ns + 1 * MS, 0, 40, 1);
		run(s, 0, ns + 1 * MS + 10, SLEEPS, 0);
		run(s, 1, ns + 1 * MS + 20, SLEEPS, 40);
		wake(s, 1, ns + 2 * MS, 0, 30, 0);
		run(s, 1, ns + 2 * MS + 10, SLEEPS, 0);
		run(s, 0, ns + 2 * MS + 20, SLEEPS, 30);
	}
	run(s, 1, ns, SLEEPS, 60);
	put(s, 1, ns + 10, &(struct raw){SEND, 0, 0, 60, {19, 0, 40}});
	wake(s, 1, ns + 20, 0, 40, 1);
	run(s, 1, ns + 30, SLEEPS, 40);
	run(s, 1, ns + 40, STOPS, 0);
	run(s, 0, ns + 50, SLEEPS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "dead-peer");
	expect(&said, "confidence", "high");
	expect_tid(&said, "thread", 30);
	expect_tid(&said, "culprit", 40);
	assert_non_null(strstr(said.text, "stopped by stops (60)"));
	forget(&said);
}

/* 7, which asked for the dump, is taken off an idle CPU again and again. */
static struct story *limited(void)
{
	struct story *s = begin();

	task(s, 7, 7, "limited");
	run(s, 0, 1 * MS, SLEEPS, 7);
	for (uint64_t ns = 1030 * MS; ns < 1900 * MS; ns += 100 * MS) {
		run(s, 0, ns, PREEMPT, 0);
		run(s, 0, ns + 70 * MS, SLEEPS, 7);
	}
	run(s, 0, 1990 * MS, SLEEPS, 0);
	return s;
}

static void test_quota(void **state)
{
	struct fmt_cgroup g = {.version = 2,
			       .since_ns = MS,
			       .at_ns = HIT,
			       .quota_ns = 30 * MS,
			       .period_ns = 100 * MS,
			       .nr_throttled = 9,
			       .throttled_ns = 630 * MS};
	struct story *s = limited();
	struct said said;

	mk_cgroups(&s->d, MS, HIT);
	mk_cgroup(&s->d, &g, 7, "/shop");
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "cpu-quota");
	expect_tid(&said, "thread", 7);
	expect_tid(&said, "asked_by", 7);
	forget(&said);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The pod of the thread, with what would move the cursor of a terminal in its name. */
static void test_pod(void **state)
{
	static const char names[] = ID "\0containerd\0shop\0checkout\x1b[2J\0app";
	static const char group[] = "/kubepods/pod1234abcd-56ef-7890-abcd-ef0123456789/" ID;
	struct fmt_cgroup g = {.version = 2,
			       .since_ns = MS,
			       .at_ns = HIT,
			       .quota_ns = 30 * MS,
			       .period_ns = 100 * MS,
			       .nr_throttled = 9,
			       .throttled_ns = 630 * MS};
	struct story *s = limited();
	json_t *thread;
	struct said said;

	mk_path(&s->d, 1, group);
	mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, 7, 0, 1);
	mk_cgroups(&s->d, MS, HIT);
	mk_cgroup(&s->d, &g, 7, group);
	mk_item(&s->d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, names, sizeof(names));
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "cpu-quota");
	assert_null(strchr(said.text, '\x1b'));
	assert_non_null(strstr(said.text, "\ncontainer   "));
	assert_non_null(strstr(said.text, " in pod checkout\\x1b[2J, container app\n"));
	assert_non_null(strstr(said.text, "\ngroup       pod checkout\\x1b[2J, container app was "
					  "throttled in 9 periods"));
	thread = json_object_get(said.json, "thread");
	assert_string_equal(json_string_value(json_object_get(thread, "namespace")), "shop");
	assert_string_equal(json_string_value(json_object_get(thread, "pod")), "checkout\x1b[2J");
	assert_string_equal(json_string_value(json_object_get(thread, "container")), "app");
	forget(&said);
}

/* The same waits, and no quota was used up. */
static void test_no_quota(void **state)
{
	struct fmt_cgroup g = {.version = 2,
			       .quota_ns = 30 * MS,
			       .period_ns = 100 * MS,
			       .nr_throttled = 9,
			       .throttled_ns = 630 * MS};

	for (int i = 0; i < 3; i++) {
		struct story *s = limited();
		struct said said;

		if (i)
			mk_cgroups(&s->d, MS, HIT);
		if (i == 2) /* another's */
			mk_cgroup(&s->d, &g, 8, "/shop");
		said = ask(s, (struct why_options){0});
		assert_string_not_equal(json_string_value(json_object_get(said.json, "kind")),
					"cpu-quota");
		assert_null(strstr(said.text, "quota"));
		forget(&said);
	}
}

static void test_crash(void **state)
{
	struct story *s = begin();
	struct said said;

	task(s, 70, 70, "fell");
	run(s, 0, 1 * MS, SLEEPS, 70);
	/* A handled signal, or one sent by another process, is not a crash. */
	put(s, 0, 500 * MS, &(struct raw){DELIVER, 0, 0, 70, {11, 1, 4096}});
	put(s, 0, 600 * MS, &(struct raw){DELIVER, 0, 0, 70, {11, -6, 0}});
	run(s, 0, 700 * MS, SLEEPS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "none");
	forget(&said);

	s = begin();
	task(s, 70, 70, "fell");
	run(s, 0, 1 * MS, SLEEPS, 70);
	put(s, 0, 1900 * MS, &(struct raw){DELIVER, 0, 0, 70, {11, 1, 0}});
	run(s, 0, 1900 * MS + 1000, ENDS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "crash");
	expect(&said, "verdict", "fell (70) was killed by SIGSEGV, 100 ms before the trigger");
	forget(&said);
}

/* 7 runs all the time, and of each 10 ms the network takes `us`; one is within another. */
static struct said serve(int us)
{
	struct story *s = begin();

	task(s, 7, 7, "runner");
	run(s, 0, 1 * MS, SLEEPS, 7);
	for (uint64_t ns = 1000 * MS; ns < 1980 * MS; ns += 10 * MS) {
		put(s, 0, ns, &(struct raw){SOFT_IN, 0, 0, 7, {3}});
		put(s, 0, ns + 100, &(struct raw){SOFT_IN, 0, 0, 7, {1}});
		put(s, 0, ns + 200, &(struct raw){SOFT_OUT, 0, 0, 7, {1}});
		put(s, 0, ns + (uint64_t)us * 1000, &(struct raw){SOFT_OUT, 0, 0, 7, {3}});
	}
	run(s, 0, 1995 * MS, SLEEPS, 0);
	return ask(s, (struct why_options){.tid = 7});
}

static void test_interrupts(void **state)
{
	struct said said = serve(4000);

	expect(&said, "kind", "interrupts");
	expect_tid(&said, "thread", 7);
	assert_non_null(strstr(said.text, "runner (7) lost 39"));
	assert_non_null(strstr(said.text, "to interrupts on CPU 0"));
	assert_non_null(strstr(said.text, "softirq NET_RX 39"));
	forget(&said);
	/* Some percent are usual. */
	said = serve(500);
	assert_null(strstr(said.text, "interrupts on CPU"));
	forget(&said);
}

/* Four threads share two CPUs, two each, in turns of 10 ms; the fifth is nice and waits. */
static struct story *crowded(uint32_t tid_of_turns)
{
	struct story *s = begin();

	for (uint32_t i = 0; i < 4; i++)
		task(s, tid_of_turns + i, tid_of_turns + i, i < 2 ? "server" : "client");
	mk_path(&s->d, 1, "/system.slice/server.service");
	mk_path(&s->d, 2, "/clients");
	for (uint32_t i = 0; i < 4; i++)
		mk_stay(&s->d, FMT_LEDGER_TASK_CGROUP, tid_of_turns + i, 0, 1 + i / 2);
	for (int cpu = 0; cpu < NR_CPUS; cpu++)
		run(s, cpu, HIT - 1500 * MS, SLEEPS, (int)tid_of_turns + cpu);
	for (uint64_t at = 1500; at > 0; at -= 10)
		for (int cpu = 0; cpu < NR_CPUS; cpu++)
			run(s, cpu, HIT - at * MS + MS, 0,
			    (int)tid_of_turns + cpu + (at / 10 % 2 ? 2 : 0));
	return s;
}

static void test_overload(void **state)
{
	struct said said = ask(crowded(70), (struct why_options){0});

	expect(&said, "kind", "overload");
	assert_non_null(
		strstr(said.text, "overload: on average 4.0 threads were runnable on 2 CPUs"));
	assert_non_null(strstr(said.text, "waited for a CPU 50 % of the last 1.00 s"));
	assert_non_null(strstr(said.text, "(2 threads) 50 %"));
	forget(&said);
}

/* Nothing at all, and nothing unusual. */
static void test_nothing(void **state)
{
	struct story *s = begin();
	struct said said = ask(s, (struct why_options){0});

	expect(&said, "kind", "none");
	forget(&said);
	s = begin();
	task(s, 50, 50, "sleeper");
	for (uint64_t ns = MS; ns < HIT; ns += 10 * MS) {
		wake(s, 0, ns, HARDIRQ, 50, 0);
		run(s, 0, ns + 2000, SLEEPS, 50);
		run(s, 0, ns + MS, SLEEPS, 0);
	}
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "none");
	assert_int_equal(strncmp(said.text, "nothing unusual", 15), 0);
	forget(&said);
}

static void test_no_such_thread(void **state)
{
	struct why_options opt = {.tid = 4711};
	struct why_result res;
	struct story *s = begin();
	struct err err = ERR_INIT;
	struct reader *r = mk_end(&s->d);
	struct meta *m = mk_meta(r);

	assert_int_equal(why_print(r, m, &opt, stdout, &res, &err), -ENOENT);
	assert_true(*err.what && *err.hint);
	meta_free(m);
	mk_close(&s->d, r);
}

/* ---- nonsense ---- */

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Anything in any order, with ids that do not exist and names with control characters. */
static void make_nonsense(struct story *s, uint32_t seed)
{
	static const int odd[] = {-1, INT32_MIN, INT32_MAX, 0, 65536, 99};
	uint64_t ns = 1;

	task(s, 3, 3, "\x1b[31m\"}]\n");
	task(s, 4, 3, "</script>");
	for (int i = 0; i < 3000; i++) {
		struct raw raw = {
			.type = (uint16_t)(SWITCH + random_next(&seed) % NR_EVENTS),
			.flags = (uint8_t)random_next(&seed),
			.pid = (int32_t)(random_next(&seed) % 12),
		};

		for (int k = 0; k < 5; k++)
			raw.v[k] = random_next(&seed) % 40 ? (int32_t)(random_next(&seed) % 12)
							   : odd[random_next(&seed) % 6];
		ns += random_next(&seed) % 1200000;
		if (ns >= HIT)
			break;
		put(s, (int)(random_next(&seed) % NR_CPUS), ns, &raw);
	}
}

static void test_nonsense(void **state)
{
	for (uint32_t seed = 1; seed <= 300; seed++) {
		struct why_options opt = {.tid = seed % 3 ? 0 : 3};
		struct story *s = begin();
		struct said said;

		if (seed % 5 == 0)
			opt = (struct why_options){.from_ns = 100 * MS, .to_ns = seed * MS};
		make_nonsense(s, seed);
		said = ask(s, opt);
		forget(&said);
	}
}

/* After all others: what they made it print is what the document says. */
static void test_schema(void **state)
{
	static struct schema own;

	/* Threads of other findings are described once. */
	for (size_t i = 0; i < seen.nr; i++)
		if (strncmp(seen.keys[i], "also[].thread.", 14) != 0)
			schema_add(&own, seen.keys[i]);
	schema_check(&own, "## why", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inversion),      cmocka_unit_test(test_no_inversion),
		cmocka_unit_test(test_without),	       cmocka_unit_test(test_hint),
		cmocka_unit_test(test_poller),	       cmocka_unit_test(test_stopped_peer),
		cmocka_unit_test(test_quota),	       cmocka_unit_test(test_pod),
		cmocka_unit_test(test_no_quota),       cmocka_unit_test(test_crash),
		cmocka_unit_test(test_nothing),	       cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_no_such_thread), cmocka_unit_test(test_overload),
		cmocka_unit_test(test_nonsense),       cmocka_unit_test(test_schema),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("why", tests, NULL, NULL);
}
