/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * The workers of a dump, on rings that this test writes as the kernel does: however many there are,
 * the blocks come in the order of the file, are the same, and hold the rings' bytes; they may be
 * stopped at any block and used again.
 */
#include "recorder/writer/dump_workers.h"

#include "dump/base/err.h"
#include "dump/packed/unpack.h"
#include "recorder/ledger/ledger.h"
#include "recorder/base/priority.h"
#include "recorder/writer/window.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED	   0x1234567890abcdefull
#define RING_BITS  22
#define NR_RINGS   5
#define MAX_BLOCKS 1024

/* A frozen ring. */
struct fake {
	struct perf_event_mmap_page page;
	uint8_t *data;
	struct channel channel;
	struct banks banks;
	uint64_t seed, time;
};

/* Rings of different sizes, one of them empty. */
struct rings {
	struct fake fake[NR_RINGS];
	struct banks *banks[NR_RINGS];
	struct tidset *tids;
};

static uint64_t rnd(struct fake *f)
{
	f->seed = f->seed * 6364136223846793005ull + 1442695040888963407ull;
	return f->seed >> 33;
}

static void fake_init(struct fake *f, uint64_t size)
{
	struct bank *b = &f->banks.bank[0];

	f->seed = size;
	f->time = 1000;
	f->data = test_calloc(1, size);
	f->channel.layout.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	f->channel.at = (struct channel_offsets){.time = 8, .rest = 16, .raw = true};
	b->ring = (struct ring){.page = &f->page, .data = f->data, .size = size};
	b->state = BANK_FROZEN;
	f->banks.channel = &f->channel;
	f->banks.nr_banks = 2;
	f->banks.frozen = b;
	f->banks.max_runs = banks_max_runs(size);
	f->banks.runs = test_calloc(f->banks.max_runs, sizeof(*f->banks.runs));
}

/* One sample below the present head: 20 bytes, then `size` - 20 of a tracepoint. */
static void put_record(struct fake *f, uint16_t size, bool noise)
{
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .size = size};
	uint32_t raw_bytes = size - 20u, tid = (uint32_t)(1 + rnd(f) % 300);
	uint64_t mask = f->banks.frozen->ring.size - 1;
	uint8_t b[1 << 16] = {0};

	f->time += 1 + rnd(f) % 100;
	memcpy(b, &h, sizeof(h));
	memcpy(b + 8, &f->time, 8);
	memcpy(b + 16, &raw_bytes, 4);
	for (uint32_t i = 28; i < size; i += 4) {
		uint32_t v = (uint32_t)(noise ? rnd(f) << 9 ^ rnd(f) : i / 8 + rnd(f) % 3);

		memcpy(b + i, &v, 4);
	}
	b[20] = 77; /* common_type */
	memcpy(b + 24, &tid, 4);
	f->page.data_head -= size;
	for (uint32_t i = 0; i < size; i++)
		f->data[(f->page.data_head + i) & mask] = b[i];
}

static void fill(struct fake *f, uint64_t bytes, bool noise)
{
	while (-f->page.data_head < bytes)
		put_record(f, (uint16_t)(32 + rnd(f) % 20 * 8), noise);
}

static struct rings *rings_new(void)
{
	struct rings *r = test_calloc(1, sizeof(*r));

	assert_int_equal(tidset_new(&r->tids, NULL), 0);
	for (int i = 0; i < NR_RINGS; i++) {
		fake_init(&r->fake[i], 1u << (RING_BITS - i));
		r->banks[i] = &r->fake[i].banks;
	}
	fill(&r->fake[0], 3u << RING_BITS, false);
	fill(&r->fake[1], 100 << 10, false);
	fill(&r->fake[2], 1u << RING_BITS, true);
	fill(&r->fake[4], 1u << RING_BITS, false);
	return r;
}

static void rings_free(struct rings *r)
{
	for (int i = 0; i < NR_RINGS; i++) {
		test_free(r->fake[i].data);
		test_free(r->fake[i].banks.runs);
	}
	tidset_free(r->tids);
	test_free(r);
}

static struct dump_workers *workers(unsigned nr, enum block_level level)
{
	struct dump_workers_options o = {.nr_workers = nr, .level = level};
	struct dump_workers *w = NULL;

	assert_int_equal(dump_workers_new(&o, &w, NULL), 0);
	return w;
}

static void walk(struct dump_workers *w, struct rings *r)
{
	tidset_clear(r->tids);
	dump_workers_walk(w, r->banks, NR_RINGS, r->tids);
}

/* The content of a block. */
static void open_block(const struct fmt_block *h, struct bytes stored, struct buf *out)
{
	struct block_unpacker *b;
	struct unpacker *u;
	struct buf payload = {0};

	assert_int_equal(block_unpacker_new(&b, NULL), 0);
	if (h->encoding == FMT_ENC_RAW) {
		assert_int_equal(block_unpack(b, h, SEED, stored, out, NULL), 0);
	} else {
		assert_int_equal(block_unpack(b, h, SEED, stored, &payload, NULL), 0);
		assert_int_equal(unpacker_new(&u, NULL), 0);
		assert_int_equal(unpack_open(u, (struct bytes){payload.p, payload.len},
					     h->nr_records, h->content_bytes, NULL),
				 0);
		assert_int_equal(unpack_all(u, out, NULL), 0);
		unpacker_free(u);
	}
	buf_free(&payload);
	block_unpacker_free(b);
	assert_int_equal(out->len, h->content_bytes);
}

static void check_block(const struct rings *r, const struct fmt_block *h, struct bytes stored)
{
	const struct ring *ring = &r->banks[h->ring]->frozen->ring;
	uint8_t *want = test_malloc(h->content_bytes);
	struct buf got = {0};

	open_block(h, stored, &got);
	ring_copy(ring, ring_head(ring), h->ring_off, want, h->content_bytes);
	assert_memory_equal(got.p, want, h->content_bytes);
	buf_free(&got);
	test_free(want);
}

/* All blocks: checks them and their order, and gives their headers. */
static size_t all_blocks(struct dump_workers *w, struct rings *r, struct fmt_block *headers)
{
	uint64_t next_off[NR_RINGS] = {0}, round = 0, in_round = 0;
	struct bytes stored;
	size_t nr = 0;
	int rc;

	dump_workers_begin(w, SEED);
	while ((rc = dump_workers_next(w, &headers[nr], &stored, NULL)) > 0) {
		const struct fmt_block *h = &headers[nr++];
		uint64_t k = 0;

		assert_true(nr < MAX_BLOCKS);
		assert_true(h->ring < NR_RINGS);
		assert_int_equal(h->section, FMT_RECORDS);
		assert_int_equal(h->ring_off, next_off[h->ring]);
		next_off[h->ring] += h->content_bytes;
		while (r->banks[h->ring]->runs[k].off != h->ring_off)
			k++;
		assert_true(k == round ? h->ring >= in_round : k == round + 1);
		round = k;
		in_round = h->ring + 1;
		check_block(r, h, stored);
	}
	assert_int_equal(rc, 0);
	dump_workers_end(w);
	for (int i = 0; i < NR_RINGS; i++)
		assert_int_equal(next_off[i], r->banks[i]->window.bytes);
	return nr;
}

static void any_number_of_workers_makes_the_same_blocks_in_the_same_order(void **state)
{
	static const unsigned numbers[] = {1, 2, 3, 8};
	struct fmt_block *first = test_calloc(MAX_BLOCKS, sizeof(*first));
	struct fmt_block *headers = test_calloc(MAX_BLOCKS, sizeof(*headers));
	struct rings *r = rings_new();
	size_t nr = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct dump_workers *w = workers(numbers[i], BLOCK_FAST);

		for (int again = 0; again < 2; again++) {
			walk(w, r);
			if (nr) {
				assert_int_equal(all_blocks(w, r, headers), nr);
				assert_memory_equal(headers, first, nr * sizeof(*first));
			} else {
				nr = all_blocks(w, r, first);
			}
		}
		dump_workers_free(w);
	}
	assert_true(nr > 6);
	/* A full run pays as columns, a single record does not. */
	for (size_t i = 0; i < nr; i++)
		if (first[i].ring == 0)
			assert_int_equal(first[i].encoding,
					 first[i].nr_records > 1 ? FMT_ENC_PACKED : FMT_ENC_RAW);
	assert_int_equal(first[nr - 1].nr_records, 1);
	test_free(first);
	test_free(headers);
	rings_free(r);
}

static void the_higher_level_gives_the_same_records(void **state)
{
	struct fmt_block *headers = test_calloc(MAX_BLOCKS, sizeof(*headers));
	struct rings *r = rings_new();
	struct dump_workers *w = workers(2, BLOCK_HIGH);

	walk(w, r);
	all_blocks(w, r, headers);
	dump_workers_free(w);
	test_free(headers);
	rings_free(r);
}

static void rings_are_walked_all_at_once(void **state)
{
	struct rings *r = rings_new();
	struct dump_workers *w = workers(4, BLOCK_FAST);
	struct tidset *one;

	for (int again = 0; again < 20; again++) {
		walk(w, r);
		for (uint32_t i = 0; i < NR_RINGS; i++) {
			assert_int_equal(r->banks[i]->window.ring, i);
			assert_int_equal(r->banks[i]->window.flags & FMT_WINDOW_BROKEN, 0);
			assert_true(!r->banks[i]->nr_runs == !r->fake[i].page.data_head);
		}
		assert_int_equal(tidset_new(&one, NULL), 0);
		for (int i = 0; i < NR_RINGS; i++)
			window_walk(r->banks[i], 1 << 20, one);
		for (uint32_t tid = 0; tid < 400; tid++)
			assert_int_equal(tidset_has(one, tid), tidset_has(r->tids, tid));
		tidset_free(one);
	}
	dump_workers_free(w);
	rings_free(r);
}

/* A full disk: nothing of the rings may be looked at any more when that call returns. */
static void it_may_end_at_any_block(void **state)
{
	struct fmt_block *headers = test_calloc(MAX_BLOCKS, sizeof(*headers));
	struct rings *r = rings_new();

	for (unsigned nr = 1; nr <= 3; nr++) {
		struct dump_workers *w = workers(nr, BLOCK_FAST);

		for (int blocks = 0; blocks < 8; blocks++) {
			struct bytes stored;

			walk(w, r);
			dump_workers_begin(w, SEED);
			for (int i = 0; i < blocks; i++)
				assert_int_equal(dump_workers_next(w, headers, &stored, NULL), 1);
			dump_workers_end(w);
		}
		walk(w, r);
		all_blocks(w, r, headers);
		dump_workers_free(w);
	}
	test_free(headers);
	rings_free(r);
}

static void empty_rings_make_no_block(void **state)
{
	struct rings *r = test_calloc(1, sizeof(*r));
	struct dump_workers *w = workers(2, BLOCK_FAST);
	struct fmt_block h;

	assert_int_equal(tidset_new(&r->tids, NULL), 0);
	for (int i = 0; i < NR_RINGS; i++) {
		fake_init(&r->fake[i], 1 << 16);
		r->banks[i] = &r->fake[i].banks;
	}
	walk(w, r);
	assert_int_equal(all_blocks(w, r, &h), 0);
	dump_workers_walk(w, r->banks, 0, r->tids);
	dump_workers_begin(w, SEED);
	assert_int_equal(dump_workers_next(w, &h, NULL, NULL), 0);
	dump_workers_end(w);
	dump_workers_free(w);
	rings_free(r);
}

/* Each record alone is nearly as long as a run may get, or does not fit behind such a one. */
static void there_is_room_for_the_runs_of_the_worst_records(void **state)
{
	struct fake *f = test_calloc(1, sizeof(*f));
	struct tidset *tids;

	assert_int_equal(tidset_new(&tids, NULL), 0);
	fake_init(f, 1 << 20);
	while (-f->page.data_head < 2 << 20) {
		put_record(f, 65528, false);
		put_record(f, 32, false);
	}
	window_walk(&f->banks, BANKS_MIN_RUN_BYTES, tids);
	assert_int_equal(f->banks.window.flags & FMT_WINDOW_BROKEN, 0);
	assert_true(f->banks.nr_runs > (1 << 20) / BANKS_MIN_RUN_BYTES * 2 - 4);
	test_free(f->data);
	test_free(f->banks.runs);
	test_free(f);
	tidset_free(tids);
}

/* How many threads of this process that pack have that scheduling policy. */
static int nr_with_policy(int policy)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int nr = 0;

	while ((e = readdir(d))) {
		char path[300], name[64] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, "ringback-pack\n"))
			nr += sched_getscheduler(atoi(e->d_name)) == policy;
		if (f)
			fclose(f);
	}
	closedir(d);
	return nr;
}

static void workers_are_idle_until_they_have_to_hurry(void **state)
{
	struct dump_workers_options o = {.nr_workers = 3, .low_priority = true};
	struct dump_workers *w;

	if (!priority_can_return()) {
		print_message("RLIMIT_NICE does not allow nice 0 here\n");
		skip();
	}
	assert_int_equal(dump_workers_new(&o, &w, NULL), 0);
	assert_int_equal(nr_with_policy(SCHED_IDLE), 3);
	for (int i = 0; i < 2; i++) {
		dump_workers_hurry(w, true);
		assert_int_equal(nr_with_policy(SCHED_OTHER), 3);
		dump_workers_hurry(w, false);
		assert_int_equal(nr_with_policy(SCHED_IDLE), 3);
	}
	dump_workers_free(w);
}

static void workers_that_may_not_come_back_stay_ordinary(void **state)
{
	struct dump_workers *w = workers(2, BLOCK_FAST);

	assert_int_equal(nr_with_policy(SCHED_OTHER), 2);
	dump_workers_hurry(w, false);
	assert_int_equal(nr_with_policy(SCHED_OTHER), 2);
	dump_workers_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_workers_makes_the_same_blocks_in_the_same_order),
		cmocka_unit_test(the_higher_level_gives_the_same_records),
		cmocka_unit_test(rings_are_walked_all_at_once),
		cmocka_unit_test(it_may_end_at_any_block),
		cmocka_unit_test(empty_rings_make_no_block),
		cmocka_unit_test(there_is_room_for_the_runs_of_the_worst_records),
		cmocka_unit_test(workers_are_idle_until_they_have_to_hurry),
		cmocka_unit_test(workers_that_may_not_come_back_stay_ordinary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
