/* LAYERS: trigger kernel dump base */
// SPDX-License-Identifier: MIT
/*
 * Which rules and events stop traces in the kernel, and the book of brakes and traces in whatever
 * order they come. No trace is there: the kernel refuses each pair, which is no error.
 */
#include "trigger/events/aux_pause.h"
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/kernel/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *unfit(const char *text, const struct source_env *env)
{
	struct err err = ERR_INIT;
	struct rule *r;
	const char *why;

	assert_int_equal(rule_parse(text, &r, &err), 0);
	why = brake_unfit(r, env);
	rule_free(r);
	return why;
}

static void a_rule_that_wants_what_comes_after_stops_nothing(void **state)
{
	struct source_env env = {0}, later = {.post_ns = 5};

	(void)state;
	assert_null(unfit("oom", NULL));
	assert_null(unfit("oom", &env));
	assert_non_null(strstr(unfit("oom;post=1ms", &env), "post="));
	assert_non_null(strstr(unfit("oom", &later), "post="));
	assert_null(unfit("oom;post=0", &later));
}

static void nor_one_that_drops_most_hits(void **state)
{
	(void)state;
	assert_non_null(strstr(unfit("oom;probability=1%", NULL), "probability="));
	assert_null(unfit("oom;cooldown=1h;max=3/1h", NULL));
}

static void only_events_that_are_all_hits_can(void **state)
{
	struct event e = {.kind = EVENT_TRACEPOINT, .attr = {.sample_period = 1}};

	(void)state;
	assert_true(brake_can(&e));
	e.kind = EVENT_UPROBE;
	assert_true(brake_can(&e));
	e.attr.sample_period = 100;
	assert_false(brake_can(&e));
	e = (struct event){.kind = EVENT_SOFTWARE, .attr = {.sample_period = 1}};
	assert_false(brake_can(&e));
	e = (struct event){.kind = EVENT_TRACEPOINT, .attr = {.sample_freq = 1, .freq = 1}};
	assert_false(brake_can(&e));
}

static void brakes_and_traces_come_and_go_in_any_order(void **state)
{
	const struct event e = {.kind = EVENT_TRACEPOINT, .attr = {.type = 0xffffff}};
	struct brake *first, *second;
	struct brakes *b;

	(void)state;
	assert_int_equal(brakes_new(&b), 0);
	assert_int_equal(brake_new(b, &e, &first), 0);
	assert_int_equal(brakes_add_trace(b, 0, 1000, 1001), 0);
	assert_int_equal(brakes_add_trace(b, 1, 1002, 1003), 0);
	assert_int_equal(brake_new(b, &e, &second), 0);
	assert_int_equal(brakes_nr_traces(b), 2);
	assert_int_equal(brake_nr(first), 0);
	assert_int_equal(brake_nr(second), 0);
	assert_false(brakes_changed(b));
	brake_set(first, false);
	brake_set(first, true);
	brakes_drop_trace(b, 1000);
	brakes_drop_trace(b, 1000);
	assert_int_equal(brakes_nr_traces(b), 1);
	brake_free(first);
	brakes_drop_trace(b, 1002);
	assert_int_equal(brakes_nr_traces(b), 0);
	brake_free(second);
	brake_free(NULL);
	brakes_free(b);
	brakes_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_that_wants_what_comes_after_stops_nothing),
		cmocka_unit_test(nor_one_that_drops_most_hits),
		cmocka_unit_test(only_events_that_are_all_hits_can),
		cmocka_unit_test(brakes_and_traces_come_and_go_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
