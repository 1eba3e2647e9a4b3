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
	why = aux_pause_unfit(r, env);
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
	assert_true(aux_pause_can(&e));
	e.kind = EVENT_UPROBE;
	assert_true(aux_pause_can(&e));
	e.attr.sample_period = 100;
	assert_false(aux_pause_can(&e));
	e = (struct event){.kind = EVENT_SOFTWARE, .attr = {.sample_period = 1}};
	assert_false(aux_pause_can(&e));
	e = (struct event){.kind = EVENT_TRACEPOINT, .attr = {.sample_freq = 1, .freq = 1}};
	assert_false(aux_pause_can(&e));
}

static void aux_pauses_and_traces_come_and_go_in_any_order(void **state)
{
	const struct event e = {.kind = EVENT_TRACEPOINT, .attr = {.type = 0xffffff}};
	struct aux_pause *first, *second;
	struct aux_pauses *b;

	(void)state;
	assert_int_equal(aux_pauses_new(&b), 0);
	assert_int_equal(aux_pause_new(b, &e, &first), 0);
	assert_int_equal(aux_pauses_add_trace(b, 0, 1000, 1001), 0);
	assert_int_equal(aux_pauses_add_trace(b, 1, 1002, 1003), 0);
	assert_int_equal(aux_pause_new(b, &e, &second), 0);
	assert_int_equal(aux_pauses_nr_traces(b), 2);
	assert_int_equal(aux_pause_nr(first), 0);
	assert_int_equal(aux_pause_nr(second), 0);
	assert_false(aux_pauses_changed(b));
	aux_pause_set(first, false);
	aux_pause_set(first, true);
	aux_pauses_drop_trace(b, 1000);
	aux_pauses_drop_trace(b, 1000);
	assert_int_equal(aux_pauses_nr_traces(b), 1);
	aux_pause_free(first);
	aux_pauses_drop_trace(b, 1002);
	assert_int_equal(aux_pauses_nr_traces(b), 0);
	aux_pause_free(second);
	aux_pause_free(NULL);
	aux_pauses_free(b);
	aux_pauses_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_that_wants_what_comes_after_stops_nothing),
		cmocka_unit_test(nor_one_that_drops_most_hits),
		cmocka_unit_test(only_events_that_are_all_hits_can),
		cmocka_unit_test(aux_pauses_and_traces_come_and_go_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
