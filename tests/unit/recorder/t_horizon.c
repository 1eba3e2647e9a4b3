/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* How far back what meets a rule goes, by its text. tests/program/read/it_join.sh has a recorder
 * say it. */
#include "recorder/daemon/horizon.h"

#include "trigger/engine/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static uint64_t of(const char *text)
{
	struct rule *r;
	uint64_t ns;

	assert_int_equal(rule_parse(text, &r, NULL), 0);
	ns = horizon_of_rule(r);
	rule_free(r);
	return ns;
}

static void a_time_that_must_pass_is_what_is_needed(void **state)
{
	assert_int_equal(of("latency:/bin/x:work>3s"), 3000000000u);
	assert_int_equal(of("syscall:fsync>100ms;name=slow"), 100000000u);
	assert_int_equal(of("runqueue>20ms"), 20000000u);
}

static void of_a_measure_over_a_time_it_is_that_time(void **state)
{
	assert_int_equal(of("psi:memory:some>150ms/1s"), 1000000000u);
	assert_int_equal(of("cpu:1>95%/5s"), 5000000000u);
}

static void others_need_none(void **state)
{
	assert_int_equal(of("signal:USR1"), 0);
	assert_int_equal(of("rate:page-faults>100000/s"), 0);
	assert_int_equal(of("mem:available<200M"), 0);
	assert_int_equal(of("rss:1>2G"), 0);
	assert_int_equal(of("load>16"), 0);
	assert_int_equal(of("every:1h"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_that_must_pass_is_what_is_needed),
		cmocka_unit_test(of_a_measure_over_a_time_it_is_that_time),
		cmocka_unit_test(others_need_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
