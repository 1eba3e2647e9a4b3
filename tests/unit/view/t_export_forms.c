/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Exporters on a dump made by hand, whole and with each of its blocks damaged: none fails on what
 * a dump may say. What they write of real dumps is held to what script says in it_export*.sh.
 */
#include "dump/view/export/export.h"
#include "dump/view/base/pair_ids.h"

#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define COUNTER                                                                                    \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |                \
	 PERF_SAMPLE_CALLCHAIN)

static void put_samples(struct mk *d)
{
	const uint64_t chain[] = {
		0x7010, 10 | 10ull << 32,  2000,   1000000, 5, PERF_CONTEXT_KERNEL,
		~0xfff, PERF_CONTEXT_USER, 0x7010, 0x7020,
	};
	uint64_t nobody[10];
	struct mk_records r = {.nr = 0};

	memcpy(nobody, chain, sizeof(chain));
	nobody[1] = UINT64_MAX; /* an exiting thread */
	nobody[2] = 2001;
	mk_record(&r, PERF_RECORD_SAMPLE, 0, chain, sizeof(chain));
	mk_record(&r, PERF_RECORD_SAMPLE, 0, nobody, sizeof(nobody));
	mk_block(d, 0, 0, 2000, 2001, &r);
	mk_records_free(&r);
}

static struct mk made(void)
{
	struct mk d = mk_begin();
	struct mk_records r = {.nr = 0};
	struct fmt_map map = {.key = 1, .path = 1, .start = 0x7000, .end = 0x8000};

	mk_host(&d);
	mk_trigger(&d, 3000);
	mk_channel(&d, 0, "cpu", COUNTER);
	mk_channel(&d, 1, "tp", PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
	mk_event(&d, 0, 0, "page-faults", 0, COUNTER);
	mk_event(&d, 1, 1, "sys:\x1b[2Jtp", 300, PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
	mk_cpu_window(&d, 0, 0, 1);
	mk_cpu_window(&d, 1, 1, 1);
	mk_task(&d, 1, 10, 10, 1, 0, 0);
	mk_comm(&d, 1, 0, "a;b\x1b\xff \"c");
	mk_path(&d, 1, "/usr/bin/a;b\n");
	mk_map(&d, &map);
	put_samples(&d);
	mk_number(&r, 2500, 300, 10, 7);
	mk_lost(&r, 2600, 1, 5);
	mk_number(&r, 2700, 999, 10, 7);
	mk_block(&d, 1, 0, 2500, 2700, &r);
	mk_records_free(&r);
	mk_image(&d, 0, FMT_IMAGE_FILE, 0, 1, "/usr/bin/a;b\n");
	mk_function(&d, 0, 0, 0x100, "_Z4workv");
	mk_place(&d, 0, 0x10, 0, 7, "in;ner", "a\xff.h");
	mk_place(&d, 0, 0x10, 1, 8, "work", "a.c");
	return d;
}

/* All formats; what each wrote is in *out, to be freed. */
static int run(struct reader *r, const struct exporter *e, char **out, size_t *n)
{
	struct export_options opt = {.to_ns = UINT64_MAX, .path = "x.rbd"};
	struct export_result res;
	struct meta *m = mk_meta(r);
	FILE *f = tmpfile();
	int rc;

	assert_non_null(f);
	rc = export_run(r, m, e, &opt, f, &res, NULL);
	*n = (size_t)ftello(f);
	*out = calloc(1, *n + 1);
	rewind(f);
	assert_int_equal(fread(*out, 1, *n, f), *n);
	fclose(f);
	meta_free(m);
	return rc;
}

static void folded_has_its_line(void **state)
{
	struct mk d = made();
	struct reader *r = mk_end(&d);
	char *out;
	size_t n;

	assert_int_equal(run(r, exporter_find("folded", NULL), &out, &n), 0);
	/* Escapes are text, and no ';' of a name divides. */
	assert_non_null(
		strstr(out, "a:b\\x1b\\xff \"c;work;work;in:ner_[i];0xfffffffffffff000_[k] 1"));
	assert_null(strchr(out, '\x1b'));
	free(out);
	mk_close(&d, r);
}

/* InternedString's field 2 with the bytes themselves, not their digits. */
static void a_build_id_is_bytes(void **state)
{
	struct mk d = made();
	struct reader *r = mk_end(&d);
	char *out;
	size_t n;

	assert_int_equal(run(r, exporter_find("pftrace", NULL), &out, &n), 0);
	assert_non_null(memmem(out, n, "\x12\x03\x01\x02\x01", 5));
	assert_null(memmem(out, n, "010201", 6));
	free(out);
	mk_close(&d, r);
}

static void no_format_fails_on_it(void **state)
{
	struct mk d = made();
	struct reader *r = mk_end(&d);
	const struct exporter *e;
	char *out;
	size_t n;

	for (size_t i = 0; (e = exporter_nth(i)); i++) {
		if (!strcmp(e->name, "aux")) /* it has no such area */
			continue;
		assert_int_equal(run(r, e, &out, &n), 0);
		assert_true(n > 30);
		free(out);
	}
	assert_null(exporter_find("nothing", NULL));
	mk_close(&d, r);
}

static void a_damaged_block_is_no_end(void **state)
{
	struct mk d = made();
	struct reader *r = mk_end(&d), *bad;
	size_t nr = reader_nr_blocks(r);
	const struct exporter *e;
	char *out;
	size_t n;

	for (size_t block = 0; block < nr; block++) {
		mk_damage(&d, r, block);
		bad = mk_open(&d, true);
		for (size_t i = 0; (e = exporter_nth(i)); i++) {
			int rc = run(bad, e, &out, &n);

			/* Without its events a dump has no samples. */
			assert_true(rc == 0 || rc == -ENOTSUP);
			free(out);
		}
		reader_close(bad);
		mk_damage(&d, r, block);
	}
	mk_close(&d, r);
}

static void pairs_have_numbers(void **state)
{
	struct pair_ids m = {0};
	uint64_t a, b;
	bool is_new;

	for (uint32_t again = 0; again < 2; again++)
		for (uint32_t i = 0; i < 5000; i++) {
			assert_int_equal(pair_ids_add(&m, i % 70, i / 70, &is_new), i + 1);
			assert_int_equal(is_new, !again);
		}
	assert_int_equal(pair_ids_nr(&m), 5000);
	pair_ids_get(&m, 4711, &a, &b);
	assert_int_equal(a, 4710 % 70);
	assert_int_equal(b, 4710 / 70);
	pair_ids_free(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_has_its_line),
		cmocka_unit_test(a_build_id_is_bytes),
		cmocka_unit_test(no_format_fails_on_it),
		cmocka_unit_test(a_damaged_block_is_no_end),
		cmocka_unit_test(pairs_have_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
