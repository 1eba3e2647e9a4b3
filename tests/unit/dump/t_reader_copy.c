/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* A second reader of an open file has the same blocks, whatever becomes of the first. */
#include "dump/file/reader.h"

#include "tests/helpers/mkdump.h"

#include <pthread.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)

static struct mk make(void)
{
	struct mk d = mk_begin();
	uint64_t off = 0;

	mk_host(&d);
	mk_trigger(&d, 1000);
	mk_channel(&d, 0, "a", TYPE);
	mk_event(&d, 0, 0, "sys:a", 300, TYPE);
	mk_cpu_window(&d, 0, 0, 0);
	for (uint64_t i = 0; i < 20; i++) {
		struct mk_records r = {0};

		for (uint64_t k = 0; k < 100; k++)
			mk_number(&r, 9000 - 100 * i + k, 300, 5, (uint32_t)(i * k));
		off = mk_block(&d, 0, off, 9000 - 100 * i, 9099 - 100 * i, &r);
		mk_records_free(&r);
	}
	return d;
}

/* All of it, by whatever name the file can be opened. */
static struct buf load_all(struct reader *r)
{
	struct buf all = {0}, one = {0};

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		assert_int_equal(reader_load(r, i, &one, NULL), 0);
		assert_int_equal(buf_put(&all, one.p, one.len), 0);
	}
	buf_free(&one);
	return all;
}

static void check_twin(struct reader *r)
{
	struct buf want = load_all(r), got;
	uint64_t bytes = reader_file_bytes(r);
	bool committed = reader_committed(r);
	struct reader *twin;

	assert_int_equal(reader_copy(r, &twin, NULL), 0);
	reader_close(r);
	assert_int_equal(reader_file_bytes(twin), bytes);
	assert_int_equal(reader_committed(twin), committed);
	got = load_all(twin);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.p, want.p, want.len);
	buf_free(&want);
	buf_free(&got);
	reader_close(twin);
}

static void test_memory(void **state)
{
	struct mk d = make();

	mk_finish(&d);
	check_twin(mk_open(&d, false));
	check_twin(mk_open(&d, true));
	mk_close(&d, NULL);
}

static void test_file(void **state)
{
	struct mk d = make();
	struct reader *r;
	char path[64];

	mk_finish(&d);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", d.fd);
	assert_int_equal(reader_open(path, &r, NULL), 0);
	check_twin(r);
	mk_close(&d, NULL);
}

/* What one finds damaged, the other does too. */
static void test_damaged(void **state)
{
	struct mk d = make();
	struct reader *r, *twin;
	struct buf b = {0};

	r = mk_end(&d);
	assert_int_equal(reader_copy(r, &twin, NULL), 0);
	mk_damage(&d, r, 4);
	assert_true(reader_load(twin, 4, &b, NULL) < 0);
	assert_true(reader_load(r, 4, &b, NULL) < 0);
	assert_int_equal(reader_load(twin, 5, &b, NULL), 0);
	buf_free(&b);
	reader_close(twin);
	mk_close(&d, r);
}

static void *read_again(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct buf b = load_all(arg);

		buf_free(&b);
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	struct mk d = make();
	struct reader *r = mk_end(&d), *twin;
	pthread_t other;

	assert_int_equal(reader_copy(r, &twin, NULL), 0);
	assert_int_equal(pthread_create(&other, NULL, read_again, twin), 0);
	read_again(r);
	pthread_join(other, NULL);
	reader_close(twin);
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
