/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The report on hand-made dumps: names from elsewhere reach the terminal only as text, system calls
 * are paired by thread and number, what was not recorded is said. (What it tells of real threads is
 * it_report.sh's.)
 */
#include "dump/view/report/report.h"

#include "dump/view/print/text_page.h"
#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE  (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define ENTER 401
#define EXIT  402

#define COMMON(name)                                                                               \
	"name: " name "\nID: 1\nformat:\n"                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                               \
	"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"

struct raw_call {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int64_t id, ret;
};

static void call(struct mk_records *r, uint64_t ns, uint16_t type, int tid, int64_t nr, int64_t ret)
{
	struct raw_call raw = {type, 0, 0, tid, nr, ret};

	mk_sample(r, ns, &raw, type == EXIT ? 24 : 16);
}

static struct mk begin(const char *comm)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, 2000000000);
	mk_channel(&d, 0, "calls", TYPE);
	mk_event(&d, 0, 0, "raw_syscalls:sys_enter", ENTER, TYPE);
	mk_event(&d, 1, 0, "raw_syscalls:sys_exit", EXIT, TYPE);
	mk_format(&d, ENTER, "raw_syscalls", COMMON("sys_enter") "\nprint fmt: \"\"\n");
	mk_format(&d, EXIT, "raw_syscalls",
		  COMMON("sys_exit") "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n"
				     "\nprint fmt: \"\"\n");
	mk_task(&d, 1, 5, 5, 1, 0, 0);
	mk_comm(&d, 1, 0, comm);
	return d;
}

/* What the report says; the caller frees it. */
static char *told(struct mk *d, struct mk_records *r, unsigned width)
{
	struct report_options opt = {.to_ns = UINT64_MAX, .width = width};
	struct fmt_window w = {.cpu = 0,
			       .tid = -1,
			       .armed_ns = 1000000000,
			       .paused_ns = 2000000000,
			       .nr_records = r->nr,
			       .first_ns = 1000000000,
			       .last_ns = 1900000000};
	struct report_result res;
	struct reader *reader;
	struct meta *m;
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	mk_window(d, &w);
	mk_block(d, 0, 0, 1000000000, 1900000000, r);
	mk_records_free(r);
	reader = mk_end(d);
	m = mk_meta(reader);
	assert_int_equal(report_print(reader, m, &opt, out, &res, NULL), 0);
	assert_int_equal(res.nr_bad, 0);
	fclose(out);
	meta_free(m);
	mk_close(d, reader);
	return text;
}

static bool has_line(const char *text, const char *a, const char *b)
{
	const char *at = strstr(text, a), *found = at ? strstr(at, b) : NULL;

	return found && !memchr(at, '\n', (size_t)(found - at));
}

static void test_calls_are_paired(void **state)
{
	struct mk d = begin("reader");
	struct mk_records r = {0};
	char *text;

	call(&r, 1000000000, ENTER, 5, 0, 0); /* read, 250 ms */
	call(&r, 1100000000, ENTER, 6, 1, 0); /* write, of another thread, 2 ms, fails */
	call(&r, 1102000000, EXIT, 6, 1, -11);
	call(&r, 1250000000, EXIT, 5, 0, 7);
	call(&r, 1300000000, EXIT, 7, 3, 0);	/* began before: left out */
	call(&r, 1400000000, ENTER, 5, 74, 0);	/* fsync, not over */
	call(&r, 1500000000, ENTER, 6, 231, 0); /* exit_group never comes back */
	text = told(&d, &r, 100);
	assert_true(has_line(text, "SYSTEM CALLS", "3 calls"));
	assert_true(has_line(text, "  read ", "250 ms"));
	assert_true(has_line(text, "  read ", "reader\n"));
	assert_true(has_line(text, "  write ", "2.00 ms"));
	assert_true(has_line(text, "  write ", " 1 "));
	assert_true(has_line(text, "  fsync ", "600 ms"));
	assert_true(has_line(text, "  fsync ", "not over yet"));
	assert_null(strstr(text, "exit_group"));
	assert_null(strstr(text, "  close "));
	free(text);
}

static void test_what_was_not_recorded(void **state)
{
	struct mk d = begin("reader");
	struct mk_records r = {0};
	char *text;

	call(&r, 1000000000, ENTER, 5, 0, 0);
	text = told(&d, &r, 100);
	assert_non_null(strstr(text, "not recorded: CPU time by thread (--preset sched)"));
	assert_non_null(strstr(text, "disks (--preset io)"));
	assert_null(strstr(text, "WHAT RAN"));
	assert_null(strstr(text, "--preset syscalls"));
	free(text);
}

static void test_foreign_names_do_no_harm(void **state)
{
	static const char *const names[] = {"\x1b[31mred\x1b]0;x", "a\nb\rc\td", "\xff\xfe\x80",
					    "</script><b>", "%s%n%s%n"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct mk d = begin(names[i]);
		struct mk_records r = {0};
		char *text, *save = NULL;

		call(&r, 1000000000, ENTER, 5, 0, 0);
		call(&r, 1200000000, EXIT, 5, 0, 0);
		text = told(&d, &r, 80);
		for (const char *s = text; *s; s++)
			assert_true(*s == '\n' || ((unsigned char)*s >= ' ' && *s != 0x7f));
		for (char *s = strtok_r(text, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
			assert_true(page_columns(s) <= 80);
		free(text);
	}
}

/* A tick in leaf, in so many calls of fib in each other, in main. */
static void tick(struct mk_records *r, uint64_t ns, size_t nr_fib)
{
	uint64_t chain[64] = {nr_fib + 3, (uint64_t)PERF_CONTEXT_USER, 0x400010};
	const uint32_t who[] = {5, 5};
	struct buf b = {0};

	for (size_t i = 0; i < nr_fib; i++)
		chain[3 + i] = 0x400110 + (i & 15);
	chain[3 + nr_fib] = 0x400210;
	MK_OK(buf_put(&b, who, sizeof(who)));
	MK_OK(buf_put(&b, &ns, sizeof(ns)));
	MK_OK(buf_put(&b, chain, (nr_fib + 4) * 8));
	mk_record(r, PERF_RECORD_SAMPLE, 0, b.p, b.len);
	buf_free(&b);
}

static void test_a_recursion_is_one_function(void **state)
{
	const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	const struct fmt_map code = {
		.key = 1, .path = 1, .start = 0x400000, .end = 0x401000, .ino = 9, .prot = 5};
	struct mk_records r = {0};
	struct mk d = mk_begin();
	char *text;

	mk_host(&d);
	mk_trigger(&d, 2000000000);
	mk_channel(&d, 0, "cpu", type);
	mk_event(&d, 0, 0, "cpu-clock", 0, type);
	mk_task(&d, 1, 5, 5, 1, 0, 0);
	mk_comm(&d, 1, 0, "fib");
	mk_path(&d, 1, "/usr/bin/fib");
	mk_map(&d, &code);
	mk_image(&d, 0, FMT_IMAGE_FILE, 0, 1, "/usr/bin/fib");
	mk_function(&d, 0, 0, 0x100, "leaf");
	mk_function(&d, 0, 0x100, 0x100, "fib");
	mk_function(&d, 0, 0x200, 0x100, "main");
	for (uint64_t i = 0; i < 40; i++)
		tick(&r, 1000000000 + i * 10000000, 1 + i % 27);
	text = told(&d, &r, 100);
	assert_non_null(strstr(text, "100%  fib > main > fib (up to ×27) > leaf\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_are_paired),
		cmocka_unit_test(test_what_was_not_recorded),
		cmocka_unit_test(test_foreign_names_do_no_harm),
		cmocka_unit_test(test_a_recursion_is_one_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
