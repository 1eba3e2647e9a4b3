/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* How long something took, in three digits that count: as printf() would round it. */
#include "dump/view/print/text_page.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const char *shown(uint64_t ns)
{
	static char s[32];

	return page_fmt_time(s, sizeof(s), ns);
}

static void units_change_where_three_digits_end(void **state)
{
	assert_string_equal(shown(0), "0 ns");
	assert_string_equal(shown(7), "7 ns");
	assert_string_equal(shown(999), "999 ns");
	assert_string_equal(shown(1000), "1.00 us");
	assert_string_equal(shown(9994), "9.99 us");
	assert_string_equal(shown(9995), "10.0 us");
	assert_string_equal(shown(99949), "99.9 us");
	assert_string_equal(shown(99950), "100 us");
	assert_string_equal(shown(999499), "999 us");
	assert_string_equal(shown(999500), "1.00 ms");
	assert_string_equal(shown(50912345), "50.9 ms");
	assert_string_equal(shown(999499999), "999 ms");
	assert_string_equal(shown(999500000), "1.00 s");
	assert_string_equal(shown(86400000000000), "86400 s");
	assert_string_equal(shown(UINT64_MAX), "18446744074 s");
}

static void times_are_rounded(void **state)
{
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < 200000; i++) {
		double v, unit;
		uint64_t ns;
		char *rest;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		ns = x >> (i % 60);
		v = strtod(shown(ns), &rest);
		unit = rest[1] == 's' ? 1e9 : rest[1] == 'm' ? 1e6 : rest[1] == 'u' ? 1e3 : 1;
		assert_true(fabs(v - (double)ns / unit) <= (v < 9.995 && unit > 1   ? 0.005001
							    : v < 99.95 && unit > 1 ? 0.05001
										    : 0.50001));
	}
}

static void what_does_not_fit_is_cut(void **state)
{
	char s[5];

	assert_string_equal(page_fmt_time(s, sizeof(s), 12345), "12.3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_change_where_three_digits_end),
		cmocka_unit_test(times_are_rounded),
		cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
