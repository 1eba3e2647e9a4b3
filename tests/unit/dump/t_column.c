/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Columns come back number by number, whatever the numbers are; their bytes are those that
 * PACKED.md says; and bytes that are no column are refused without reading past their end.
 */
#include "dump/base/sanitized.h"
#include "dump/packed/column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MAX_NR 4096u
#define SLACK  0xa5

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed ^ *seed >> 29;
}

static uint32_t below(uint64_t *seed, uint32_t limit)
{
	return (uint32_t)((next_random(seed) >> 32) * limit >> 32);
}

/* A stream in memory of just its length; free .p. */
static struct bytes stream_of(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n + !n);

	assert_non_null(copy);
	if (n)
		memcpy(copy, p, n);
	return (struct bytes){copy, n};
}

/* Writes numbers; nothing is written behind what column_bound() says. */
static struct bytes put64(const uint64_t *v, uint32_t nr)
{
	size_t bound = column_bound(nr, 8), n;
	uint8_t *dst = malloc(bound + 16);
	struct bytes s;

	assert_non_null(dst);
	memset(dst, SLACK, bound + 16);
	n = column_put_u64(dst, v, nr);
	assert_true(n >= sizeof(struct fmt_column) && n <= bound);
	for (size_t i = bound; i < bound + 16; i++)
		assert_int_equal(dst[i], SLACK);
	s = stream_of(dst, n);
	free(dst);
	return s;
}

static struct bytes put32(const uint32_t *v, uint32_t nr)
{
	size_t bound = column_bound(nr, 4), n;
	uint8_t *dst = malloc(bound + 16);
	struct bytes s;

	assert_non_null(dst);
	memset(dst, SLACK, bound + 16);
	n = column_put_u32(dst, v, nr);
	assert_true(n >= sizeof(struct fmt_column) && n <= bound);
	for (size_t i = bound; i < bound + 16; i++)
		assert_int_equal(dst[i], SLACK);
	s = stream_of(dst, n);
	free(dst);
	return s;
}

static int get64(struct bytes s, uint32_t nr, uint64_t *v)
{
	struct packed_column c;
	int rc = column_open(s, &c);

	if (rc)
		return rc;
	return c.h.nr == nr ? column_get_u64(&c, v) : -EBADMSG;
}

static int get32(struct bytes s, uint32_t nr, uint32_t *v)
{
	struct packed_column c;
	int rc = column_open(s, &c);

	if (rc)
		return rc;
	return c.h.nr == nr ? column_get_u32(&c, v) : -EBADMSG;
}

/* As numbers of 8 bytes, and of 4 when they fit; returns the kind that the writer chose. */
static int trip(const uint64_t *v, uint32_t nr)
{
	uint64_t *wide = calloc(nr + 1u, 8);
	uint32_t *from = calloc(nr + 1u, 4), *to = calloc(nr + 1u, 4);
	struct bytes s = put64(v, nr);
	struct fmt_column h;
	uint64_t any = 0;

	assert_true(wide && from && to);
	assert_int_equal(get64(s, nr, wide), 0);
	assert_memory_equal(wide, v, nr * sizeof(*v));
	memcpy(&h, s.p, sizeof(h));
	for (uint32_t i = 0; i < nr; i++) {
		any |= v[i];
		from[i] = (uint32_t)v[i];
	}
	if (any <= UINT32_MAX) {
		struct bytes narrow = put32(from, nr);

		assert_int_equal(narrow.len, s.len);
		assert_memory_equal(narrow.p, s.p, s.len);
		assert_int_equal(get32(narrow, nr, to), 0);
		assert_memory_equal(to, from, nr * sizeof(*to));
		free((void *)narrow.p);
	} else {
		assert_int_equal(get32(s, nr, to), -EBADMSG);
	}
	free((void *)s.p);
	free(wide);
	free(from);
	free(to);
	return h.kind;
}

/* ---- round trips ---- */

static const uint32_t sizes[] = {0, 1, 2, 7, 31, 32, 33, 100, 1000, MAX_NR};
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void equal_numbers_are_constant(void **state)
{
	static const uint64_t numbers[] = {
		0, 1, 15, 16, 255, 256, UINT32_MAX, 1ull << 32, UINT64_MAX,
	};
	uint64_t v[MAX_NR];

	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		for (uint32_t i = 0; i < MAX_NR; i++)
			v[i] = numbers[k];
		for (size_t s = 0; s < NR_SIZES; s++)
			assert_int_equal(trip(v, sizes[s]), FMT_COLUMN_CONST);
	}
}

/* Of every width, plain and mixed with small ones. */
static void numbers_of_any_width_come_back(void **state)
{
	uint64_t v[MAX_NR], seed = 7;

	for (unsigned bits = 1; bits <= 64; bits++) {
		for (size_t s = 0; s < NR_SIZES; s++) {
			for (uint32_t i = 0; i < sizes[s]; i++)
				v[i] = next_random(&seed) >> (64 - bits);
			trip(v, sizes[s]);
			for (uint32_t i = 0; i < sizes[s]; i++)
				if (next_random(&seed) % 8)
					v[i] >>= next_random(&seed) % 64;
			trip(v, sizes[s]);
		}
	}
}

/* Each power of two, the number below it and the one above it, which is where symbols change. */
static void numbers_at_the_edges_come_back(void **state)
{
	uint64_t v[3 * 64 * 8];
	uint32_t nr = 0;

	for (int times = 0; times < 8; times++)
		for (unsigned bits = 0; bits < 64; bits++)
			for (uint64_t d = 0; d < 3; d++)
				v[nr++] = (1ull << bits) + d - 1;
	for (uint32_t n = 1; n <= nr; n++)
		trip(v, n);
	/* The largest of both types alone among zeros. */
	for (uint32_t at = 0; at < 200; at++) {
		memset(v, 0, sizeof(v));
		v[at] = UINT32_MAX;
		trip(v, 200);
		v[at] = UINT64_MAX;
		trip(v, 200);
	}
}

/* Frequencies that grow as Fibonacci's numbers give codes as long as there are symbols; few of them
 * are as long as a code may be. */
static void long_codes_are_limited(void **state)
{
	uint64_t *v = calloc(COLUMN_MAX, 8);
	uint64_t counts[2] = {1, 1};
	uint32_t nr = 0;

	assert_non_null(v);
	for (unsigned symbol = 0; symbol < 21; symbol++) {
		uint64_t next = counts[0] + counts[1];
		unsigned s = 20 - symbol;

		for (uint64_t i = 0; i < counts[0]; i++)
			v[nr++] = s < 16 ? s : (2 + (s & 1)) << (s / 2 - 5);
		counts[0] = counts[1];
		counts[1] = next;
		trip(v, nr);
	}
	assert_int_equal(trip(v, nr), FMT_COLUMN_HUFFMAN);
	free(v);
}

/* All symbols there are, equally often and with one that is most of them. */
static void all_symbols_at_once(void **state)
{
	uint64_t v[MAX_NR], seed = 11;

	for (uint32_t many = 0; many < 2; many++) {
		for (uint32_t i = 0; i < MAX_NR; i++) {
			unsigned s = below(&seed, FMT_COLUMN_SYMBOLS);

			if (many && next_random(&seed) % 16)
				s = 3;
			v[i] = s;
			if (s >= 16)
				v[i] = (uint64_t)(2 + (s & 1)) << ((s - 16) / 2 + 3);
			if (s >= 16)
				v[i] += next_random(&seed) & ((1ull << ((s - 16) / 2 + 3)) - 1);
		}
		trip(v, MAX_NR);
	}
}

/* Skewed, stepped, alternating: what columns of records are like. */
static void random_columns_come_back(void **state)
{
	uint64_t v[MAX_NR], seed = 3;
	int rounds = SANITIZED ? 1000 : 10000;

	for (int k = 0; k < rounds; k++) {
		uint32_t nr = below(&seed, 300);
		unsigned width = below(&seed, 65);
		uint64_t mask = width ? UINT64_MAX >> (64 - width) : 0, step = 0;

		for (uint32_t i = 0; i < nr; i++) {
			uint64_t r = next_random(&seed);

			step += r >> 60;
			v[i] = k % 3 == 0   ? step & mask
			       : k % 3 == 1 ? (r & mask) >> r % 64
					    : (r & mask) & next_random(&seed) & mask;
		}
		trip(v, nr);
	}
}

/* ---- the bytes ---- */

static void expect_bytes(const uint64_t *v, uint32_t nr, const uint8_t *want, size_t n)
{
	struct bytes s = put64(v, nr);

	assert_int_equal(s.len, n);
	assert_memory_equal(s.p, want, n);
	free((void *)s.p);
}

static void expect_numbers(const uint8_t *bytes, size_t n, const uint64_t *want, uint32_t nr)
{
	struct bytes s = stream_of(bytes, n);
	uint64_t v[MAX_NR];

	assert_int_equal(get64(s, nr, v), 0);
	assert_memory_equal(v, want, nr * sizeof(*v));
	free((void *)s.p);
}

/* As they are in PACKED.md, worked out by hand. */
static void the_bytes_are_those_of_the_format(void **state)
{
	static const uint64_t same[] = {300, 300, 300}, few[] = {1, 2, 7, 4, 5};
	static const uint8_t constant[] = {3, 0, 0, 0, FMT_COLUMN_CONST, 9, 0, 0, 0x2c, 1};
	/* 001 010 111 100 101 from the lowest bit on */
	static const uint8_t fixed[] = {5, 0, 0, 0, FMT_COLUMN_FIXED, 3, 0, 0, 0xd1, 0x59};
	static const uint8_t none[] = {0, 0, 0, 0, FMT_COLUMN_CONST, 0, 0, 0};

	expect_bytes(same, 3, constant, sizeof(constant));
	expect_bytes(few, 5, fixed, sizeof(fixed));
	expect_bytes(few, 0, none, sizeof(none));
	expect_numbers(constant, sizeof(constant), same, 3);
	expect_numbers(fixed, sizeof(fixed), few, 5);
}

/* Symbols 0, 1, 2 and 17 have codes of 1, 2, 3 and 3 bits: 0, 10, 110, 111, highest bit first. */
static void huffman_codes_are_those_of_the_format(void **state)
{
	static const uint8_t bytes[] = {
		6,
		0,
		0,
		0,
		FMT_COLUMN_HUFFMAN,
		0,
		18,
		0, /* */
		0x21,
		0x03,
		0,
		0,
		0,
		0,
		0,
		0,
		0x30, /* lengths of 0, 1, 2, ... 17 */
		/* 0 | 10 | 110 | 111 101 | 10 | 111 000; 17 stands for 24 and three bits */
		0xda,
		0xdb,
		0x01,
	};
	static const uint64_t want[] = {0, 1, 2, 29, 1, 24};

	expect_numbers(bytes, sizeof(bytes), want, 6);
}

/* ---- what is no column ---- */

/* Made of `s` with another header. */
static int with_header(struct bytes s, struct fmt_column h, uint64_t *v)
{
	struct packed_column c;

	assert_int_equal(column_open(s, &c), 0);
	c.h = h;
	return column_get_u64(&c, v);
}

static void headers_that_lie_are_refused(void **state)
{
	uint64_t v[MAX_NR], out[MAX_NR], seed = 5;
	struct bytes s;
	struct fmt_column h;

	for (uint32_t i = 0; i < 100; i++)
		v[i] = next_random(&seed) >> 40;
	s = put64(v, 100);
	memcpy(&h, s.p, sizeof(h));
	assert_int_equal(with_header(s, h, out), 0);
	for (unsigned kind = FMT_COLUMN_HUFFMAN + 1; kind < 256; kind++) {
		h.kind = (uint8_t)kind;
		assert_int_equal(with_header(s, h, out), -EBADMSG);
	}
	h = (struct fmt_column){.nr = 100, .kind = FMT_COLUMN_FIXED, .bits = 65};
	assert_int_equal(with_header(s, h, out), -EBADMSG);
	h.kind = FMT_COLUMN_CONST;
	assert_int_equal(with_header(s, h, out), -EBADMSG);
	h = (struct fmt_column){.nr = MAX_NR, .kind = FMT_COLUMN_FIXED, .bits = 64};
	assert_int_equal(with_header(s, h, out), -EBADMSG);
	h = (struct fmt_column){
		.nr = 1, .kind = FMT_COLUMN_HUFFMAN, .nr_symbols = FMT_COLUMN_SYMBOLS + 1};
	assert_int_equal(with_header(s, h, out), -EBADMSG);
	free((void *)s.p);
}

/* Codes that are too long, too many, or none. */
static void codes_that_are_none_are_refused(void **state)
{
	static const uint8_t lengths[][2] = {{0xdd, 0}, {0x11, 0x01}, {0x21, 0x22}, {0, 0}};
	uint64_t v[8];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint8_t bytes[12] = {8, 0, 0, 0, FMT_COLUMN_HUFFMAN, 0, 4, 0};
		struct bytes s;

		memcpy(bytes + 8, lengths[i], 2);
		s = stream_of(bytes, sizeof(bytes));
		assert_int_equal(get64(s, 8, v), -EBADMSG);
		free((void *)s.p);
	}
	/* One symbol has a code of one bit: the other bit begins none. */
	for (uint8_t bits = 0; bits < 2; bits++) {
		uint8_t bytes[10] = {8, 0, 0, 0, FMT_COLUMN_HUFFMAN, 0, 1, 0, 1, bits};
		struct bytes s = stream_of(bytes, sizeof(bytes));

		assert_int_equal(get64(s, 8, v), bits ? -EBADMSG : 0);
		free((void *)s.p);
	}
}

/* Some columns of each kind; free .p. */
static struct bytes some_column(unsigned kind, uint64_t *seed, uint32_t *nr)
{
	uint64_t v[MAX_NR];
	struct bytes s;

	*nr = 40 + below(seed, 100);
	for (uint32_t i = 0; i < *nr; i++) {
		v[i] = kind == FMT_COLUMN_CONST ? 1ull << 40 : next_random(seed) >> 8;
		if (kind == FMT_COLUMN_HUFFMAN)
			v[i] >>= v[i] % 50;
	}
	s = put64(v, *nr);
	assert_int_equal(s.p[4], kind);
	return s;
}

static void cut_columns_are_refused(void **state)
{
	uint64_t v[MAX_NR], seed = 13;

	for (unsigned kind = 0; kind <= FMT_COLUMN_HUFFMAN; kind++) {
		uint32_t nr;
		struct bytes s = some_column(kind, &seed, &nr);

		for (size_t n = 0; n < s.len; n++) {
			struct bytes cut = stream_of(s.p, n);

			assert_int_equal(get64(cut, nr, v), -EBADMSG);
			free((void *)cut.p);
		}
		free((void *)s.p);
	}
}

/* Other numbers or -EBADMSG; nothing is read or written outside, which the sanitizers see. */
static void mutated_columns_do_no_harm(void **state)
{
	uint64_t wide[MAX_NR], seed = 17;
	uint32_t narrow[MAX_NR];
	int rounds = SANITIZED ? 3000 : 30000;

	for (int k = 0; k < rounds; k++) {
		uint32_t nr;
		struct bytes s = some_column((unsigned)k % 3, &seed, &nr);
		uint8_t *p = (uint8_t *)s.p;
		uint32_t changes = 1 + below(&seed, 8);
		struct packed_column c;

		while (changes--)
			p[below(&seed, (uint32_t)s.len)] = (uint8_t)below(&seed, 256);
		assert_int_equal(column_open(s, &c), 0);
		if (c.h.nr <= MAX_NR) {
			column_get_u64(&c, wide);
			column_get_u32(&c, narrow);
		}
		free(p);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_numbers_are_constant),
		cmocka_unit_test(numbers_of_any_width_come_back),
		cmocka_unit_test(numbers_at_the_edges_come_back),
		cmocka_unit_test(long_codes_are_limited),
		cmocka_unit_test(all_symbols_at_once),
		cmocka_unit_test(random_columns_come_back),
		cmocka_unit_test(the_bytes_are_those_of_the_format),
		cmocka_unit_test(huffman_codes_are_those_of_the_format),
		cmocka_unit_test(headers_that_lie_are_refused),
		cmocka_unit_test(codes_that_are_none_are_refused),
		cmocka_unit_test(cut_columns_are_refused),
		cmocka_unit_test(mutated_columns_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
