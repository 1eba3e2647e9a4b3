/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* Names of code that was made while running: which lines are kept, and where they are cut. */
#include "dump/view/symbols/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

static char out[4096];

static void add(void *ctx, uint64_t start, uint64_t bytes, const char *name)
{
	size_t n = strlen(out);

	snprintf(out + n, sizeof(out) - n, "%lx+%lx %s\n", start, bytes, name);
}

static const char *names(const char *text, const uint64_t *addrs, size_t nr)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct perf_map *m;

	assert_non_null(in);
	assert_int_equal(perf_map_new(addrs, nr, &m), 0);
	assert_int_equal(perf_map_read(m, in), 0);
	out[0] = '\0';
	perf_map_each(m, add, NULL);
	perf_map_free(m);
	fclose(in);
	return out;
}

static void test_hit_only(void **state)
{
	const uint64_t addrs[] = {0, 1, 0x1010, 0x1020, 0x3000, 0x5000};

	assert_string_equal(names("1000 100 first one\n2000 100 not hit\n3000 10 third\n"
				  "4fff 1 ends before\n",
				  addrs, 6),
			    "1000+100 first one\n3000+10 third\n");
}

/* Memory is used again: the last line about an address counts, and no piece lies in another. */
static void test_again(void **state)
{
	const uint64_t addrs[] = {0x1010, 0x1050, 0x1090};

	assert_string_equal(names("1000 100 old\n1040 20 new\n", addrs, 3),
			    "1000+40 old\n1040+20 new\n1060+a0 old\n");
	assert_string_equal(names("1000 100 old\n1000 100 new\n", addrs, 3), "1000+100 new\n");
}

static void test_no_lines(void **state)
{
	const uint64_t addrs[] = {0x1010};

	assert_string_equal(names("zzz\n1000\n1000 \n1000 0 empty\n1000 20\n1000 20 \n"
				  "1000 ffffffffffffffff all\n",
				  addrs, 1),
			    "1000+ffffffffffffffff all\n");
	assert_string_equal(names("x", addrs, 1), "");
}

/* Also one without an end, as a sparse file has it: the buffer would grow with it. */
static void test_long_lines(void **state)
{
	static char text[(64 << 20) + 100];
	const uint64_t addrs[] = {0x1010, 0x2010};
	struct rusage before, after;
	size_t n;

	n = (size_t)sprintf(text, "1000 20 ");
	memset(text + n, 'n', 5000);
	sprintf(text + n + 5000, "\n2000 20 next\n");
	names(text, addrs, 2);
	assert_int_equal(strlen(out), strlen("1000+20 ") + 1024 + strlen("\n2000+20 next\n"));
	assert_non_null(strstr(out, "2000+20 next"));

	memset(text, 'x', sizeof(text) - 1);
	getrusage(RUSAGE_SELF, &before);
	assert_string_equal(names(text, addrs, 2), "");
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 8 << 10); /* KiB */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hit_only),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
