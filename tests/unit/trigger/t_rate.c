/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Source rate: a steady rate below the threshold is never a hit and wakes at most once a second,
 * one above is within two windows; hysteresis; what is refused. */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/source.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#define S 1000000000ull

/* A thread that makes `rate` system calls per second that no other program makes, in bursts every 1 ms. */
struct load {
	pthread_t thread;
	unsigned rate;	 /* atomic; 0: ends */
	uint64_t nr;	 /* atomic */
	int cpu, second; /* goes to and fro between them */
};

static void to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *run(void *arg)
{
	struct load *l = arg;
	uint64_t begin = clock_ns(), due = 0;
	unsigned rate = __atomic_load_n(&l->rate, __ATOMIC_ACQUIRE), now_rate;

	for (unsigned n = 0; (now_rate = __atomic_load_n(&l->rate, __ATOMIC_ACQUIRE)); n++) {
		struct timespec t = {.tv_nsec = 1000000};
		uint64_t want;

		if (now_rate != rate) {
			rate = now_rate;
			begin = clock_ns();
			due = 0;
		}
		if (l->second >= 0)
			to_cpu(n & 1 ? l->second : l->cpu);
		want = (clock_ns() - begin) * rate / S;
		/* What could not be done in time is left out: at once it were a higher rate. */
		if (want > due + rate / 100)
			due = want - rate / 100;
		for (; due < want; due++) {
			syscall(SYS_vserver, 0, 0, 0);
			__atomic_add_fetch(&l->nr, 1, __ATOMIC_RELAXED);
		}
		nanosleep(&t, NULL);
	}
	return NULL;
}

static void load_start(struct load *l, unsigned rate)
{
	*l = (struct load){
		.rate = rate, .cpu = 0, .second = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : -1};
	pthread_create(&l->thread, NULL, run, l);
	/* Before all others: what it could not do for a while it would do at once, at a higher
	 * rate. */
	pthread_setschedparam(l->thread, SCHED_RR, &(struct sched_param){.sched_priority = 1});
}

static void load_rate(struct load *l, unsigned rate)
{
	__atomic_store_n(&l->rate, rate, __ATOMIC_RELEASE);
}

static void load_stop(struct load *l)
{
	load_rate(l, 0);
	pthread_join(l->thread, NULL);
}

static struct engine *engine_with(const char *rule)
{
	const struct engine_options opt = {0};
	struct err err = ERR_INIT;
	struct engine *e;

	assert_int_equal(engine_new(&opt, &e, NULL), 0);
	if (engine_add(e, rule, &err))
		fail_msg("%s; %s", err.what, err.hint);
	return e;
}

/* As the recorder does: sleeps until something wakes. A hit within `ns` is in `what`. */
static bool wait_hit(struct engine *e, uint64_t ns, struct sighting *what, unsigned *wakeups)
{
	uint64_t end = clock_ns() + ns, now;
	const struct rule *rule;
	struct err err = ERR_INIT;
	int rc = engine_poll(e, &rule, what, &err);

	while (!rc && (now = clock_ns()) < end) {
		if (engine_wait(e, (int)((end - now) / 1000000) + 1) && wakeups)
			++*wakeups;
		rc = engine_poll(e, &rule, what, &err);
	}
	if (rc < 0)
		fail_msg("%s", err.what);
	return rc == 1;
}

static const char *line(const struct sighting *what, const char *key)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], key, strlen(key)))
			return what->saw[i];
	fail_msg("no line %s", key);
	return NULL;
}

static void rule_of(char *out, size_t n, const char *tail)
{
	snprintf(out, n, "rate:raw_syscalls:sys_enter[id==%d]%s", SYS_vserver, tail);
}

static void just_below_is_no_hit_and_above_is_one_within_two_windows(void **state)
{
	struct sighting what;
	unsigned wakeups = 0;
	char rule[128];
	struct engine *e;
	static struct load load; /* its thread outlives a failure */
	uint64_t t0;
	double value;

	rule_of(rule, sizeof(rule), ">10000/s");
	e = engine_with(rule);
	load_start(&load, 9500);
	assert_false(wait_hit(e, 6 * S, &what, &wakeups));
	print_message("%u wake-ups in 6 s, 5%% below the threshold\n", wakeups);
	assert_in_range(wakeups, 0, 7);
	load_stop(&load);
	assert_false(wait_hit(e, 3 * S, &what, NULL));

	load_start(&load, 12000);
	t0 = clock_ns();
	assert_true(wait_hit(e, 5 * S, &what, NULL));
	print_message("20%% above: a hit after %.2f windows\n", (double)(clock_ns() - t0) / S);
	/* Two windows, and a third for a machine on which this thread had to wait. */
	assert_true(clock_ns() - t0 < 3 * S);
	assert_int_equal(sscanf(line(&what, "value="), "value=%lf/s", &value), 1);
	assert_true(value > 11000 && value < 13000);
	assert_string_equal(line(&what, "threshold="), "threshold=10000/s");
	assert_string_equal(line(&what, "event="), "event=raw_syscalls:sys_enter");
	assert_string_equal(what.comm, "t_rate");
	assert_int_equal(what.nr_hits, 1);
	assert_true(what.stack_hash != 0);
	assert_in_range(evidence_nr(what.evidence), 1, 64);
	sighting_fini(&what);

	/* Above, and a little below: the same excursion. Well below, and above again: another. */
	assert_false(wait_hit(e, 2 * S, &what, NULL));
	load_rate(&load, 9500);
	assert_false(wait_hit(e, 5 * S / 2, &what, NULL));
	load_rate(&load, 12000);
	assert_false(wait_hit(e, 5 * S / 2, &what, NULL));
	load_rate(&load, 5000);
	assert_false(wait_hit(e, 5 * S / 2, &what, NULL));
	load_rate(&load, 12000);
	assert_true(wait_hit(e, 20 * S, &what, NULL));
	sighting_fini(&what);
	load_stop(&load);
	engine_free(e);
}

static void a_low_rate_wakes_nobody(void **state)
{
	struct sighting what;
	unsigned wakeups = 0;
	char rule[128];
	struct engine *e;
	static struct load load; /* its thread outlives a failure */

	rule_of(rule, sizeof(rule), ">1000/ms");
	e = engine_with(rule);
	load_start(&load, 5000);
	assert_false(wait_hit(e, 2 * S, &what, &wakeups));
	assert_int_equal(wakeups, 0);
	assert_true(load.nr > 5000);
	load_stop(&load);
	engine_free(e);
}

static void the_rate_must_hold_for_its_time(void **state)
{
	struct sighting what;
	char rule[128];
	struct engine *e;
	static struct load load; /* its thread outlives a failure */
	uint64_t t0 = clock_ns();

	rule_of(rule, sizeof(rule), ">3/ms;for=2s");
	e = engine_with(rule);
	load_start(&load, 6000);
	assert_true(wait_hit(e, 20 * S, &what, NULL));
	assert_true(clock_ns() - t0 >= 3 * S);
	assert_true(what.began_ns && what.ns - what.began_ns >= 2 * S);
	assert_string_equal(line(&what, "threshold="), "threshold=3/ms");
	sighting_fini(&what);
	load_stop(&load);
	engine_free(e);
}

static void what_can_never_be_met_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{"rate", "expected ':' and an event"},
		{"rate:page-faults", "expected '>'"},
		{"rate:page-faults<5/s", "expected '>'"},
		{"rate:page-faults>5", "expected '/' and a time"},
		{"rate:page-faults>5x/s", "expected a whole number"},
		{"rate:page-faults>5/x", "expected a time"},
		{"rate:page-faults>5/2h", "an hour is the longest"},
		{"rate:page-faults/period=7/>5/s", "leave out period="},
		{"rate:cpu-clock>5/s", "is a clock"},
		{"rate:oom:*>5/s", "make a rule for each"},
		{"rate:no:such>5/s", "no tracepoint system 'no'"},
		{"rate:sched:sched_switch[x==1]>5/s", "refuses the filter [x==1]"},
	};
	const struct engine_options opt = {0};
	struct engine *e;

	assert_int_equal(engine_new(&opt, &e, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;

		assert_true(engine_add(e, bad[i][0], &err) < 0);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
		assert_true(err.hint[0]);
	}
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(just_below_is_no_hit_and_above_is_one_within_two_windows),
		cmocka_unit_test(a_low_rate_wakes_nobody),
		cmocka_unit_test(the_rate_must_hold_for_its_time),
		cmocka_unit_test(what_can_never_be_met_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
