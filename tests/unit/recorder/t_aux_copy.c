/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * How much of an AUX area was written, by heads that count on and by heads that are places, and
 * what is copied of it, and where. On memory that this test writes as
 * hardware does.
 */
#include "recorder/trace/aux.h"

#include "dump/base/err.h"
#include "dump/file/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE (64u << 10)

/* An area of `size` bytes of which the i-th ever written is value(i); never 0 where that counts. */
struct fake {
	struct aux aux;
	uint8_t *live;
	struct perf_event_mmap_page live_page;
	struct ring ring;
	bool counts;
	uint64_t written, before; /* in all; until the last stop */
};

static uint8_t value(uint64_t i)
{
	return (uint8_t)(1 + (i * 2654435761u >> 13) % 255);
}

static struct fake *fake_new(uint64_t size, bool counts)
{
	struct fake *f = test_calloc(1, sizeof(*f));

	f->live = test_calloc(1, size);
	f->aux = (struct aux){
		.live = f->live, .copy = test_calloc(1, size), .size = size, .used = size};
	f->aux.sums = test_calloc(size / 4096, sizeof(*f->aux.sums));
	for (uint64_t i = 0; i < size / 4096; i++)
		f->aux.sums[i] = block_hash(f->aux.copy, 4096, 0);
	f->ring.page = &f->live_page;
	f->counts = counts;
	return f;
}

static void fake_free(struct fake *f)
{
	test_free(f->aux.sums);
	test_free(f->aux.copy);
	test_free(f->live);
	test_free(f);
}

static void put(struct fake *f, uint64_t n)
{
	for (; n; n--, f->written++)
		f->live[f->written % f->aux.used] = value(f->written);
	f->live_page.aux_head = f->counts ? f->written : f->written % f->aux.used;
}

/* What the blocks, newest first, hold together, oldest first. */
static struct buf all_blocks(const struct fake *f)
{
	struct buf b = {0};

	for (size_t i = aux_nr_blocks(&f->aux); i-- > 0;) {
		struct bytes piece[2];
		int nr = aux_block(&f->aux, i, piece);

		for (int k = 0; k < nr; k++)
			assert_int_equal(buf_put(&b, piece[k].p, piece[k].len), 0);
	}
	return b;
}

/* Stops, copies, and goes on. */
static void dump(struct fake *f)
{
	uint64_t size = f->aux.used, all = f->written < size ? f->written : size;
	uint64_t since = f->written - f->before;
	const struct fmt_window_aux *w = &f->aux.window;
	struct buf b;

	aux_stopped(&f->aux, &f->ring, 0);
	aux_copy(&f->aux);
	aux_started(&f->aux);
	aux_measure(&f->aux, 0);
	assert_int_equal(w->bytes, all);
	assert_int_equal(w->new_bytes, since < size ? since : size);
	assert_true(w->written_bytes <= since);
	if (since > size && since % size)
		assert_true(w->flags & FMT_AUX_WRAPPED);
	if (since <= size)
		assert_false(w->flags & FMT_AUX_WRAPPED);
	if (w->flags & FMT_AUX_COUNTING)
		assert_int_equal(w->written_bytes, since);
	assert_true(w->start_ns <= w->stop_ns && w->blackout_ns >= w->copy_ns);
	b = all_blocks(f);
	assert_int_equal(b.len, all);
	for (uint64_t i = 0; i < all; i++)
		assert_int_equal(b.p[i], value(f->written - all + i));
	buf_free(&b);
	f->before = f->written;
}

static void stages(bool counts)
{
	struct fake *f = fake_new(SIZE, counts);

	dump(f); /* nothing at all */
	put(f, 5003);
	dump(f);
	dump(f); /* nothing since */
	put(f, SIZE - 5003);
	dump(f); /* exactly full */
	dump(f);
	put(f, SIZE);
	dump(f); /* exactly once around: the head is where it was */
	put(f, 1);
	dump(f);
	put(f, SIZE - 1);
	dump(f);
	put(f, SIZE + 1);
	dump(f);
	put(f, 100 * (uint64_t)SIZE + 77);
	dump(f);
	put(f, 3 * (uint64_t)SIZE);
	dump(f);
	dump(f);
	fake_free(f);
}

static void a_head_that_counts_tells_how_much_was_written(void **state)
{
	stages(true);
}

static void a_head_that_is_a_place_and_the_contents_tell_it_too(void **state)
{
	stages(false);
}

static void at_the_first_stop_it_may_have_gone_around_already(void **state)
{
	static const uint64_t firsts[] = {1, SIZE - 1, SIZE, SIZE + 1, 2 * SIZE, 9 * SIZE + 5};

	for (size_t i = 0; i < 2 * sizeof(firsts) / sizeof(firsts[0]); i++) {
		struct fake *f = fake_new(SIZE, i & 1);

		put(f, firsts[i / 2]);
		dump(f);
		put(f, 10);
		dump(f);
		fake_free(f);
	}
}

/* As BTS does: whole records of 24 bytes. */
static void a_driver_may_leave_the_end_unused(void **state)
{
	uint64_t seed = 1, last;

	for (int i = 0; i < 20; i++) {
		struct fake *f = fake_new(i % 4 ? SIZE : 4096, false);

		f->aux.used -= f->aux.size % 24;
		memset(f->live + f->aux.used, 0xee, f->aux.size - f->aux.used);
		last = f->aux.used / 4096 * 4096;
		f->aux.sums[last / 4096] = block_hash(f->aux.copy + last, f->aux.used - last, 0);
		for (int k = 0; k < 20; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			put(f, 24 * ((seed >> 33) % ((k % 3 ? 1 : 3) * f->aux.used / 24)));
			dump(f);
			if (k % 5 == 0) {
				put(f, f->aux.used);
				dump(f);
			}
		}
		fake_free(f);
	}
}

static void so_it_is_whatever_is_written_between_dumps(void **state)
{
	uint64_t seed = 1;

	for (int i = 0; i < 40; i++) {
		struct fake *f = fake_new(i % 4 ? SIZE : 4096, i & 1);

		for (int k = 0; k < 20; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			put(f, (seed >> 33) % (k % 3 ? f->aux.size : 3 * f->aux.size));
			dump(f);
		}
		fake_free(f);
	}
}

/* Zeros: the contents tell nothing. `new_bytes` of an area whose head went from 0 to `head`, when the
 * records told of `told_bytes`. */
static uint64_t new_zeros(uint64_t head, uint64_t told_bytes, uint64_t written_bytes)
{
	struct fake *f = fake_new(SIZE, true);
	uint64_t n;

	f->live_page.aux_head = head;
	aux_stopped(&f->aux, &f->ring, 0);
	aux_copy(&f->aux);
	aux_measure(&f->aux, told_bytes);
	n = f->aux.window.new_bytes;
	assert_int_equal(f->aux.window.bytes, n);
	assert_int_equal(f->aux.window.written_bytes, written_bytes);
	fake_free(f);
	return n;
}

static void a_head_as_large_as_the_area_proves_it_full(void **state)
{
	struct fake *f = fake_new(SIZE, true);

	assert_int_equal(new_zeros(SIZE, 0, SIZE), SIZE);
	assert_int_equal(new_zeros(SIZE - 1, 0, SIZE - 1), SIZE - 1);
	/* It counts on. */
	f->aux.stop_head = SIZE;
	f->live_page.aux_head = SIZE;
	aux_stopped(&f->aux, &f->ring, 0);
	aux_copy(&f->aux);
	aux_measure(&f->aux, 0);
	f->live_page.aux_head = SIZE + 100;
	aux_stopped(&f->aux, &f->ring, 0);
	aux_copy(&f->aux);
	aux_measure(&f->aux, 0);
	assert_int_equal(f->aux.window.new_bytes, 100);
	assert_int_equal(f->aux.window.bytes, SIZE);
	fake_free(f);
}

static void records_tell_what_contents_hide(void **state)
{
	assert_int_equal(new_zeros(100, 0, 100), 100);
	assert_int_equal(new_zeros(100, 100, 100), 100);
	assert_int_equal(new_zeros(100, SIZE + 100, SIZE + 100), SIZE);
	assert_int_equal(new_zeros(0, 3 * (uint64_t)SIZE, 3 * (uint64_t)SIZE), SIZE);
	/* Not about this head. */
	assert_int_equal(new_zeros(100, SIZE + 200, 100), 100);
}

/* How much is new when the trace goes from `from` to `to`, and one byte there is another. */
static uint64_t new_after(uint64_t from, uint64_t to, uint64_t changed)
{
	struct fake *f = fake_new(SIZE, false);
	uint64_t n;

	put(f, SIZE);
	dump(f);
	f->aux.start_head = from;
	f->live[changed] ^= 1;
	f->live_page.aux_head = to;
	aux_stopped(&f->aux, &f->ring, 0);
	aux_copy(&f->aux);
	aux_measure(&f->aux, 0);
	assert_memory_equal(f->aux.copy, f->live, SIZE);
	n = f->aux.window.new_bytes;
	fake_free(f);
	return n;
}

/* A trace may write nearly the same again. */
static void one_byte_that_differs_is_enough(void **state)
{
	static const struct {
		uint64_t from, to;
	} ways[] = {{0, 100},	    {100, 100},	  {100, 50},	 {5000, 4000},	{4000, 5000},
		    {60000, 60001}, {8192, 8192}, {4096, 12288}, {12288, 4096}, {100, 4000},
		    {65535, 0},	    {1, 65535},	  {0, 65535},	 {30000, 40000}};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint64_t from = ways[i].from, to = ways[i].to, moved = (to - from) % SIZE;

		for (uint64_t k = 0; k < SIZE; k += k % 4096 < 3 || k % 4096 > 4092 ? 1 : 331)
			assert_int_equal(new_after(from, to, k),
					 (k - from) % SIZE < moved ? moved : SIZE);
	}
}

static void blocks_are_not_longer_than_the_format_wants(void **state)
{
	struct fake *f = fake_new(4 * FMT_AUX_BLOCK_BYTES, true);
	struct bytes piece[2];

	put(f, 2 * FMT_AUX_BLOCK_BYTES + 10);
	dump(f);
	assert_int_equal(aux_nr_blocks(&f->aux), 3);
	assert_int_equal(aux_block(&f->aux, 2, piece), 1);
	assert_int_equal(piece[0].len, 10);
	put(f, 4 * FMT_AUX_BLOCK_BYTES);
	dump(f);
	assert_int_equal(aux_nr_blocks(&f->aux), 4);
	fake_free(f);
}

/* A file in memory is mapped as the kernel's is. */
static void a_copy_has_a_place_in_the_tlb_beside_its_area(void **state)
{
	size_t before = 3 * (size_t)sysconf(_SC_PAGESIZE);

	for (uint64_t size = 64u << 10; size <= 16u << 20; size *= 2) {
		struct ring r = {.fd = memfd_create("area", MFD_CLOEXEC), .map_bytes = before};
		struct aux a;

		assert_int_equal(ftruncate(r.fd, (off_t)(before + size)), 0);
		r.page = mmap(NULL, before, PROT_READ, MAP_SHARED, r.fd, 0);
		assert_ptr_not_equal(r.page, MAP_FAILED);
		assert_int_equal(aux_open(&a, &r, size, size), 0);
		assert_int_equal(r.page->aux_offset, before);
		assert_int_equal(r.page->aux_size, size);
		assert_int_not_equal(((uintptr_t)a.live - (uintptr_t)a.copy) % (1u << 20), 0);
		aux_close(&a);
		munmap(r.page, before);
		close(r.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_that_counts_tells_how_much_was_written),
		cmocka_unit_test(a_head_that_is_a_place_and_the_contents_tell_it_too),
		cmocka_unit_test(at_the_first_stop_it_may_have_gone_around_already),
		cmocka_unit_test(a_driver_may_leave_the_end_unused),
		cmocka_unit_test(so_it_is_whatever_is_written_between_dumps),
		cmocka_unit_test(a_head_as_large_as_the_area_proves_it_full),
		cmocka_unit_test(records_tell_what_contents_hide),
		cmocka_unit_test(one_byte_that_differs_is_enough),
		cmocka_unit_test(blocks_are_not_longer_than_the_format_wants),
		cmocka_unit_test(a_copy_has_a_place_in_the_tlb_beside_its_area),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
