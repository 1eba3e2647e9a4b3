/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* Sizes of rings that shall hold a time: when a ring grows and shrinks, and how rings share the
 * memory. */
#include "recorder/config/ring_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S   1000000000ull
#define MIB (1ull << 20)
#define KIB 1024ull

/* A ring that was written at a constant rate for a time. */
static struct ring_load steady(uint64_t size, uint64_t bytes_per_s, uint64_t since_ns)
{
	uint64_t written = (uint64_t)((double)bytes_per_s * (double)since_ns / 1e9);
	struct ring_load l = {.size = size, .written = written, .since_ns = since_ns};
	uint64_t full_ns = (uint64_t)((double)size / (double)bytes_per_s * 1e9);

	l.quarter_ns = full_ns / 4 < since_ns ? full_ns / 4 : since_ns;
	l.most_ns = full_ns / 4 * 3 < since_ns ? full_ns / 4 * 3 : since_ns;
	l.all_ns = full_ns < since_ns ? full_ns : since_ns;
	return l;
}

static uint64_t need(uint64_t size, uint64_t bytes_per_s, uint64_t since_s)
{
	struct ring_load l = steady(size, bytes_per_s, since_s * S);

	return ring_time_need(&l, 10 * S);
}

static void a_ring_that_holds_the_time_keeps_its_size(void **state)
{
	/* 10 s of 100 KiB take 1000 KiB: three quarters of 2 MiB have them. */
	assert_int_equal(need(2 * MIB, 100 * KIB, 5), 2 * MIB);
	assert_int_equal(need(2 * MIB, 100 * KIB, 1000), 2 * MIB);
	assert_int_equal(need(2 * MIB, 150 * KIB, 1000), 2 * MIB);
}

static void it_grows_before_the_time_is_lost(void **state)
{
	assert_int_equal(need(2 * MIB, 160 * KIB, 1000), 4 * MIB);
	assert_int_equal(need(2 * MIB, 1000 * KIB, 1000), 16 * MIB);
	/* Not yet three quarters: nothing is known to be lost. */
	assert_int_equal(need(2 * MIB, 1000 * KIB, 1), 2 * MIB);
	/* Not yet full. */
	assert_int_equal(need(2 * MIB, 1600 * KIB, 1), 32 * MIB);
}

/* What was written in the newest quarter counts, though three quarters were written slowly. */
static void it_grows_for_the_load_of_now(void **state)
{
	struct ring_load l = steady(2 * MIB, 100 * KIB, 100 * S);

	l.quarter_ns = S / 2;
	l.most_ns = S / 2 + 9 * S;
	assert_int_equal(ring_time_need(&l, 10 * S), 16 * MIB);
}

static void what_is_grown_does_not_grow_again_at_the_same_load(void **state)
{
	for (uint64_t rate = 1000; rate < 64 * MIB; rate += rate / 3) {
		uint64_t size = need(64 * KIB, rate, 1000);

		assert_int_equal(need(size, rate, 1000), size);
		assert_true(size == 1ull << 30 || size >= ring_time_bytes(rate, 10 * S));
	}
}

static void it_shrinks_when_a_quarter_is_enough_for_long(void **state)
{
	assert_int_equal(need(8 * MIB, 100 * KIB, 39), 8 * MIB);
	assert_int_equal(need(8 * MIB, 100 * KIB, 41), 2 * MIB);
	assert_int_equal(need(4 * MIB, 100 * KIB, 1000), 4 * MIB);
	assert_int_equal(need(8 * MIB, 1, 1000), RING_TIME_MIN_BYTES);
	assert_int_equal(need(RING_TIME_MIN_BYTES, 1, 1000), RING_TIME_MIN_BYTES);
}

static void a_load_that_changes_by_less_than_twice_changes_nothing(void **state)
{
	uint64_t size = need(64 * KIB, 500 * KIB, 1000);

	assert_int_equal(need(size, 250 * KIB, 1000), size);
	assert_int_equal(need(size, 520 * KIB, 1000), size);
}

/* ---- the memory ---- */

static struct ring_want want(size_t channel, uint64_t now, uint64_t size)
{
	return (struct ring_want){.channel = channel, .nr_banks = 2, .now = now, .need = size};
}

static void all_get_what_they_need_if_it_is_there(void **state)
{
	struct ring_want v[] = {want(0, 8 * MIB, 16 * MIB), want(0, 8 * MIB, MIB)};

	ring_time_fit(v, 2, 1, 34 * MIB);
	assert_int_equal(v[0].size, 16 * MIB);
	assert_int_equal(v[1].size, MIB);
}

static void a_ring_grows_eightfold_at_most(void **state)
{
	struct ring_want v[] = {want(0, MIB, 64 * MIB)};

	ring_time_fit(v, 1, 1, 1024 * MIB);
	assert_int_equal(v[0].size, 8 * MIB);
}

static void channels_share_equally(void **state)
{
	/* One channel has four rings, the other one. */
	struct ring_want v[] = {want(0, 8 * MIB, 64 * MIB), want(0, 8 * MIB, 64 * MIB),
				want(0, 8 * MIB, 64 * MIB), want(0, 8 * MIB, 64 * MIB),
				want(1, 8 * MIB, 64 * MIB)};

	ring_time_fit(v, 5, 2, 128 * MIB);
	for (int i = 0; i < 4; i++)
		assert_int_equal(v[i].size, 8 * MIB);
	assert_int_equal(v[4].size, 32 * MIB);
}

static void what_one_does_not_need_another_has(void **state)
{
	struct ring_want v[] = {want(0, 8 * MIB, 64 * MIB), want(1, MIB, MIB)};

	ring_time_fit(v, 2, 2, 132 * MIB);
	assert_int_equal(v[0].size, 64 * MIB);
	/* Now the other one needs its share. */
	v[0].now = 64 * MIB;
	v[1] = want(1, 8 * MIB, 64 * MIB);
	ring_time_fit(v, 2, 2, 132 * MIB);
	assert_int_equal(v[0].size, 32 * MIB);
	assert_int_equal(v[1].size, 32 * MIB);
	/* And that is final. */
	v[0] = want(0, 32 * MIB, 128 * MIB);
	v[1] = want(1, 32 * MIB, 64 * MIB);
	ring_time_fit(v, 2, 2, 132 * MIB);
	assert_int_equal(v[0].size, 32 * MIB);
	assert_int_equal(v[1].size, 32 * MIB);
}

static void the_budget_is_kept(void **state)
{
	uint64_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		struct ring_want v[12];
		uint64_t budget, sum = 0;

		for (int i = 0; i < 12; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			v[i] = want((seed >> 60) & 1, RING_TIME_MIN_BYTES << (seed >> 40) % 8,
				    RING_TIME_MIN_BYTES << (seed >> 50) % 14);
		}
		v[0].channel = 0;
		v[1].channel = 1;
		budget = 12 * 4 * RING_TIME_MIN_BYTES << (seed >> 20) % 10;
		ring_time_fit(v, 12, 2, budget);
		for (int i = 0; i < 12; i++) {
			assert_true(v[i].size <= v[i].need || v[i].size <= v[i].now);
			assert_true(v[i].size >= RING_TIME_MIN_BYTES);
			sum += v[i].size * 2;
		}
		assert_true(sum <= budget);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_that_holds_the_time_keeps_its_size),
		cmocka_unit_test(it_grows_before_the_time_is_lost),
		cmocka_unit_test(it_grows_for_the_load_of_now),
		cmocka_unit_test(what_is_grown_does_not_grow_again_at_the_same_load),
		cmocka_unit_test(it_shrinks_when_a_quarter_is_enough_for_long),
		cmocka_unit_test(a_load_that_changes_by_less_than_twice_changes_nothing),
		cmocka_unit_test(all_get_what_they_need_if_it_is_there),
		cmocka_unit_test(a_ring_grows_eightfold_at_most),
		cmocka_unit_test(channels_share_equally),
		cmocka_unit_test(what_one_does_not_need_another_has),
		cmocka_unit_test(the_budget_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
