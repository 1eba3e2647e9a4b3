/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The verdict of a rule that knows how long something took: where that time went, and no more than
 * the dump proves. */
#include "dump/view/why/why_impl.h"
#include "tests/helpers/why_story.h"

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
	expect(&said, "kind", "cpu-contention");
	expect_tid(&said, "thread", 7);
	expect_tid(&said, "culprit", 40);
	assert_non_null(
		strstr(said.text, "server (7) waited for a CPU 24 ms of the 24 ms that it took"));
	assert_non_null(strstr(said.text, "instead     hog (40) 20 ms, tail (41) 4"));
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
	assert_non_null(strstr(said.text, "partial (400 ms of 750 ms recorded)"));
	assert_non_null(strstr(said.text, "the last 400 ms of the 750 ms that it took"));
	assert_null(strstr(said.text, "very"));
	expect(&said, "confidence", "partial");
	forget(&said);
}

/* A timer interrupts; the thread that ended the last sleep ended the call. */
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
	expect(&said, "kind", "long-task");
	expect_tid(&said, "culprit", 40);
	expect(&said, "confidence", "medium");
	assert_non_null(
		strstr(said.text, "server (7) waited 24 ms for holder (40), which was busy 24 ms"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_took),
		cmocka_unit_test(test_took_partly),
		cmocka_unit_test(test_took_in_pieces),
		cmocka_unit_test(test_wrappers),
		cmocka_unit_test(test_of_another_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("why-took", tests, NULL, NULL);
}
