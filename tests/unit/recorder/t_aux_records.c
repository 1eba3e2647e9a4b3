/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * The records of the two rings of an AUX channel, merged by time: all of them, the newest first,
 * unless the kernel has overwritten some, before the stop or while they are copied.
 */
#include "recorder/trace/aux_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE (64u << 10)

/* As the channel's records end: TID, TIME. */
#define TAIL 8

struct record {
	struct perf_event_header h;
	uint64_t value[3];
	uint64_t tid, ns;
};

struct fake {
	struct perf_event_mmap_page page;
	struct ring ring;
};

static struct fake *fake_new(void)
{
	struct fake *f = test_calloc(1, sizeof(*f));

	f->ring = (struct ring){.page = &f->page, .size = SIZE, .data = test_calloc(1, SIZE)};
	return f;
}

static void fake_free(struct fake *f)
{
	test_free((void *)f->ring.data);
	test_free(f);
}

/* As the kernel writes backward. */
static void put(struct fake *f, uint32_t type, uint64_t ns)
{
	/* value: of PERF_RECORD_AUX offset, size, flags */
	struct record r = {.h = {.type = type, .size = sizeof(r)}, .value = {ns, 4000}, .ns = ns};

	f->page.data_head -= sizeof(r);
	for (size_t i = 0; i < sizeof(r); i++)
		((uint8_t *)f->ring.data)[(f->page.data_head + i) % SIZE] = ((uint8_t *)&r)[i];
}

struct both {
	struct fake *aux, *switches;
	struct aux_records r;
};

static struct both both_new(void)
{
	struct both b = {fake_new(), fake_new(), {.copy.fd = -1}};

	b.switches->ring.map_bytes = SIZE + 4096;
	assert_int_equal(aux_records_open(&b.r, &b.switches->ring), 0);
	return b;
}

static void both_free(struct both *b)
{
	aux_records_close(&b->r);
	fake_free(b->aux);
	fake_free(b->switches);
}

static void stop(struct both *b)
{
	aux_records_stopped(&b->r, &b->aux->ring, &b->switches->ring);
}

static void copy(struct both *b)
{
	aux_records_copy(&b->r, &b->aux->ring, &b->switches->ring, TAIL);
}

/* Walks the copy as a dump does. Returns the number of records; their times fall, from `newest`. */
static size_t walk(const struct both *b, uint64_t newest, uint64_t *oldest, size_t *nr_aux)
{
	const struct ring *c = &b->r.copy;
	uint64_t head = ring_head(c), off = 0, last = newest;
	struct perf_event_header h;
	struct record r;
	size_t nr = 0;

	*nr_aux = 0;
	for (; ring_record_at(c, head, off, ring_limit(c, head), &h); off += h.size) {
		ring_copy(c, head, off, &r, sizeof(r));
		assert_int_equal(r.value[0], r.ns);
		if (!nr)
			assert_int_equal(r.ns, newest);
		assert_true(r.ns <= last);
		last = r.ns;
		*nr_aux += r.h.type == PERF_RECORD_AUX;
		nr++;
	}
	assert_int_equal(off, c->armed_head - head);
	*oldest = last;
	return nr;
}

static void both_rings_are_merged_by_time(void **state)
{
	struct both b = both_new();
	uint64_t oldest;
	size_t nr_aux;

	copy(&b);
	assert_int_equal(walk(&b, 0, &oldest, &nr_aux), 0);
	for (uint64_t ns = 1; ns <= 100; ns++)
		put(ns % 7 ? b.switches : b.aux, ns % 7 ? PERF_RECORD_SWITCH : PERF_RECORD_AUX, ns);
	stop(&b);
	put(b.aux, PERF_RECORD_AUX, 1000);
	put(b.switches, PERF_RECORD_SWITCH, 1001);
	copy(&b);
	assert_int_equal(walk(&b, 100, &oldest, &nr_aux), 100);
	assert_int_equal(oldest, 1);
	assert_int_equal(nr_aux, 14);
	assert_int_equal(b.r.overwritten_bytes, 0);
	both_free(&b);
}

static void what_is_older_than_all_switches_is_left_out_when_those_wrapped(void **state)
{
	struct both b = both_new();
	uint64_t oldest;
	size_t nr_aux, nr, all = 3 * SIZE / sizeof(struct record);

	put(b.aux, PERF_RECORD_AUX, 1);
	for (uint64_t ns = 2; ns < all; ns++)
		put(b.switches, PERF_RECORD_SWITCH, ns);
	put(b.aux, PERF_RECORD_AUX, all);
	stop(&b);
	copy(&b);
	nr = walk(&b, all, &oldest, &nr_aux);
	assert_int_equal(nr_aux, 1);
	assert_in_range(nr, (SIZE - 8192) / sizeof(struct record), SIZE / sizeof(struct record));
	assert_int_equal(oldest, all - nr + 1);
	assert_int_equal(b.r.overwritten_bytes, (all - nr) * sizeof(struct record));
	both_free(&b);
}

/* However old they are, the trace can't be decoded without them. */
static void what_comes_once_is_kept(void **state)
{
	struct both b = both_new();
	uint64_t oldest;
	size_t nr_aux, nr, all = 3 * SIZE / sizeof(struct record);

	put(b.aux, PERF_RECORD_ITRACE_START, 1);
	put(b.aux, PERF_RECORD_AUX_OUTPUT_HW_ID, 2);
	put(b.aux, PERF_RECORD_AUX, 3);
	for (uint64_t ns = 4; ns < all; ns++)
		put(b.switches, PERF_RECORD_SWITCH, ns);
	stop(&b);
	copy(&b);
	nr = walk(&b, all - 1, &oldest, &nr_aux);
	assert_int_equal(nr_aux, 0);
	assert_int_equal(oldest, 1);
	assert_in_range(nr, (SIZE - 8192) / sizeof(struct record), SIZE / sizeof(struct record));
	both_free(&b);
}

/* The kernel goes on writing while records are copied. */
static void what_may_have_been_overwritten_meanwhile_is_left_out(void **state)
{
	struct both b = both_new();
	uint64_t oldest, ns = 0;
	size_t nr_aux, all = SIZE / sizeof(struct record), late = all / 2;

	while (ns < all)
		put(b.switches, PERF_RECORD_SWITCH, ++ns);
	stop(&b);
	for (size_t i = 0; i < late; i++)
		put(b.switches, PERF_RECORD_SWITCH, 10 * all);
	copy(&b);
	assert_in_range(walk(&b, all, &oldest, &nr_aux), all - late - 8192 / sizeof(struct record),
			all - late);
	for (size_t i = 0; i < 2 * all; i++)
		put(b.switches, PERF_RECORD_SWITCH, 20 * all);
	copy(&b);
	assert_int_equal(walk(&b, 0, &oldest, &nr_aux), 0);
	both_free(&b);
}

/* A record that is longer than what is left of the copy ends it. */
static void there_are_no_more_records_than_the_copy_holds(void **state)
{
	struct both b = both_new();
	uint64_t oldest;
	size_t nr_aux, all = SIZE / sizeof(struct record);

	for (uint64_t ns = 1; ns <= all - 200; ns++)
		put(b.switches, PERF_RECORD_SWITCH, 2 * ns);
	for (uint64_t ns = 1; ns <= all - 200; ns++)
		put(b.aux, PERF_RECORD_AUX, 2 * ns + 1);
	stop(&b);
	copy(&b);
	assert_int_equal(walk(&b, 2 * (all - 200) + 1, &oldest, &nr_aux), all);
	assert_int_equal(b.r.overwritten_bytes, (all - 400) * sizeof(struct record));
	both_free(&b);
}

static uint64_t told(struct both *b, uint64_t area_bytes)
{
	stop(b);
	return aux_records_told(&b->r, &b->aux->ring, area_bytes);
}

static void they_tell_how_much_was_written(void **state)
{
	struct both b = both_new();

	assert_int_equal(told(&b, 1 << 20), 0);
	put(b.aux, PERF_RECORD_ITRACE_START, 1);
	put(b.aux, PERF_RECORD_AUX, 2);
	put(b.aux, PERF_RECORD_AUX, 3);
	assert_int_equal(told(&b, 1 << 20), 8000);
	assert_int_equal(told(&b, 1 << 20), 0);
	put(b.aux, PERF_RECORD_AUX, 4);
	assert_int_equal(told(&b, 4001), 4000);
	put(b.aux, PERF_RECORD_AUX, 5);
	assert_int_equal(told(&b, 4000), 0);
	/* More than the ring holds. */
	for (size_t i = 0; i < 2 * SIZE / sizeof(struct record); i++)
		put(b.aux, PERF_RECORD_AUX, 6);
	assert_int_equal(told(&b, 1 << 20), 0);
	put(b.aux, PERF_RECORD_AUX, 7);
	assert_int_equal(told(&b, 1 << 20), 4000);
	both_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_rings_are_merged_by_time),
		cmocka_unit_test(what_is_older_than_all_switches_is_left_out_when_those_wrapped),
		cmocka_unit_test(what_comes_once_is_kept),
		cmocka_unit_test(what_may_have_been_overwritten_meanwhile_is_left_out),
		cmocka_unit_test(they_tell_how_much_was_written),
		cmocka_unit_test(there_are_no_more_records_than_the_copy_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
