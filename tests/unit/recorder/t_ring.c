/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * The arithmetic of backward rings on memory that this test writes as the kernel does: head moves
 * down, records wrap, the oldest is cut. What the walk finds is compared with a model that keeps
 * every record.
 */
#include "recorder/writer/window.h"

#include "dump/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RING_BYTES (128u << 10)
#define MAX_MODEL  20000

/* A ring as the kernel would fill it, and everything that was ever written to it. */
struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
	struct banks banks;
	struct channel channel;
	struct banks_run runs[64];
	struct {
		uint64_t head; /* where it begins */
		uint8_t bytes[512];
		uint16_t size;
	} model[MAX_MODEL];
	size_t nr;
	uint64_t time;
	uint64_t seed;
};

static uint64_t rnd(struct fake *f)
{
	f->seed = f->seed * 6364136223846793005ull + 1442695040888963407ull;
	return f->seed >> 33;
}

static struct fake *fake_new(uint64_t start_head)
{
	struct fake *f = test_calloc(1, sizeof(*f));
	struct bank *b = &f->banks.bank[0];

	f->seed = start_head + 7;
	f->time = 1000;
	f->channel.layout.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	f->channel.at = (struct channel_offsets){.time = 8, .rest = 16, .raw = true};
	b->ring = (struct ring){
		.page = &f->page, .data = f->data, .size = RING_BYTES, .armed_head = start_head};
	f->page.data_head = start_head;
	b->state = BANK_FROZEN;
	f->banks.channel = &f->channel;
	f->banks.nr_banks = 2;
	f->banks.frozen = b;
	f->banks.runs = f->runs;
	f->banks.max_runs = 64;
	return f;
}

static void put(struct fake *f, uint64_t head, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		f->data[(head + i) & (RING_BYTES - 1)] = bytes[i];
}

/* Writes one record of a type and size, below the present head. */
static void write_record(struct fake *f, uint32_t type, uint16_t size, uint32_t tid)
{
	struct perf_event_header h = {.type = type, .size = size};
	uint8_t *b = f->model[f->nr].bytes;
	uint32_t raw_bytes = size - 20;

	assert_true(f->nr < MAX_MODEL && size <= 512 && size >= 32);
	for (size_t i = 0; i < size; i++)
		b[i] = (uint8_t)rnd(f);
	memcpy(b, &h, sizeof(h));
	f->time += 1 + rnd(f) % 100;
	if (type == PERF_RECORD_SAMPLE) {
		memcpy(b + 8, &f->time, 8);
		memcpy(b + 16, &raw_bytes, 4);
		memcpy(b + 24, &tid, 4);
	} else {
		uint64_t lost = tid;

		memcpy(b + 16, &lost, 8);
		memcpy(b + size - 8, &f->time, 8);
	}
	f->page.data_head -= size;
	f->model[f->nr].head = f->page.data_head;
	f->model[f->nr++].size = size;
	put(f, f->page.data_head, b, size);
}

static void fill(struct fake *f, uint64_t bytes)
{
	uint64_t from = f->page.data_head;

	while (from - f->page.data_head < bytes)
		write_record(f, PERF_RECORD_SAMPLE, (uint16_t)(32 + rnd(f) % 50 * 8),
			     1 + rnd(f) % 300);
}

/* Walks the ring and compares all of it with the model: which records, their bytes, their counts.
 */
static void check_walk(struct fake *f)
{
	struct tidset *tids;
	struct err err = ERR_INIT;
	const struct ring *r = &f->banks.frozen->ring;
	uint64_t head = r->page->data_head, off = 0;
	uint64_t expect_bytes = 0, samples = 0;
	size_t expect_nr = 0, i = f->nr;

	assert_int_equal(tidset_new(&tids, &err), 0);
	window_walk(&f->banks, BANKS_MIN_RUN_BYTES, tids);
	/* The model: newest first, as long as a whole record fits into what the ring holds. */
	while (i-- > 0 && f->model[i].head - head + f->model[i].size <= RING_BYTES &&
	       r->armed_head - f->model[i].head <= r->armed_head - head) {
		expect_bytes += f->model[i].size;
		expect_nr++;
	}
	assert_int_equal(f->banks.window.nr_records, expect_nr);
	assert_int_equal(f->banks.window.bytes, expect_bytes);
	assert_false(f->banks.window.flags & FMT_WINDOW_BROKEN);
	/* Runs tile the window, and their pieces are the records' bytes. */
	i = f->nr;
	for (size_t k = 0; k < f->banks.nr_runs; k++) {
		const struct banks_run *run = &f->runs[k];
		uint8_t *got = test_malloc(run->bytes);
		size_t at = 0;

		assert_int_equal(run->off, off);
		assert_ptr_equal(run->ring, r);
		ring_copy(r, head, run->at, got, run->bytes);
		for (uint32_t n = 0; n < run->nr_records; n++) {
			struct perf_event_header h;
			uint32_t tid;

			i--;
			assert_memory_equal(got + at, f->model[i].bytes, f->model[i].size);
			memcpy(&h, f->model[i].bytes, sizeof(h));
			memcpy(&tid, f->model[i].bytes + 24, 4);
			if (h.type == PERF_RECORD_SAMPLE) {
				assert_true(tidset_has(tids, tid));
				samples++;
			}
			at += f->model[i].size;
		}
		assert_int_equal(at, run->bytes);
		off += run->bytes;
		test_free(got);
	}
	assert_int_equal(off, expect_bytes);
	assert_int_equal(f->banks.window.samples, samples);
	tidset_free(tids);
}

static void an_empty_ring_has_no_records(void **state)
{
	struct fake *f = fake_new(0);

	check_walk(f);
	assert_int_equal(f->banks.window.nr_records, 0);
	test_free(f);
}

static void a_ring_that_never_filled_gives_every_record(void **state)
{
	struct fake *f = fake_new(0);

	fill(f, RING_BYTES / 3);
	check_walk(f);
	assert_int_equal(f->banks.window.nr_records, f->nr);
	assert_int_equal(f->banks.window.overwritten_bytes, 0);
	assert_int_equal(f->banks.window.tail_bytes, 0);
	test_free(f);
}

static void an_exactly_full_ring_gives_every_record(void **state)
{
	struct fake *f = fake_new(0);

	for (size_t i = 0; i < RING_BYTES / 128; i++)
		write_record(f, PERF_RECORD_SAMPLE, 128, 5);
	check_walk(f);
	assert_int_equal(f->banks.window.bytes, RING_BYTES);
	write_record(f, PERF_RECORD_SAMPLE, 128, 5);
	check_walk(f);
	assert_int_equal(f->banks.window.bytes, RING_BYTES);
	assert_int_equal(f->banks.window.overwritten_bytes, 128);
	test_free(f);
}

static void the_record_cut_by_the_wrap_is_left_out(void **state)
{
	for (uint64_t turn = 1; turn < 60; turn++) {
		struct fake *f = fake_new(0);

		fill(f, RING_BYTES + turn * 1000);
		check_walk(f);
		assert_true(f->banks.window.tail_bytes < 512);
		assert_int_equal(f->banks.window.bytes + f->banks.window.tail_bytes, RING_BYTES);
		test_free(f);
	}
}

static void data_head_may_pass_zero_and_four_gigabytes(void **state)
{
	static const uint64_t starts[] = {
		1ull << 32, (1ull << 32) + 40960,	(1ull << 33) + 8, 4096, RING_BYTES,
		8,	    (uint64_t)INT64_MAX + 4096,
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct fake *f = fake_new(starts[i]);

		fill(f, 20000);
		check_walk(f);
		fill(f, 3 * RING_BYTES + 999);
		check_walk(f);
		test_free(f);
	}
}

static void what_a_bank_held_before_it_was_armed_is_not_read(void **state)
{
	struct fake *f = fake_new(0);

	fill(f, 2 * RING_BYTES);
	f->banks.frozen->ring.armed_head = f->page.data_head;
	f->nr = 0;
	check_walk(f);
	assert_int_equal(f->banks.window.nr_records, 0);
	fill(f, 5000);
	check_walk(f);
	assert_int_equal(f->banks.window.nr_records, f->nr);
	test_free(f);
}

static void losses_while_spare_are_told_from_real_ones(void **state)
{
	struct fake *f = fake_new(0);

	/* As the kernel does it: the first sample after being armed, and in front of it the LOST.
	 */
	write_record(f, PERF_RECORD_SAMPLE, 40, 5);
	write_record(f, PERF_RECORD_LOST, 32, 7);
	fill(f, 4000);
	write_record(f, PERF_RECORD_LOST, 32, 3);
	fill(f, 4000);
	check_walk(f);
	assert_int_equal(f->banks.window.lost_spare, 7);
	assert_int_equal(f->banks.window.lost, 3);
	f->banks.nr_banks = 1; /* the only bank has no spare time */
	check_walk(f);
	assert_int_equal(f->banks.window.lost_spare, 0);
	assert_int_equal(f->banks.window.lost, 10);
	test_free(f);
}

static void bytes_that_are_no_record_stop_the_walk_and_are_told(void **state)
{
	struct fake *f = fake_new(0);
	struct tidset *tids;
	uint8_t zeros[8] = {0};

	fill(f, 3 * RING_BYTES);
	assert_int_equal(tidset_new(&tids, NULL), 0);
	put(f, f->model[f->nr - 20].head, zeros, 8);
	window_walk(&f->banks, BANKS_MIN_RUN_BYTES, tids);
	assert_int_equal(f->banks.window.nr_records, 19);
	assert_true(f->banks.window.flags & FMT_WINDOW_BROKEN);
	tidset_free(tids);
	test_free(f);
}

/* Two runs of each of them fit into 64 MiB, and all of them into a file's list. */
static void the_more_rings_the_shorter_their_runs(void **state)
{
	const uint64_t mib = 1 << 20;

	assert_int_equal(window_run_bytes(1, 16 * mib), mib);
	assert_int_equal(window_run_bytes(32, 32 * mib), mib);
	assert_int_equal(window_run_bytes(33, 33 * mib), mib / 2);
	assert_int_equal(window_run_bytes(64, 64 * mib), mib / 2);
	assert_int_equal(window_run_bytes(65, 65 * mib), mib / 4);
	assert_int_equal(window_run_bytes(512, 512 * mib), mib / 16);
	assert_int_equal(window_run_bytes(5000, 512 * mib), mib / 16);
	assert_int_equal(window_run_bytes(512, 4096 * mib), mib / 4);
	assert_int_equal(window_run_bytes(512, 65536 * mib), mib);
}

static void sizes_are_rounded_up_to_pages_in_powers_of_two(void **state)
{
	assert_int_equal(ring_round(0, 4096), 4096);
	assert_int_equal(ring_round(1, 4096), 4096);
	assert_int_equal(ring_round(4096, 4096), 4096);
	assert_int_equal(ring_round(4097, 4096), 8192);
	assert_int_equal(ring_round(3 << 20, 4096), 4 << 20);
	assert_int_equal(ring_round(100, 65536), 65536);
}

static void a_forward_ring_gives_every_record_once(void **state)
{
	struct fake *f = fake_new(0);
	struct ring *r = &f->banks.frozen->ring;
	uint64_t head = (1ull << 32) - RING_BYTES / 2, pos;
	uint8_t scratch[65536];
	struct bytes rec;

	f->page.data_tail = f->page.data_head = head;
	for (int turn = 0; turn < 50; turn++) {
		size_t written = 0, seen = 0;
		uint8_t want[64];

		while (written + 40 <= RING_BYTES) {
			struct perf_event_header h = {.type = 3, .size = 40};

			memset(want, turn + 1, sizeof(want));
			memcpy(want, &h, sizeof(h));
			put(f, f->page.data_head, want, 40);
			f->page.data_head += 40;
			written += 40;
		}
		pos = ring_tail(r);
		while (ring_next(r, &pos, ring_head(r), scratch, &rec)) {
			assert_int_equal(rec.len, 40);
			assert_memory_equal(rec.p, want, 40);
			seen += rec.len;
		}
		assert_int_equal(seen, written);
		ring_consume(r, pos);
		assert_true(f->page.data_tail == f->page.data_head);
	}
	test_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_ring_has_no_records),
		cmocka_unit_test(a_ring_that_never_filled_gives_every_record),
		cmocka_unit_test(an_exactly_full_ring_gives_every_record),
		cmocka_unit_test(the_record_cut_by_the_wrap_is_left_out),
		cmocka_unit_test(data_head_may_pass_zero_and_four_gigabytes),
		cmocka_unit_test(what_a_bank_held_before_it_was_armed_is_not_read),
		cmocka_unit_test(losses_while_spare_are_told_from_real_ones),
		cmocka_unit_test(bytes_that_are_no_record_stop_the_walk_and_are_told),
		cmocka_unit_test(the_more_rings_the_shorter_their_runs),
		cmocka_unit_test(sizes_are_rounded_up_to_pages_in_powers_of_two),
		cmocka_unit_test(a_forward_ring_gives_every_record_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
