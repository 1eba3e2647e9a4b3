/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * Windows that go on in the rings that were replaced: all records are there, those that two rings
 * recorded are there once, and nothing follows after a gap. On memory that this test writes as the
 * kernel does.
 */
#include "recorder/writer/window.h"

#include "dump/base/err.h"
#include "recorder/capture/banks_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RING_BYTES (64u << 10)
#define IN_RING	   (RING_BYTES / sizeof(struct written))

struct written {
	struct perf_event_header h;
	uint64_t ns, what;
};

struct fake_ring {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
	struct bank bank;
};

/* Three rings, the newest first. */
struct fake {
	struct fake_ring rings[3];
	struct channel channel;
	struct banks banks;
	struct tidset *tids;
};

static struct fake *fake_new(int nr)
{
	struct fake *f = test_calloc(1, sizeof(*f));
	struct err err = ERR_INIT;

	for (int i = nr - 1; i >= 0; i--) {
		struct fake_ring *r = &f->rings[i];

		r->bank.ring = (struct ring){
			.page = &r->page, .data = r->data, .size = RING_BYTES, .fd = -1};
		r->bank.state = i ? BANK_OLDER : BANK_FROZEN;
		r->bank.armed_ns = (uint64_t)(3 - i) * 1000000;
		r->bank.older = i + 1 < nr ? &f->rings[i + 1].bank : NULL;
	}
	f->channel.at = (struct channel_offsets){.time = 8, .rest = 16};
	f->channel.layout.sample_type = PERF_SAMPLE_TIME;
	f->banks.channel = &f->channel;
	f->banks.nr_banks = 2;
	f->banks.frozen = &f->rings[0].bank;
	f->banks.prev_paused_ns = 500;
	assert_int_equal(banks_room(&f->banks, (uint64_t)nr * (RING_BYTES + BANKS_MIN_RUN_BYTES)),
			 0);
	assert_int_equal(tidset_new(&f->tids, &err), 0);
	return f;
}

static void fake_free(struct fake *f)
{
	free(f->banks.runs);
	tidset_free(f->tids);
	test_free(f);
}

static void put(struct fake *f, int ring, uint64_t ns, uint64_t what)
{
	struct fake_ring *r = &f->rings[ring];
	struct written w = {{.type = PERF_RECORD_SAMPLE, .size = sizeof(w)}, ns, what};

	r->page.data_head -= sizeof(w);
	for (size_t i = 0; i < sizeof(w); i++)
		r->data[(r->page.data_head + i) & (RING_BYTES - 1)] = ((uint8_t *)&w)[i];
}

/* What the window has, oldest first. Runs tile it. */
static size_t walk(struct fake *f, uint64_t *what, size_t max)
{
	const struct fmt_window *w = &f->banks.window;
	struct written one;
	uint64_t off = 0;
	size_t nr = 0;

	window_walk(&f->banks, BANKS_MIN_RUN_BYTES, f->tids);
	for (size_t i = 0; i < f->banks.nr_runs; i++) {
		const struct banks_run *run = &f->banks.runs[i];

		assert_int_equal(run->off, off);
		off += run->bytes;
		for (uint32_t k = 0; k < run->nr_records; k++) {
			ring_copy(run->ring, ring_head(run->ring), run->at + k * sizeof(one), &one,
				  sizeof(one));
			assert_true(nr < max);
			assert_true(one.ns >= run->first_ns && one.ns <= run->last_ns);
			what[nr++] = one.what;
		}
	}
	assert_int_equal(off, w->bytes);
	assert_int_equal(nr, w->nr_records);
	for (size_t i = 0; i < nr / 2; i++) {
		uint64_t t = what[i];

		what[i] = what[nr - 1 - i];
		what[nr - 1 - i] = t;
	}
	return nr;
}

/* The window has the numbers from `from` to `to`, each once. */
static void has(struct fake *f, uint64_t from, uint64_t to)
{
	static uint64_t what[4 * IN_RING];
	size_t nr = walk(f, what, 4 * IN_RING);

	assert_int_equal(nr, to - from + 1);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(what[i], from + i);
}

/* Events that one ring recorded, or two of them: the newer one first, with an earlier time. */
static void record(struct fake *f, int ring, uint64_t from, uint64_t to, bool older_too)
{
	for (uint64_t i = from; i <= to; i++) {
		put(f, ring, 5000000 + i * 1000, i);
		if (older_too)
			put(f, ring + 1, 5000000 + i * 1000 + 300, i);
	}
}

static void a_window_goes_on_in_the_ring_before(void **state)
{
	struct fake *f = fake_new(2);

	record(f, 1, 1, 100, false);
	record(f, 0, 101, 150, false);
	has(f, 1, 150);
	assert_int_equal(f->banks.window.armed_ns, f->rings[1].bank.armed_ns);
	assert_int_equal(f->banks.window.first_ns, 5000000 + 1000);
	assert_int_equal(f->banks.window.gap_ns, (int64_t)f->rings[1].bank.armed_ns - 500);
	assert_int_equal(f->banks.window.flags, 0);
	fake_free(f);
}

static void what_two_rings_recorded_is_there_once(void **state)
{
	for (uint64_t both = 1; both < 60; both += 7) {
		struct fake *f = fake_new(3);

		record(f, 2, 1, 100, false);
		record(f, 1, 101, 100 + both, true);
		record(f, 1, 101 + both, 300, false);
		record(f, 0, 301, 300 + both, true);
		record(f, 0, 301 + both, 900, false);
		has(f, 1, 900);
		fake_free(f);
	}
}

/* The new ring has recorded nothing but what the former one has, too. */
static void a_ring_may_have_nothing_of_its_own(void **state)
{
	struct fake *f = fake_new(2);

	record(f, 1, 1, 20, false);
	record(f, 0, 21, 30, true);
	has(f, 1, 30);
	fake_free(f);
	f = fake_new(2);
	has(f, 1, 0);
	record(f, 0, 1, 5, false);
	has(f, 1, 5);
	fake_free(f);
}

/* The same two threads take turns: records are equal but for their time. */
static void equal_events_are_counted(void **state)
{
	struct fake *f = fake_new(2);
	static uint64_t what[4 * IN_RING];

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t ns = 5000000 + i * 1000;

		if (i >= 90)
			put(f, 0, ns, i % 2);
		if (i < 110)
			put(f, 1, ns + 300, i % 2);
	}
	assert_int_equal(walk(f, what, 4 * IN_RING), 200);
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(what[i], i % 2);
	fake_free(f);
}

/* The former ring was paused between the two writes of an event, within which an interrupt's event
 * was recorded in both. */
static void an_event_that_only_the_new_ring_has_is_kept(void **state)
{
	static uint64_t what[4 * IN_RING];
	struct fake *f = fake_new(2);
	bool found = false;

	record(f, 1, 1, 10, false);
	record(f, 0, 11, 20, true);
	put(f, 0, 5000000 + 20500, 77);
	record(f, 0, 21, 21, true);
	record(f, 0, 22, 30, false);
	for (size_t i = 0, nr = walk(f, what, 4 * IN_RING); i < nr; i++)
		found |= what[i] == 77;
	assert_true(found);
	fake_free(f);
}

static void nothing_follows_a_ring_that_has_wrapped(void **state)
{
	struct fake *f = fake_new(3);

	record(f, 2, 1, 100, false);
	record(f, 1, 101, 200 + IN_RING, false);
	record(f, 0, 201 + IN_RING, 300 + IN_RING, false);
	has(f, 201, 300 + IN_RING);
	assert_true(f->banks.window.overwritten_bytes > 0);
	assert_int_equal(f->banks.window.armed_ns, f->rings[1].bank.armed_ns);
	fake_free(f);
}

static void a_ring_whose_former_one_is_gone_has_its_first_dump(void **state)
{
	struct fake *f = fake_new(1);

	record(f, 0, 1, 10, false);
	f->rings[0].bank.is_first = true;
	has(f, 1, 10);
	assert_int_equal(f->banks.window.flags, FMT_WINDOW_FIRST);
	assert_int_equal(f->banks.window.gap_ns, 0);
	assert_int_equal(f->banks.window.prev_paused_ns, 0);
	fake_free(f);
}

/* ---- how long a former ring is kept ---- */

static void a_former_ring_is_kept_until_the_new_one_has_the_time(void **state)
{
	struct fake *f = fake_new(3);
	struct bank *gone;

	f->channel.horizon_ns = 10000000;
	f->banks.bank[0] = f->rings[0].bank;
	f->banks.bank[0].state = BANK_ACTIVE;
	f->banks.active = &f->banks.bank[0];
	f->banks.frozen = NULL;
	/* Armed at 3, 2 and 1 ms. */
	assert_int_equal(banks_outlived_ns(&f->banks), 12000000);
	assert_null(banks_take_outlived(&f->banks, 11999999));
	gone = banks_take_outlived(&f->banks, 12000000);
	assert_ptr_equal(gone, &f->rings[2].bank);
	assert_true(f->rings[1].bank.is_first);
	assert_int_equal(banks_outlived_ns(&f->banks), 13000000);
	gone = banks_take_outlived(&f->banks, 13000000);
	assert_ptr_equal(gone, &f->rings[1].bank);
	assert_true(f->banks.bank[0].is_first);
	assert_int_equal(banks_outlived_ns(&f->banks), 0);
	fake_free(f);
}

static void it_goes_at_once_after_a_dump_or_when_the_new_one_wraps(void **state)
{
	struct fake *f = fake_new(2);

	f->channel.horizon_ns = 1ll << 40;
	f->banks.bank[0] = f->rings[0].bank;
	f->banks.active = &f->banks.bank[1];
	f->banks.bank[1].ring = f->rings[2].bank.ring = f->rings[0].bank.ring;
	f->banks.bank[1].state = BANK_ACTIVE;
	f->banks.bank[0].state = BANK_FROZEN;
	assert_null(banks_take_outlived(&f->banks, 2000000));
	f->banks.bank[0].state = BANK_SPARE;
	assert_ptr_equal(banks_take_outlived(&f->banks, 2000000), &f->rings[1].bank);
	assert_false(f->banks.bank[0].is_first);
	f->banks.bank[1].older = &f->rings[1].bank;
	record(f, 0, 1, IN_RING, false);
	assert_ptr_equal(banks_take_outlived(&f->banks, 2000000), NULL);
	record(f, 0, IN_RING + 1, IN_RING + 1, false);
	assert_ptr_equal(banks_take_outlived(&f->banks, 2000000), &f->rings[1].bank);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_goes_on_in_the_ring_before),
		cmocka_unit_test(what_two_rings_recorded_is_there_once),
		cmocka_unit_test(a_ring_may_have_nothing_of_its_own),
		cmocka_unit_test(equal_events_are_counted),
		cmocka_unit_test(an_event_that_only_the_new_ring_has_is_kept),
		cmocka_unit_test(nothing_follows_a_ring_that_has_wrapped),
		cmocka_unit_test(a_ring_whose_former_one_is_gone_has_its_first_dump),
		cmocka_unit_test(a_former_ring_is_kept_until_the_new_one_has_the_time),
		cmocka_unit_test(it_goes_at_once_after_a_dump_or_when_the_new_one_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
