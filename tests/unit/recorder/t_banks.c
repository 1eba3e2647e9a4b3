/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * What is told of a ring while it records: how far back it reaches, what it can't hold any more;
 * and what the end of a dump leaves behind. On memory that this test writes as the kernel does.
 */
#include "recorder/capture/banks.h"

#include "dump/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_BYTES   (64u << 10)
#define RECORD_BYTES 64
#define IN_RING	     (RING_BYTES / RECORD_BYTES)
#define ARMED_NS     1000

/* One bank that records; record `i` has time ARMED_NS + 10 * (i + 1). */
struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
	struct channel channel;
	struct banks banks;
	uint64_t nr;
};

static uint64_t time_of(uint64_t i)
{
	return ARMED_NS + 10 * (i + 1);
}

static struct fake *fake_new(void)
{
	struct fake *f = test_calloc(1, sizeof(*f));
	struct bank *a = &f->banks.bank[0];

	f->channel.at.time = 8;
	f->banks.channel = &f->channel;
	f->banks.nr_banks = 2;
	f->banks.active = a;
	a->ring = (struct ring){.page = &f->page, .data = f->data, .size = RING_BYTES, .fd = -1};
	a->state = BANK_ACTIVE;
	a->armed_ns = ARMED_NS;
	return f;
}

static void fake_free(struct fake *f)
{
	test_free(f);
}

static void record(struct fake *f, uint64_t nr)
{
	while (nr--) {
		struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .size = RECORD_BYTES};
		uint64_t ns = time_of(f->nr++);
		uint8_t *at;

		f->page.data_head -= RECORD_BYTES;
		at = f->data + (f->page.data_head & (RING_BYTES - 1));
		memcpy(at, &h, sizeof(h));
		memcpy(at + 8, &ns, sizeof(ns));
	}
}

static uint64_t horizon(struct fake *f, uint64_t now_ns)
{
	return banks_horizon(&f->banks, now_ns, UINT64_MAX);
}

static void a_ring_that_has_not_wrapped_reaches_back_to_when_it_was_armed(void **state)
{
	struct fake *f = fake_new();

	assert_int_equal(horizon(f, 5000), 4000); /* nothing happened, and that is known */
	record(f, IN_RING);
	assert_int_equal(horizon(f, 100000), 100000 - ARMED_NS);
	fake_free(f);
}

static void one_that_has_wrapped_reaches_back_to_its_oldest_record(void **state)
{
	struct fake *f = fake_new();
	uint64_t now;

	for (int i = 0; i < 40; i++) {
		record(f, 300);
		now = time_of(f->nr);
		if (f->nr > IN_RING)
			assert_int_equal(now - horizon(f, now), time_of(f->nr - IN_RING));
	}
	fake_free(f);
}

/* Notes are where the search may begin; with them and without, the answer is the same. */
static void notes_do_not_change_how_far_it_reaches(void **state)
{
	struct fake *f = fake_new();
	uint64_t now;

	for (int i = 0; i < 200; i++) {
		record(f, 37);
		now = time_of(f->nr);
		banks_note(&f->banks, now);
		if (f->nr > IN_RING)
			assert_int_equal(now - horizon(f, now), time_of(f->nr - IN_RING));
		assert_true(banks_oldest(&f->banks) <= now - horizon(f, now));
	}
	/* ... and what is noted is not far off; with a steady rate the estimate is right. */
	assert_true(banks_oldest(&f->banks) + 10 * IN_RING / 2 > now - horizon(f, now));
	assert_in_range(banks_reach(&f->banks, now), horizon(f, now) - 20, horizon(f, now) + 20);
	fake_free(f);
}

static void without_time_the_horizon_is_estimated(void **state)
{
	struct fake *f = fake_new();

	record(f, 3 * IN_RING);
	assert_int_equal(banks_horizon(&f->banks, 100000, 0), banks_reach(&f->banks, 100000));
	fake_free(f);
}

/* As window.c and banks_release() leave it: the active bank is the other one. */
static void dumped(struct fake *f, uint64_t paused_ns)
{
	f->banks.last_paused_ns = paused_ns;
}

static void the_next_dump_follows_the_last_one_that_was_committed(void **state)
{
	struct fake *f = fake_new();

	dumped(f, 5000);
	assert_false(banks_settle(&f->banks, false));
	assert_int_equal(f->banks.prev_paused_ns, 0); /* still the first one to be */
	dumped(f, 6000);
	assert_false(banks_settle(&f->banks, true));
	assert_int_equal(f->banks.prev_paused_ns, 6000);
	dumped(f, 7000);
	assert_false(banks_settle(&f->banks, false));
	assert_int_equal(f->banks.prev_paused_ns, 6000);
	fake_free(f);
}

static void rings_of_a_cpu_that_is_gone_are_kept_until_a_dump_has_them(void **state)
{
	struct fake *f = fake_new();
	struct bank *a = f->banks.active;

	f->banks.offline = true;
	assert_false(banks_settle(&f->banks, true)); /* not in that one yet */
	a->state = BANK_FROZEN;
	assert_false(banks_settle(&f->banks, false));
	assert_int_equal(a->state, BANK_ACTIVE); /* to be frozen again */
	a->state = BANK_FROZEN;
	assert_true(banks_settle(&f->banks, true));
	fake_free(f);
}

/* A larger ring took over at ARMED_NS + 10 * 100; the former one has 50 records. */
static void what_a_former_ring_holds_is_reached(void **state)
{
	struct fake *f = fake_new(), *former = fake_new();
	struct bank *a = f->banks.active, *older = former->banks.active;

	record(former, 50);
	f->nr = 100;
	a->armed_ns = time_of(99);
	older->state = BANK_OLDER;
	older->oldest_ns = ARMED_NS;
	older->reach_ns = ARMED_NS + 10;
	record(f, 20);
	assert_int_equal(horizon(f, time_of(119)), time_of(119) - a->armed_ns);
	a->older = older;
	assert_int_equal(horizon(f, time_of(119)), time_of(119) - older->reach_ns);
	assert_int_equal(banks_reach(&f->banks, time_of(119)), time_of(119) - older->reach_ns);
	assert_int_equal(banks_oldest(&f->banks), ARMED_NS);
	/* Not if what came between is overwritten. */
	record(f, IN_RING);
	assert_true(horizon(f, time_of(f->nr)) < time_of(f->nr) - a->armed_ns);
	assert_true(banks_oldest(&f->banks) >= a->armed_ns);
	fake_free(former);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_that_has_not_wrapped_reaches_back_to_when_it_was_armed),
		cmocka_unit_test(one_that_has_wrapped_reaches_back_to_its_oldest_record),
		cmocka_unit_test(notes_do_not_change_how_far_it_reaches),
		cmocka_unit_test(without_time_the_horizon_is_estimated),
		cmocka_unit_test(the_next_dump_follows_the_last_one_that_was_committed),
		cmocka_unit_test(rings_of_a_cpu_that_is_gone_are_kept_until_a_dump_has_them),
		cmocka_unit_test(what_a_former_ring_holds_is_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
