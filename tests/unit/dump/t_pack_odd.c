/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * What no kernel would make comes back too, and so does what is at a limit or over it; nothing
 * takes more room packed than as it is.
 */
#include "tests/helpers/pack_bench.h"

/* ---- limits ---- */

static void only_headers(struct make *m, uint32_t nr)
{
	struct make_style s = {.nr_events = 1};
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME};

	make_begin(m, 1, &l, &s);
	while (m->nr < nr) {
		make_start(m);
		make_finish(m, m->nr / 1000 % 3 ? 4 : 70 + m->nr % 3, m->nr % 2);
	}
}

static void records_may_be_headers_only(void **state)
{
	struct bench *b = *state;

	only_headers(&b->m, 20000);
	check_run(b, made(b), 11, HOW | TRIP_PARTS);
	expect_packed(b, 10);
}

static void as_many_records_as_a_run_may_have(void **state)
{
	struct bench *b = *state;

	only_headers(&b->m, PACK_RUN_RECORDS);
	check_run(b, made(b), SIZE_MAX, HOW);
	assert_int_equal(b->t.nr_kept_raw, 0);
	only_headers(&b->m, PACK_RUN_RECORDS + 1);
	check_run(b, made(b), SIZE_MAX, HOW);
	check_run(b, made(b), 1000, HOW);
	assert_int_equal(b->t.nr_kept_raw, 2);
}

/* To the byte; one record more is too much, and the next run works again. */
static void as_many_bytes_as_a_run_may_have(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_threads = 50, .nr_events = 5, .max_words = 10};

	make_begin(&b->m, 3, &l, &s);
	make_run(&b->m, PACK_RUN_BYTES, UINT32_MAX);
	if (made(b).len < PACK_RUN_BYTES) {
		make_start(&b->m);
		b->m.at = b->m.b.p + PACK_RUN_BYTES;
		memset(b->m.b.p + b->m.b.len, 1, PACK_RUN_BYTES - b->m.b.len);
		make_finish(&b->m, 80, 0);
	}
	assert_int_equal(made(b).len, PACK_RUN_BYTES);
	for (size_t cut = 1; cut <= PACK_RUN_BYTES; cut = cut * 5 + 1)
		check_run(b, made(b), cut, HOW | TRIP_PARTS);
	expect_packed(b, 60);
	make_start(&b->m);
	make_finish(&b->m, 80, 0);
	check_run(b, made(b), SIZE_MAX, HOW);
	check_run(b, made(b), 4096, HOW);
	assert_int_equal(b->t.nr_kept_raw, 2);
	check_run(b, (struct bytes){b->m.b.p, PACK_RUN_BYTES}, SIZE_MAX, HOW);
	assert_int_equal(b->t.nr_kept_raw, 2);
}

/* Each size from 8 to 65528, as samples and as records of an unknown type, nine of each so that there is a
 * class for them. */
static void records_of_all_sizes_come_back(void **state)
{
	struct bench *b = *state;
	struct make_style s = {.nr_events = 1};
#if SANITIZED
	uint32_t step = 401;
#else
	uint32_t step = 13;
#endif

	for (uint32_t words = 0; words <= 8190; words += words < 300 ? 1 : step) {
		struct record_layout l = {
			.sample_type = words % 2 ? PERF_SAMPLE_TIME : PERF_SAMPLE_TID,
			.sample_id_all = words % 3,
		};

		make_begin(&b->m, words + 1, &l, &s);
		for (uint32_t i = 0; i < 10; i++) {
			make_step(&b->m);
			make_start(&b->m);
			for (uint32_t w = 0; w < words; w++)
				make_u64(&b->m, w < 300 ? w * i : w);
			make_finish(&b->m, words % 5 ? PERF_RECORD_SAMPLE : 80, 0);
		}
		check_run(b, made(b), made(b).len / 3, HOW | TRIP_PARTS);
		/* The largest there is comes at the end, whatever the steps were. */
		if (words < 8190 && words + step > 8190)
			words = 8190 - step;
	}
}

static void chains_up_to_the_limit_of_a_record(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	};
	static const uint32_t depths[] = {0, 1, 2, 127, 1000, 8000, 8187};

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct make_style s = {
			.nr_events = 1,
			.nr_chains = 1u << i % 4 * 2,
			.max_depth = depths[i],
		};

		make_begin(&b->m, i + 1, &l, &s);
		/* The longest: the record's size is then the largest there is. */
		make_start(&b->m);
		make_head_fields(&b->m, 0);
		make_u64(&b->m, 8187);
		make_words(&b->m, 8187);
		make_finish(&b->m, PERF_RECORD_SAMPLE, 0);
		make_run(&b->m, PACK_RUN_BYTES, 1000);
		check_run(b, made(b), made(b).len / 2, HOW | TRIP_PARTS);
	}
}

/* More distinct chains, and more frames, than there is room for: also when a class comes late. */
static void chains_without_room_are_kept(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
	};

	for (uint32_t depth = 1; depth < 200; depth = depth * 3 + 1) {
		struct make_style s = {
			.nr_events = 1,
			.nr_chains = UINT32_MAX,
			.max_depth = depth,
		};

		make_begin(&b->m, depth, &l, &s);
		make_run(&b->m, PACK_RUN_BYTES - 100000, 20000);
		/* Events of another kind, which find nothing left. */
		b->m.style.nr_events = 4;
		b->m.style.event_order = 900;
		make_run(&b->m, PACK_RUN_BYTES, 21000);
		check_run(b, made(b), SIZE_MAX, HOW | TRIP_PARTS);
	}
}

/* Lengths within a record that say what is not so. */
static void lies_come_back(void **state)
{
	static const uint64_t numbers[] = {
		0,
		1,
		2,
		3,
		100,
		8188,
		8189,
		65535,
		1 << 29,
		1u << 31,
		1ull << 32,
		1ull << 52,
		0x1fffffffffffffff,
		UINT64_MAX / 8,
		UINT64_MAX,
	};
	struct bench *b = *state;
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.regs_user = 7,
	};
	struct make_style s = {.nr_events = 1};

	for (uint32_t words = 0; words < 16; words++) {
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			make_begin(&b->m, k + 1, &l, &s);
			for (uint32_t i = 0; i < 40; i++) {
				make_step(&b->m);
				make_start(&b->m);
				for (uint32_t w = 0; w < words; w++)
					make_u64(&b->m, numbers[(k + (i / 20) * w) % 15]);
				make_finish(&b->m, PERF_RECORD_SAMPLE, 0);
			}
			check_run(b, made(b), 40, HOW | TRIP_EXACT | TRIP_PARTS);
		}
	}
}

/* Tracepoint bytes of length 0, and shorter than what every tracepoint begins with. */
static void raw_may_be_empty(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_events = 1};

	make_begin(&b->m, 1, &l, &s);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t bytes = i % 3 * 4;

		make_step(&b->m);
		make_start(&b->m);
		make_u64(&b->m, b->m.time);
		make_u32(&b->m, bytes);
		for (uint32_t n = 0; n < bytes; n += 4)
			make_u32(&b->m, 0x12c);
		make_finish(&b->m, PERF_RECORD_SAMPLE, 0);
	}
	check_run(b, made(b), 333, HOW | TRIP_PARTS);
	expect_packed(b, 40);
}

/* ---- more than the packer has room for ---- */

/* Each record of another kind, and all kinds again. */
static void more_kinds_than_classes(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_events = 1};

	make_begin(&b->m, 1, &l, &s);
	for (uint32_t i = 0; i < 20000; i++) {
		make_start(&b->m);
		make_u64(&b->m, 1000000 - i);
		make_u32(&b->m, 12);
		make_u32(&b->m, 300 + i % (i < 10000 ? 70 : 1500));
		make_u32(&b->m, i % 7);
		make_u32(&b->m, i);
		make_finish(&b->m, PERF_RECORD_SAMPLE, 0);
	}
	check_run(b, made(b), 333, HOW | TRIP_PARTS);
}

/* Words of which some differ from record to record, so that each wants a template or a bit. */
static void more_differences_than_templates(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME};
	struct make_style s = {.nr_events = 1};

	for (uint32_t words = 2; words < 400; words *= 3) {
		uint32_t nr = PACK_RUN_BYTES / (16 + words * 8);

		make_begin(&b->m, words, &l, &s);
		for (uint32_t i = 0; i < nr && i < PACK_RUN_RECORDS; i++) {
			make_step(&b->m);
			make_start(&b->m);
			make_u64(&b->m, b->m.time);
			/* Nothing happens for long, so that what is looked at says little. */
			for (uint32_t w = 0; w < words; w++)
				make_u64(&b->m, i % 97 < 90 ? w : make_random(&b->m, 3) + w);
			make_finish(&b->m, PERF_RECORD_SAMPLE, 0);
		}
		check_run(b, made(b), 77, HOW | TRIP_PARTS);
	}
}

/* ---- what does not pack ---- */

/* All records random but for their headers; and bytes that are random altogether. */
static void random_bytes_do_not_grow(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_events = 1};

	for (uint32_t words = 0; words < 2000; words = words * 2 + 1) {
		make_begin(&b->m, words + 1, &l, &s);
		while (made(b).len + words * 8 + 8 <= PACK_RUN_BYTES && b->m.nr < 30000) {
			make_start(&b->m);
			make_words(&b->m, words);
			make_finish(&b->m, words % 3 ? PERF_RECORD_SAMPLE : 80, 0);
		}
		check_run(b, made(b), made(b).len / 2, HOW);
	}
	for (uint64_t seed = 1; seed < 50; seed++) {
		make_begin(&b->m, seed, &l, &s);
		make_start(&b->m);
		make_words(&b->m, 10000);
		b->m.b.len = (size_t)(b->m.at - b->m.b.p) - make_random(&b->m, 9);
		check_run(b, made(b), make_random(&b->m, 20) * seed, HOW);
	}
	assert_true(b->t.packed_bytes <= b->t.bytes);
}

static void nothing_is_better_kept_as_it_is(void **state)
{
	struct bench *b = *state;
	struct bytes payload, none = {b->m.b.p, 0};

	assert_int_equal(pack(b->t.packer, &b->m.layout, &none, 1, &payload), -E2BIG);
	assert_int_equal(pack(b->t.packer, &b->m.layout, NULL, 0, &payload), -E2BIG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(records_may_be_headers_only),
		TEST(as_many_records_as_a_run_may_have),
		TEST(as_many_bytes_as_a_run_may_have),
		TEST(records_of_all_sizes_come_back),
		TEST(chains_up_to_the_limit_of_a_record),
		TEST(chains_without_room_are_kept),
		TEST(lies_come_back),
		TEST(raw_may_be_empty),
		TEST(more_kinds_than_classes),
		TEST(more_differences_than_templates),
		TEST(random_bytes_do_not_grow),
		TEST(nothing_is_better_kept_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
