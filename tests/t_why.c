/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The verdict: on hand-made dumps whose cause is known, to the millisecond; on thousands of events
 * that make no sense it still says something that a terminal and a JSON parser can take, in 15
 * lines. Real incidents: it_why.sh.
 */
#include "dump/view/why.h"
#include "dump/view/why_impl.h"

#include "tests/mkdump.h"
#include "tests/schema.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE	(PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define NR_CPUS 2
#define MS	1000000ull
#define HIT	(2000 * MS)

#define SLEEPS	1
#define BLOCKS	2
#define STOPS	4
#define ENDS	0x20
#define PREEMPT 0x100
#define HARDIRQ 0x08

enum type { SWITCH = 301, WAKING, FORK, SEND, DELIVER, SOFT_IN, SOFT_OUT };

#define COMMON(name)                                                                               \
	"name: " name "\nID: 1\nformat:\n"                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(name, at) "\tfield:int " name ";\toffset:" #at ";\tsize:4;\tsigned:1;\n"
#define END		"\nprint fmt: \"\"\n"

static const struct {
	enum type type;
	const char *system, *event, *format;
} events[] = {
	{SWITCH, "sched", "sched:sched_switch",
	 COMMON("sched_switch") FIELD("prev_pid", 8) FIELD("prev_prio", 12) FIELD("prev_state", 16)
		 FIELD("next_pid", 20) FIELD("next_prio", 24) END},
	{WAKING, "sched", "sched:sched_waking",
	 COMMON("sched_waking") FIELD("pid", 8) FIELD("prio", 12) FIELD("target_cpu", 16) END},
	{FORK, "sched", "sched:sched_process_fork",
	 COMMON("sched_process_fork") FIELD("parent_pid", 8) FIELD("child_pid", 12) END},
	{SEND, "signal", "signal:signal_generate",
	 COMMON("signal_generate") FIELD("sig", 8) FIELD("code", 12) FIELD("pid", 16) END},
	{DELIVER, "signal", "signal:signal_deliver",
	 COMMON("signal_deliver") FIELD("sig", 8) FIELD("code", 12) FIELD("sa_handler", 16) END},
	{SOFT_IN, "irq", "irq:softirq_entry", COMMON("softirq_entry") FIELD("vec", 8) END},
	{SOFT_OUT, "irq", "irq:softirq_exit", COMMON("softirq_exit") FIELD("vec", 8) END},
};

#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

struct raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t v[5];
};

/* A dump in the making: a ring for each CPU, and who is where with which priority. */
struct story {
	struct mk d;
	struct mk_records rings[NR_CPUS];
	uint64_t first[NR_CPUS], last[NR_CPUS];
	int current[NR_CPUS];
	uint64_t armed_ns; /* 0: from the beginning */
};

static int prio_of(int tid)
{
	/* Tens have a priority of their own: 10 to 19 the best. */
	return tid >= 10 && tid < 20 ? 50 : tid >= 20 && tid < 30 ? 60 : tid ? 120 : 120;
}

static struct story *begin(void)
{
	static struct story s;

	s = (struct story){.d = mk_begin()};
	mk_host(&s.d);
	mk_trigger(&s.d, HIT);
	mk_channel(&s.d, 0, "sched", TYPE);
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		mk_event(&s.d, i, 0, events[i].event, events[i].type, TYPE);
		mk_format(&s.d, events[i].type, events[i].system, events[i].format);
	}
	return &s;
}

static void put(struct story *s, int cpu, uint64_t ns, const struct raw *raw)
{
	mk_sample(&s->rings[cpu], ns, raw, sizeof(*raw));
	s->first[cpu] = s->first[cpu] ? s->first[cpu] : ns;
	s->last[cpu] = ns;
}

/* Who runs on `cpu` leaves in that state. */
static void run(struct story *s, int cpu, uint64_t ns, int state, int next)
{
	int prev = s->current[cpu];

	put(s, cpu, ns,
	    &(struct raw){SWITCH, 0, 0, prev, {prev, prio_of(prev), state, next, prio_of(next)}});
	s->current[cpu] = next;
}

static void wake(struct story *s, int cpu, uint64_t ns, int flags, int whom, int on)
{
	put(s, cpu, ns,
	    &(struct raw){WAKING, (uint8_t)flags, 0, s->current[cpu], {whom, prio_of(whom), on}});
}

static void task(struct story *s, uint32_t tid, uint32_t pid, const char *comm)
{
	mk_task(&s->d, tid, tid, pid, 1, 0, 0);
	mk_comm(&s->d, tid, 0, comm);
}

struct said {
	char *text;
	json_t *json;
};

static char *say(struct reader *r, const struct meta *m, struct why_options opt)
{
	struct why_result res;
	size_t len;
	char *p;
	FILE *out = open_memstream(&p, &len);

	assert_non_null(out);
	assert_int_equal(why_print(r, m, &opt, out, &res, NULL), 0);
	fclose(out);
	return p;
}

/* All keys that were printed. */
static struct schema seen;

/* Ends the dump and asks, in both forms; what is said has to be harmless. */
static struct said ask(struct story *s, struct why_options opt)
{
	struct said said;
	struct reader *r;
	struct meta *m;
	unsigned lines = 0;
	char *json;

	for (uint32_t i = 0; i < NR_CPUS; i++) {
		struct fmt_window w = {.ring = i,
				       .cpu = (int32_t)i,
				       .tid = -1,
				       .armed_ns = s->armed_ns ? s->armed_ns : 1,
				       .paused_ns = HIT + 1000,
				       .nr_records = s->rings[i].nr,
				       .first_ns = s->first[i],
				       .last_ns = s->last[i]};

		mk_window(&s->d, &w);
	}
	for (uint32_t i = 0; i < NR_CPUS; i++) {
		if (s->rings[i].nr)
			mk_block(&s->d, i, 0, s->first[i], s->last[i], &s->rings[i]);
		mk_records_free(&s->rings[i]);
	}
	r = mk_end(&s->d);
	m = mk_meta(r);
	said.text = say(r, m, opt);
	opt.json = true;
	json = say(r, m, opt);
	for (const char *p = said.text; *p; p++) {
		assert_true(*p == '\n' || ((uint8_t)*p >= ' ' && *p != 0x7f));
		lines += *p == '\n';
	}
	assert_in_range(lines, 1, 15);
	said.json = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(said.json);
	schema_see(&seen, said.json, "");
	free(json);
	meta_free(m);
	mk_close(&s->d, r);
	return said;
}

static const char *text_of(const struct said *s, const char *key)
{
	return json_string_value(json_object_get(s->json, key));
}

static void expect(const struct said *s, const char *key, const char *want)
{
	const char *got = text_of(s, key);

	if (!got || strcmp(got, want) != 0)
		print_message("%s", s->text);
	assert_non_null(got);
	assert_string_equal(got, want);
}

static void expect_tid(const struct said *s, const char *key, int tid)
{
	json_t *who = json_object_get(s->json, key);

	assert_int_equal(json_integer_value(json_object_get(who, "tid")), tid);
}

static void forget(struct said *s)
{
	free(s->text);
	json_decref(s->json);
}

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
	expect(&said, "sure", "very");
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
	/* One that has a handler, and one that somebody sent, are none. */
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
	expect(&said, "verdict", "fell (70) crashed by SIGSEGV, 100 ms before the trigger");
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

/*
 * 24 ms are nothing that anyone would look at; the rule that thread 7 met says that they matter.
 * Meanwhile another waits ten times as long, on the other CPU.
 */
static void test_took(void **state)
{
	const uint64_t began = HIT - 24 * MS;
	struct story *s = begin();
	struct said said;

	mk_item(&s->d, FMT_TRIGGER, FMT_TRIGGER_BEGAN, &began, sizeof(began), NULL, 0);
	task(s, 7, 7, "server");
	task(s, 40, 40, "hog");
	task(s, 41, 41, "tail");
	run(s, 0, HIT - 300 * MS, SLEEPS, 40);
	wake(s, 0, began, 0, 7, 0);
	run(s, 0, HIT - 4 * MS, 0, 41);
	run(s, 0, HIT - 1000, SLEEPS, 7);
	run(s, 0, HIT - 10, SLEEPS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "took");
	expect_tid(&said, "thread", 7);
	expect_tid(&said, "culprit", 40);
	assert_non_null(
		strstr(said.text, "server (7) waited for a CPU 24 ms of the 24 ms that it took"));
	assert_non_null(strstr(said.text, "instead   hog (40) 20 ms, tail (41) 4"));
	forget(&said);
}

static struct story *slow(uint64_t began, uint32_t tid)
{
	struct fmt_trigger f = {.hit_ns = HIT, .freeze_ns = HIT + 1000, .tid = tid, .pid = tid};
	struct story *s = begin();

	mk_item(&s->d, FMT_TRIGGER, FMT_TRIGGER_FACTS, &f, sizeof(f), NULL, 0);
	mk_item(&s->d, FMT_TRIGGER, FMT_TRIGGER_BEGAN, &began, sizeof(began), NULL, 0);
	mk_text(&s->d, FMT_TRIGGER, FMT_TRIGGER_RULE, "latency:server:handle>20ms");
	mk_text(&s->d, FMT_TRIGGER, FMT_TRIGGER_SAW, "duration=24.0ms");
	task(s, 7, 7, "server");
	task(s, 8, 8, "other");
	task(s, 40, 40, "hog");
	run(s, 1, HIT - 300 * MS, SLEEPS, 8);
	run(s, 0, HIT - 300 * MS, SLEEPS, 40);
	wake(s, 0, HIT - 24 * MS, 0, 7, 0);
	run(s, 0, HIT - 1000, SLEEPS, 7);
	run(s, 0, HIT - 10, SLEEPS, 0);
	return s;
}

/* The rule's time began before the rings: what is known is a part. */
static void test_took_partly(void **state)
{
	struct story *s = slow(HIT - 3000 * MS / 4, 7);
	struct said said;

	s->armed_ns = HIT - 400 * MS;
	said = ask(s, (struct why_options){0});
	assert_non_null(strstr(said.text, "partly: 400 ms of 750 ms recorded"));
	assert_non_null(strstr(said.text, "the last 400 ms of the 750 ms that it took"));
	assert_null(strstr(said.text, "very"));
	expect(&said, "sure", "partly");
	forget(&said);
}

/* A timer looks in between; who ended the last sleep ended the call. */
static void test_took_in_pieces(void **state)
{
	const uint64_t began = HIT - 24 * MS;
	struct story *s = begin();
	struct said said;

	mk_item(&s->d, FMT_TRIGGER, FMT_TRIGGER_BEGAN, &began, sizeof(began), NULL, 0);
	task(s, 7, 7, "server");
	task(s, 40, 40, "holder");
	task(s, 41, 41, "spinner");
	run(s, 1, HIT - 300 * MS, SLEEPS, 40);
	run(s, 0, HIT - 300 * MS, SLEEPS, 7);
	run(s, 0, began, SLEEPS, 41);
	wake(s, 0, HIT - 10 * MS, HARDIRQ, 7, 0);
	run(s, 0, HIT - 10 * MS, 0, 7);
	run(s, 0, HIT - 10 * MS + 20000, SLEEPS, 41);
	wake(s, 1, HIT - 2000, 0, 7, 0);
	run(s, 0, HIT - 1000, 0, 7);
	run(s, 1, HIT - 20, 0, 40);
	run(s, 0, HIT - 10, SLEEPS, 0);
	said = ask(s, (struct why_options){0});
	expect(&said, "kind", "took");
	expect_tid(&said, "culprit", 40);
	assert_non_null(strstr(said.text, "server (7) slept 24 ms of the 24 ms that it took, "
					  "until holder (40) woke it"));
	assert_non_null(strstr(said.text, "slept     14 ms until a timer or a device, then 10.0 ms "
					  "until holder (40)\n"));
	forget(&said);
}

/* Functions that wait say nothing of what for. */
static void test_wrappers(void **state)
{
	static const char *const wait[] = {
		"epoll_wait",	   "__GI_epoll_wait", "WaitLatchOrSocket", "WaitEventSetWait",
		"clock_nanosleep", "pg_usleep",	      "pthread_cond_wait", "poll",
		"uv__io_poll"};
	static const char *const work[] = {"ProcSleep", "LockAcquire",	      "main",	  "sleepy",
					   "pollute",	"ngx_process_events", "selection"};

	for (size_t i = 0; i < sizeof(wait) / sizeof(wait[0]); i++)
		if (!why_is_wrapper(wait[i]))
			fail_msg("%s", wait[i]);
	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		if (why_is_wrapper(work[i]))
			fail_msg("%s", work[i]);
}

/* Four threads share two CPUs, two each, in turns of 10 ms; the fifth is nice and waits. */
static struct story *crowded(uint32_t tid_of_turns)
{
	struct story *s = begin();

	for (uint32_t i = 0; i < 4; i++)
		task(s, tid_of_turns + i, tid_of_turns + i, i < 2 ? "server" : "client");
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
		strstr(said.text, "overload: on average 4.0 threads wanted to run on 2 CPUs"));
	assert_non_null(strstr(said.text, "waited for one 50 % of the last 1.00 s"));
	assert_non_null(strstr(said.text, "(2 threads) 50 %"));
	forget(&said);
}

/* Asked about another thread: nothing of what the rule saw. */
static void test_of_another_thread(void **state)
{
	struct said said = ask(slow(HIT - 24 * MS, 7), (struct why_options){.tid = 8});

	assert_null(strstr(said.text, "latency:"));
	assert_null(strstr(said.text, "took"));
	forget(&said);
	said = ask(slow(HIT - 24 * MS, 7), (struct why_options){.tid = 7});
	assert_non_null(strstr(said.text, "latency:"));
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

/* Anything in any order, also numbers that nobody has, and names that want to be obeyed. */
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
		cmocka_unit_test(test_inversion),
		cmocka_unit_test(test_no_inversion),
		cmocka_unit_test(test_stopped_peer),
		cmocka_unit_test(test_quota),
		cmocka_unit_test(test_no_quota),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_no_such_thread),
		cmocka_unit_test(test_took),
		cmocka_unit_test(test_took_partly),
		cmocka_unit_test(test_took_in_pieces),
		cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_of_another_thread),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_schema),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("why", tests, NULL, NULL);
}
