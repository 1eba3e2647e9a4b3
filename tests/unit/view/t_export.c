/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * What all exports share: the table, which callbacks are called when and with what, and outputs
 * that can't be written.
 */
#include "dump/view/export/export.h"

#include "tests/helpers/mkdump.h"

#include <errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RAW_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define HIT	 2000000000ull

/* Two rings of ten records each, in turn. */
static struct reader *make(struct mk *d)
{
	struct mk_records r = {0};

	*d = mk_begin();
	mk_host(d);
	mk_trigger(d, HIT);
	mk_channel(d, 0, "sched", RAW_TYPE);
	mk_event(d, 0, 0, "demo:value", 300, RAW_TYPE);
	for (uint32_t ring = 0; ring < 2; ring++) {
		mk_cpu_window(d, ring, 0, (int32_t)ring);
		for (uint32_t i = 0; i < 10; i++)
			mk_number(&r, HIT + 2 * i + ring, 300, 10, i);
		mk_block(d, ring, 0, HIT + ring, HIT + 18 + ring, &r);
		mk_records_free(&r);
	}
	return mk_end(d);
}

/* ---- an exporter that notes what is called: b, r for each record, e, d ---- */

static char notes[200];
static char fails_at; /* one of them; 0: none */
static bool flushes;  /* what a record makes */

static int note(char c, struct err *err)
{
	size_t n = strlen(notes);

	assert_true(n + 1 < sizeof(notes));
	notes[n] = c;
	return c == fails_at ? err_set(err, -ENODATA, "it fails") : 0;
}

static int noting_begin(struct export *x, struct err *err)
{
	assert_true(x->a.m && x->a.history && x->a.fields && !x->a.symbols && !x->a.stacks);
	text_str(&x->out, "head ");
	return note('b', err);
}

static int noting_record(struct export *x, const struct timeline_record *rec, struct err *err)
{
	static uint64_t last_ns;

	assert_true(strlen(notes) == 1 || rec->time_ns > last_ns);
	last_ns = rec->time_ns;
	text_char(&x->out, 'x');
	x->nr_left_out++;
	if (flushes)
		text_flush(&x->out);
	return note('r', err);
}

static int noting_end(struct export *x, struct err *err)
{
	text_str(&x->out, " end");
	if (x->seekable)
		export_patch(x, 0, "HEAD", 4);
	return note('e', err);
}

static void noting_drop(struct export *x)
{
	note('d', NULL);
}

static const struct exporter noting = {
	.name = "noting",
	.help = "",
	.suffix = ".n",
	.needs = ANALYSIS_HISTORY | ANALYSIS_FIELDS,
	.begin = noting_begin,
	.record = noting_record,
	.end = noting_end,
	.drop = noting_drop,
};

/* ---- tests ---- */

static int run(const struct export_options *opt, char fails, FILE *out, struct export_result *res)
{
	struct mk d;
	struct reader *r = make(&d);
	struct meta *m = mk_meta(r);
	struct err err = ERR_INIT;
	int rc;

	memset(notes, 0, sizeof(notes));
	fails_at = fails;
	rc = export_run(r, m, &noting, opt, out, res, &err);
	if (rc == -ENODATA)
		assert_string_equal(err.what, "it fails");
	meta_free(m);
	mk_close(&d, r);
	return rc;
}

static void test_callbacks(void **state)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	FILE *out = tmpfile();
	char text[64] = "";

	assert_int_equal(run(&opt, 0, out, &res), 0);
	assert_string_equal(notes, "brrrrrrrrrrrrrrrrrrrred");
	assert_int_equal(res.nr_records, 20);
	assert_int_equal(res.nr_left_out, 20);
	assert_int_equal(res.nr_bad, 0);
	rewind(out);
	assert_true(fread(text, 1, sizeof(text) - 1, out) > 0);
	assert_string_equal(text, "HEAD xxxxxxxxxxxxxxxxxxxx end");
	fclose(out);
}

static void test_part(void **state)
{
	struct export_options opt = {.from_ns = HIT + 3, .to_ns = HIT + 5};
	struct export_result res;
	FILE *out = tmpfile();

	assert_int_equal(run(&opt, 0, out, &res), 0);
	assert_string_equal(notes, "brrred");
	fclose(out);
}

/* What fails ends it; what began is dropped. */
static void test_failures(void **state)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	FILE *out = tmpfile();

	assert_int_equal(run(&opt, 'b', out, &res), -ENODATA);
	assert_string_equal(notes, "bd");
	assert_int_equal(run(&opt, 'r', out, &res), -ENODATA);
	assert_string_equal(notes, "brd");
	assert_int_equal(run(&opt, 'e', out, &res), -ENODATA);
	assert_string_equal(notes, "brrrrrrrrrrrrrrrrrrrred");
	fclose(out);
}

/* Behind what is there already nothing can be written over, nor on a pipe. */
static void test_seekable(void **state)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	FILE *out = tmpfile();
	char *p = NULL, text[64] = "";
	size_t n;

	fputs("1 ", out);
	assert_int_equal(run(&opt, 0, out, &res), 0);
	rewind(out);
	assert_true(fread(text, 1, sizeof(text) - 1, out) > 0);
	assert_string_equal(text, "1 head xxxxxxxxxxxxxxxxxxxx end");
	fclose(out);
	out = open_memstream(&p, &n);
	assert_int_equal(run(&opt, 0, out, &res), 0);
	fclose(out);
	assert_string_equal(p, "head xxxxxxxxxxxxxxxxxxxx end");
	free(p);
}

static void test_full_disk(void **state)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	const struct exporter *e;
	struct mk d;
	struct reader *r = make(&d);
	struct meta *m = mk_meta(r);
	FILE *out;

	for (size_t i = 0; (e = exporter_nth(i)); i++) {
		struct err err = ERR_INIT;

		/* These have nothing to write of this dump. */
		if (e == &export_folded || e == &export_pprof || e == &export_aux)
			continue;
		out = fopen("/dev/full", "we");

		assert_int_equal(export_run(r, m, e, &opt, out, &res, &err), -ENOSPC);
		assert_non_null(strstr(err.what, "written"));
		fclose(out);
	}
	meta_free(m);
	mk_close(&d, r);
}

/* An exporter may see it first and give up with an error of its own: the output's is told. */
static void test_full_disk_first(void **state)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	FILE *out = fopen("/dev/full", "we");

	setvbuf(out, NULL, _IONBF, 0);
	flushes = true;
	assert_int_equal(run(&opt, 'r', out, &res), -ENOSPC);
	flushes = false;
	assert_string_equal(notes, "brd");
	fclose(out);
}

static void test_find(void **state)
{
	struct err err = ERR_INIT;

	assert_ptr_equal(exporter_find("perf", &err), &export_perf);
	assert_null(exporter_find("prf", &err));
	assert_non_null(strstr(err.what, "prf"));
	assert_non_null(strstr(err.hint, "perf"));
	for (size_t i = 0; exporter_nth(i); i++) {
		const struct exporter *e = exporter_nth(i);

		assert_ptr_equal(exporter_find(e->name, NULL), e);
		assert_true((e->record || e->all) && *e->help && e->suffix[0] == '.');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callbacks), cmocka_unit_test(test_part),
		cmocka_unit_test(test_failures),  cmocka_unit_test(test_seekable),
		cmocka_unit_test(test_full_disk), cmocka_unit_test(test_full_disk_first),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
