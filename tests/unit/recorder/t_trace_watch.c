/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * When a trace is taken for one that stands, and which times the next dump gets of it. On records
 * in memory; that an event which its driver refuses is noticed is shown in the guest.
 */
#include "recorder/trace/trace_watch.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE  4096u
#define TAIL  8
#define NO_FD (-1)

struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
	struct ring ring;
	struct trace_watch w;
};

static struct fake *fake_new(void)
{
	struct fake *f = test_calloc(1, sizeof(*f));

	f->ring = (struct ring){.page = &f->page, .size = SIZE, .data = f->data};
	trace_watch_init(&f->w, false);
	return f;
}

static void put(struct fake *f, uint64_t ns, uint64_t flags)
{
	struct {
		struct perf_event_header h;
		uint64_t offset, size, flags, tid, ns;
	} r = {{PERF_RECORD_AUX, 0, sizeof(r)}, 0, 4096, flags, 1, ns};

	f->page.data_head -= sizeof(r);
	for (size_t i = 0; i < sizeof(r); i++)
		f->data[(f->page.data_head + i) % SIZE] = ((uint8_t *)&r)[i];
}

static void look(struct fake *f)
{
	trace_watch_look(&f->w, &f->ring, TAIL, NO_FD, 0);
}

static void stop(struct fake *f, uint64_t ns, uint64_t flags)
{
	trace_watch_stops(&f->w, &f->ring, TAIL);
	put(f, ns, flags);
	trace_watch_stopped(&f->w, &f->ring, NO_FD, 0, ns);
}

static void is_stop(const struct fmt_trace_stop *s, uint64_t from_ns, uint64_t to_ns)
{
	assert_int_equal(s->reason, FMT_STOP_LOST);
	assert_int_equal(s->from_ns, from_ns);
	assert_int_equal(s->to_ns, to_ns);
	assert_int_equal(s->stood_ns, to_ns - from_ns);
	assert_int_equal(s->nr, 1);
}

static void it_stands_since_the_record_that_says_truncated(void **state)
{
	struct fake *f = fake_new();

	put(f, 1000, PERF_AUX_FLAG_OVERWRITE);
	look(f);
	assert_int_equal(trace_watch_due(&f->w), 0);
	put(f, 2000, PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_TRUNCATED);
	put(f, 2001, PERF_AUX_FLAG_OVERWRITE);
	look(f);
	assert_int_not_equal(trace_watch_due(&f->w), 0);
	trace_watch_tried(&f->w, NO_FD, 9000);
	assert_int_equal(trace_watch_due(&f->w), 0);
	look(f);
	assert_int_equal(trace_watch_due(&f->w), 0);
	stop(f, 20000, 0);
	assert_int_equal(f->w.dumped.nr, 1);
	is_stop(&f->w.dumped.v[0], 2000, 9000);
	stop(f, 30000, 0);
	assert_int_equal(f->w.dumped.nr, 0);
	test_free(f);
}

static void attempts_are_not_made_all_the_time(void **state)
{
	struct fake *f = fake_new();

	put(f, 2000, PERF_AUX_FLAG_TRUNCATED);
	look(f);
	assert_in_range(trace_watch_due(&f->w), 1, 100000000);
	trace_watch_tried(&f->w, NO_FD, 5000000000);
	put(f, 5000000001, PERF_AUX_FLAG_TRUNCATED);
	look(f);
	assert_in_range(trace_watch_due(&f->w), 5000000002, 5100000000);
	test_free(f);
}

/* The recorder may not have run in the meantime. */
static void a_dump_finds_a_trace_that_stands(void **state)
{
	struct fake *f = fake_new();

	put(f, 2000, PERF_AUX_FLAG_TRUNCATED);
	stop(f, 7000, PERF_AUX_FLAG_TRUNCATED);
	assert_int_equal(f->w.dumped.nr, 1);
	is_stop(&f->w.dumped.v[0], 2000, 7000);
	/* The stop's own record says TRUNCATED, but the trace was started after it. */
	look(f);
	assert_int_equal(trace_watch_due(&f->w), 0);
	test_free(f);
}

static void a_dump_that_failed_leaves_its_stops_to_the_next(void **state)
{
	struct fake *f = fake_new();

	put(f, 2000, PERF_AUX_FLAG_TRUNCATED);
	stop(f, 7000, 0);
	put(f, 8000, PERF_AUX_FLAG_TRUNCATED);
	look(f);
	trace_watch_tried(&f->w, NO_FD, 9000);
	trace_watch_undo(&f->w);
	stop(f, 20000, 0);
	assert_int_equal(f->w.dumped.nr, 2);
	is_stop(&f->w.dumped.v[0], 2000, 7000);
	is_stop(&f->w.dumped.v[1], 8000, 9000);
	test_free(f);
}

static void too_many_stops_are_joined_and_none_is_forgotten(void **state)
{
	struct trace_stops s = {0};
	uint64_t nr = 0, stood = 0;

	for (uint64_t i = 0; i < 100; i++)
		trace_stops_add(&s, &(struct fmt_trace_stop){.from_ns = 1000 * i,
							     .to_ns = 1000 * i + 10,
							     .stood_ns = 10,
							     .nr = 1});
	assert_int_equal(s.nr, TRACE_STOPS);
	for (size_t i = 0; i < s.nr; i++) {
		nr += s.v[i].nr;
		stood += s.v[i].stood_ns;
		assert_true(!i || s.v[i].from_ns > s.v[i - 1].to_ns);
	}
	assert_int_equal(nr, 100);
	assert_int_equal(stood, 1000);
	assert_int_equal(s.v[0].from_ns, 0);
	assert_int_equal(s.v[0].to_ns, 1000 * (100 - TRACE_STOPS) + 10);
	assert_int_equal(s.v[s.nr - 1].to_ns, 99010);
}

/* More new records than the ring holds. */
static void a_ring_that_wrapped_is_read_once(void **state)
{
	struct fake *f = fake_new();

	put(f, 10, PERF_AUX_FLAG_TRUNCATED);
	for (uint64_t i = 0; i < 2 * SIZE / 56; i++)
		put(f, 100 + i, 0);
	look(f);
	assert_int_equal(trace_watch_due(&f->w), 0);
	test_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stands_since_the_record_that_says_truncated),
		cmocka_unit_test(attempts_are_not_made_all_the_time),
		cmocka_unit_test(a_dump_finds_a_trace_that_stands),
		cmocka_unit_test(a_dump_that_failed_leaves_its_stops_to_the_next),
		cmocka_unit_test(too_many_stops_are_joined_and_none_is_forgotten),
		cmocka_unit_test(a_ring_that_wrapped_is_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
