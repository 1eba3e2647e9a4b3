/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Source psi: what it accepts and refuses, with the reason, and what it says it watches.
 * tests/program/rules/it_rules_measure.sh has it under load. */
#include "trigger/engine/source.h"

#include "dump/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static int try(const char *text, struct source_plan *plan, struct err *err)
{
	struct source *s;
	struct rule *r;
	int rc;

	assert_int_equal(rule_parse(text, &r, NULL), 0);
	rc = source_psi.open(r, NULL, &s, err);
	rule_free(r);
	if (rc)
		return rc;
	source_psi.plan(s, plan);
	source_psi.close(s);
	return 0;
}

static void what_can_never_be_is_refused_with_the_reason(void **state)
{
	static const char *const bad[][2] = {
		{"psi", "column 4: expected ':' and a resource"},
		{"psi:memory", "expected '>' and a value"},
		{"psi:memory>1ms/1s",
		 "column 11: expected some (at least one task stalls) or full"},
		{"psi:mem:some>1ms/1s", "column 5: expected memory, cpu, io or irq, found 'mem'"},
		{"psi::some>1ms/1s", "found ''"},
		{"psi:io:any>1ms/1s", "column 8: expected some"},
		{"psi:io:some:>1ms/1s", "column 13: expected the path of a cgroup"},
		{"psi:io:some:/no/such>1ms/1s", "column 13: there is no cgroup '/no/such'"},
		{"psi:io:some>1ms", "column 16: expected '/' and a time"},
		{"psi:io:some>5/1s", "column 13: expected a time of 1us or longer"},
		{"psi:io:some>1ns/1s", "column 13: expected a time of 1us or longer"},
		{"psi:io:some>1ms/499ms", "column 17: the kernel watches windows of 500ms to 10s"},
		{"psi:io:some>1ms/11s", "not of 11 s"},
		{"psi:io:some>3s/2s", "column 13: there is no more than 2s in a window of 2s"},
		{"psi:io:some<1ms/2s", "column 12: expected '>'"},
		{"psi:io:some>1ms/2s;hysteresis=5", "hysteresis= does not apply"},
		{"psi:io:some>1ms/2s;while-running", "while-running is for rules about"},
		{"psi:cpu:full>1ms/2s", "never met for the whole machine: some task always runs"},
		{"psi:irq:some>1ms/2s", "use irq:full"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;
		struct source_plan plan;

		assert_int_equal(try(bad[i][0], &plan, &err),
				 strstr(bad[i][0], "/no/such") ? -ENOENT : -EINVAL);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
		assert_non_null(strchr(err.hint, '^'));
	}
}

static void pressure_that_the_kernel_does_not_watch_is_refused(void **state)
{
	struct err err = ERR_INIT;
	struct source_plan plan;

	if (!access("/proc/pressure/irq", F_OK)) {
		assert_int_equal(try("psi:irq:full>1ms/2s", &plan, &err), 0);
		return;
	}
	assert_int_equal(try("psi:irq:full>1ms/2s", &plan, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.what, "/proc/pressure/irq"));
	assert_true(*err.hint);
}

static void the_kernel_is_told_what_to_watch(void **state)
{
	struct err err = ERR_INIT;
	struct source_plan plan;

	if (access("/proc/pressure/memory", F_OK))
		skip();
	if (try("psi:memory:some>300ms/2s", &plan, &err))
		fail_msg("%s; %s", err.what, err.hint);
	assert_non_null(strstr(plan.watches, "/proc/pressure/memory, 300 ms/2 s"));
	if (try("psi:memory:full>150ms/1s;for=3s", &plan, &err))
		fail_msg("%s; %s", err.what, err.hint);
	/* With or without CAP_SYS_RESOURCE. */
	assert_true(strstr(plan.watches, "150 ms/1 s") ||
		    strstr(plan.watches, "300 ms/2 s (without CAP_SYS_RESOURCE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_never_be_is_refused_with_the_reason),
		cmocka_unit_test(pressure_that_the_kernel_does_not_watch_is_refused),
		cmocka_unit_test(the_kernel_is_told_what_to_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
