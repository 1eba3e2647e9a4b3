/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Records as kernels make them come back byte for byte, ten million of them, of any layout, in runs
 * that are cut anywhere; all at once, or one by one and their times alone.
 */
#include "tests/helpers/pack_bench.h"

#if SANITIZED
#define MANY_RECORDS 200000u
#define MANY_LAYOUTS 300u
#else
#define MANY_RECORDS 10000000u
#define MANY_LAYOUTS 3000u
#endif

/* ---- as kernels make them ---- */

static const uint64_t fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,		PERF_SAMPLE_TID,       PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,	PERF_SAMPLE_ID,		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,	PERF_SAMPLE_READ,	PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW,
	PERF_SAMPLE_REGS_USER,	PERF_SAMPLE_STACK_USER,
};
#define NR_FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Each field with a chance of its own; READ rarely, since it hides what is behind it. */
static struct record_layout any_layout(struct trip *t)
{
	struct record_layout l = {.sample_id_all = trip_random(t, 4)};

	for (size_t i = 0; i < NR_FIELDS; i++)
		if (!trip_random(t, fields[i] == PERF_SAMPLE_READ ? 8 : 2))
			l.sample_type |= fields[i];
	for (uint32_t regs = trip_random(t, 20); regs; regs--)
		l.regs_user |= 1ull << trip_random(t, 64);
	return l;
}

static struct make_style any_style(struct trip *t)
{
	static const uint32_t per_mille[] = {0, 0, 0, 1, 10, 100, 500, 1000};

#define OF_1000 per_mille[trip_random(t, 8)]
	return (struct make_style){
		.nr_threads = trip_random(t, 4) ? trip_random(t, 20) : trip_random(t, 20000),
		.nr_events = 1 + trip_random(t, MAKE_EVENTS),
		.nr_chains = 1u << trip_random(t, 15),
		.max_depth = trip_random(t, 8) ? trip_random(t, 30) : trip_random(t, 500),
		.max_words = trip_random(t, MAKE_WORDS + 1),
		.stack_bytes = 1u << trip_random(t, 15),
		.step_ns = 1u << trip_random(t, 30),
		.odd = OF_1000,
		.jumps = OF_1000,
		.noise = OF_1000,
		.lies = trip_random(t, 4) ? 0 : OF_1000,
		.strangers = OF_1000,
		.event_order = OF_1000,
	};
#undef OF_1000
}

/* Tracepoints of a busy machine: small records, so that there are many in a run. */
static void ten_million_records_come_back(void **state)
{
	static const uint64_t types[] = {
		PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		PERF_SAMPLE_TIME,
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
	};
	struct bench *b = *state;
	uint64_t seed = 1;

	while (b->t.nr_records < MANY_RECORDS) {
		struct record_layout l = {.sample_type = types[seed % 6], .sample_id_all = true};
		struct make_style s = {
			.nr_threads = 1 + trip_random(&b->t, 300),
			.nr_events = 1 + trip_random(&b->t, 6),
			.nr_chains = 1 + trip_random(&b->t, 300),
			.max_depth = 1 + trip_random(&b->t, 6),
			.max_words = trip_random(&b->t, 5),
			.step_ns = 1u << trip_random(&b->t, 20),
			.odd = trip_random(&b->t, 2),
			.event_order = trip_random(&b->t, 300),
		};
		struct bytes run;

		make_begin(&b->m, seed++, &l, &s);
		run = make_run(&b->m, PACK_RUN_BYTES, PACK_RUN_RECORDS);
		check_run(b, run, trip_random(&b->t, (uint32_t)run.len + 1), HOW);
	}
	printf("# %lu records, %lu bytes as %lu\n", (unsigned long)b->t.nr_records,
	       (unsigned long)b->t.bytes, (unsigned long)b->t.packed_bytes);
	expect_packed(b, 40);
}

/* Anything that is a layout, in runs of any length, cut anywhere, unpacked in parts. */
static void any_layout_comes_back(void **state)
{
	struct bench *b = *state;
	uint32_t kept_raw = 0;

	for (uint32_t seed = 1; seed <= MANY_LAYOUTS; seed++) {
		struct record_layout l = any_layout(&b->t);
		struct make_style s = any_style(&b->t);
		uint32_t records = 1 + trip_random(&b->t, 1u << (4 + trip_random(&b->t, 12)));
		struct bytes run;

		make_begin(&b->m, seed, &l, &s);
		run = make_run(&b->m, 1 << 19, records);
		check_run(b, run, trip_random(&b->t, (uint32_t)run.len + 1), HOW | TRIP_PARTS);
		kept_raw += !b->t.payload.len;
	}
	assert_true(kept_raw < MANY_LAYOUTS / 2);
	/* Times in columns can be read without restoring records. */
	assert_true(b->t.nr_times > b->t.nr_records / 4);
}

/* Where a time is in the layout, the reader knows it without the record's bytes. */
static void times_are_known(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.sample_id_all = true,
	};
	struct make_style s = {.nr_threads = 9, .nr_events = 4, .max_words = 4, .odd = 200};
	const uint64_t *times;
	uint32_t known = 0;

	make_begin(&b->m, 1, &l, &s);
	make_run(&b->m, PACK_RUN_BYTES, 10000);
	check_run(b, made(b), SIZE_MAX, HOW);
	assert_int_equal(unpack_times(b->t.unpacker, &times, NULL), 0);
	for (uint32_t i = 0; i < b->m.nr; i++)
		known += times[i] != UINT64_MAX;
	assert_true(known > b->m.nr * 9 / 10);
}

/* ---- pieces ---- */

/* Inside of a header, of a record, between two: each place that there is. */
static void a_run_may_be_cut_anywhere(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		.sample_id_all = true,
	};
	struct make_style s = {
		.nr_threads = 3,
		.nr_events = 3,
		.nr_chains = 5,
		.max_depth = 6,
		.max_words = 6,
		.odd = 50,
	};

	make_begin(&b->m, 5, &l, &s);
	make_run(&b->m, 6000, UINT32_MAX);
	for (size_t cut = 0; cut <= made(b).len; cut++)
		check_run(b, made(b), cut, HOW);
	expect_packed(b, 70);
}

/* Cut within a long record, a few bytes from each of its ends. */
static void a_long_record_may_be_cut(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_events = 1};

	make_begin(&b->m, 5, &l, &s);
	make_run(&b->m, PACK_RUN_BYTES, 100);
	for (int i = 0; i < 4; i++) {
		make_start(&b->m);
		make_words(&b->m, 8190);
		make_finish(&b->m, 99, 0);
	}
	make_run(&b->m, PACK_RUN_BYTES, 4000);
	for (size_t at = 0; at < made(b).len; at += 65528 / 3 + 1)
		for (size_t k = 0; k < 3; k++)
			check_run(b, made(b), at + k, HOW);
}

/* What is behind the last whole record comes back too, be it cut or none. */
static void a_tail_that_is_no_record_comes_back(void **state)
{
	struct bench *b = *state;
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct make_style s = {.nr_threads = 3, .nr_events = 3, .max_words = 3};

	make_begin(&b->m, 6, &l, &s);
	make_run(&b->m, 5000, 100);
	for (size_t n = 0; n < 64; n++) {
		struct bytes cut = {b->m.b.p, b->m.b.len - n};

		check_run(b, cut, SIZE_MAX, HOW | TRIP_PARTS);
		check_run(b, cut, 2000, HOW | TRIP_PARTS);
	}
	for (uint32_t n = 1; n < 300; n += 7) {
		make_start(&b->m);
		for (uint32_t i = 0; i < n; i++)
			b->m.b.p[b->m.b.len + i] = (uint8_t)(n + (n > 100 ? 0 : i));
		check_run(b, (struct bytes){b->m.b.p, b->m.b.len + n}, SIZE_MAX, HOW | TRIP_PARTS);
	}
	expect_packed(b, 70);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(ten_million_records_come_back),
		TEST(any_layout_comes_back),
		TEST(times_are_known),
		TEST(a_run_may_be_cut_anywhere),
		TEST(a_long_record_may_be_cut),
		TEST(a_tail_that_is_no_record_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
