// SPDX-License-Identifier: MIT
/*
 * Code of processes that live: it is that of the process that was recorded, or none.
 */
#include "recorder/symbolize/live_code.h"

#include "trigger/kernel/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char text[] = "what lies here";

static size_t read_own(uint64_t until_ns, char *to)
{
	struct live_code *l = live_code_new(until_ns);
	size_t n;

	assert_non_null(l);
	n = live_code_read(l, getpid(), (uint64_t)(uintptr_t)text, to, sizeof(text));
	live_code_free(l);
	return n;
}

static void memory_of_a_process_is_read(void **state)
{
	char got[sizeof(text)];

	assert_int_equal(read_own(clock_ns(), got), sizeof(text));
	assert_memory_equal(got, text, sizeof(text));
}

/* A dump of before this process began is not about it, though it has the PID now. */
static void a_pid_that_is_used_again_is_another_process(void **state)
{
	char got[sizeof(text)];

	assert_int_equal(read_own(1, got), 0);
}

static void what_is_not_there_is_nothing(void **state)
{
	struct live_code *l = live_code_new(clock_ns());
	char got[16];

	assert_non_null(l);
	assert_int_equal(live_code_read(l, getpid(), 16, got, sizeof(got)), 0);
	assert_int_equal(live_code_read(l, getpid(), UINT64_MAX - 4, got, sizeof(got)), 0);
	live_code_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_a_process_is_read),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(what_is_not_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
