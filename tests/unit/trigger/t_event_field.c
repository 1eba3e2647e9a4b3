/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Where tracepoints have their fields. */
#include "trigger/events/event_field.h"

#include "dump/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void fields_are_where_the_format_says(void **state)
{
	struct err err = ERR_INIT;
	struct event_field f, v[8];
	unsigned nr;

	if (geteuid())
		skip();
	assert_int_equal(event_field_find("sched/sched_switch", "next_comm", &f, NULL), 0);
	assert_string_equal(f.name, "next_comm");
	assert_int_equal(f.bytes, 16);
	assert_true(f.offset >= 8 + 16 + 4);
	assert_int_equal(event_field_find("sched/sched_process_exec", "filename", &f, NULL), 0);
	assert_int_equal(f.bytes, 4);
	assert_int_equal(event_field_find("sched/sched_switch", "nothing", &f, &err), -ENOENT);
	assert_non_null(strstr(err.what, "nothing"));
	assert_int_equal(event_field_list("raw_syscalls/sys_enter", v, 8, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(v[1].name, "args");
	assert_int_equal(v[1].bytes, 48);
	assert_int_equal(event_field_list("raw_syscalls/sys_enter", v, 1, &nr, NULL), 0);
	assert_int_equal(nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_where_the_format_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
