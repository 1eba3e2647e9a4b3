/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * What deflate.c compresses, raw and as gzip, in pieces of any size, comes back whole; a text that
 * can't be written is told.
 */
#include "dump/view/base/deflate.h"
#include "dump/view/base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

#define BYTES (3u << 20)

/* Half noise, half the same again and again. */
static unsigned char *sample(void)
{
	unsigned char *p = malloc(BYTES);
	uint32_t x = 1;

	assert_non_null(p);
	for (size_t i = 0; i < BYTES; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = i & 65536 ? (unsigned char)(x >> 24) : (unsigned char)(i % 7);
	}
	return p;
}

static void compress_in_pieces(enum deflate_kind kind, const unsigned char *p, size_t n,
			       size_t piece, struct text *to)
{
	struct deflate *d = NULL;

	assert_int_equal(deflate_new(kind, DEFLATE_NORMAL, to, &d, NULL), 0);
	for (size_t at = 0; at < n; at += piece)
		assert_int_equal(deflate_put(d, p + at, n - at < piece ? n - at : piece), 0);
	assert_int_equal(deflate_end(d), 0);
	deflate_free(d);
}

/* `bits` as inflateInit2() takes them: 0 bytes behind the end are allowed. */
static void assert_same(const struct text *t, int bits, const unsigned char *p, size_t n)
{
	unsigned char *back = malloc(n + 1);
	z_stream z = {.next_in = t->b.p,
		      .avail_in = (unsigned)t->b.len,
		      .next_out = back,
		      .avail_out = (unsigned)n + 1};

	assert_non_null(back);
	assert_int_equal(inflateInit2(&z, bits), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	assert_int_equal(z.total_out, n);
	assert_memory_equal(back, p, n);
	inflateEnd(&z);
	free(back);
}

static void test_round_trip(void **state)
{
	static const size_t pieces[] = {BYTES, 65536, 4093};
	unsigned char *p = sample();

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct text raw = TEXT_INIT(NULL), gz = TEXT_INIT(NULL);

		compress_in_pieces(DEFLATE_RAW, p, BYTES, pieces[i], &raw);
		assert_same(&raw, -MAX_WBITS, p, BYTES);
		assert_true(raw.b.len < BYTES * 6 / 10);
		compress_in_pieces(DEFLATE_GZIP, p, BYTES, pieces[i], &gz);
		assert_same(&gz, MAX_WBITS + 16, p, BYTES);
		text_free(&raw);
		text_free(&gz);
	}
	free(p);
}

static void test_nothing(void **state)
{
	struct text t = TEXT_INIT(NULL);

	compress_in_pieces(DEFLATE_GZIP, (const unsigned char *)"", 0, 1, &t);
	assert_same(&t, MAX_WBITS + 16, (const unsigned char *)"", 0);
	text_free(&t);
}

static void test_full_disk_is_told(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct text t = TEXT_INIT(f);
	unsigned char *p = sample();
	struct deflate *d = NULL;
	int rc = 0;

	assert_non_null(f);
	assert_int_equal(deflate_new(DEFLATE_RAW, DEFLATE_FAST, &t, &d, NULL), 0);
	for (size_t at = 0; at < BYTES && !rc; at += 65536)
		rc = deflate_put(d, p + at, 65536);
	assert_int_equal(rc, -ENOSPC);
	deflate_free(d);
	text_free(&t);
	fclose(f);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
