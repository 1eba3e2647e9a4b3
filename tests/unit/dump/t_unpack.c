/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* Bytes that are no packed records are refused, or unpacked to something: they do no harm. */
#include "tests/helpers/pack_bench.h"

/* ---- payloads that are none ---- */

/* Everything that may be asked of an unpacker; what it says is not looked at. */
static void ask_all(struct trip *t, struct bytes payload, uint32_t nr, uint32_t bytes)
{
	const uint64_t *times;
	const uint32_t *offsets, *tids;

	if (unpack_open(t->unpacker, payload, nr, bytes, NULL))
		return;
	unpack_times(t->unpacker, &times, NULL);
	unpack_threads(t->unpacker, &tids, NULL);
	if (!unpack_offsets(t->unpacker, &offsets, NULL) && nr) {
		uint32_t n = offsets[nr] - offsets[nr - 1];

		t->record.len = 0;
		assert_int_equal(buf_reserve(&t->record, n), 0);
		unpack_need(t->unpacker, nr - 1, 16);
		unpack_part(t->unpacker, nr - 1, UNPACK_NEEDED, t->record.p, NULL);
		unpack_record(t->unpacker, nr - 1, t->record.p, NULL);
		unpack_is_fixed(t->unpacker, nr - 1, 12);
		unpack_is_thread(t->unpacker, nr - 1, 12);
	}
	if (!unpack_all(t->unpacker, &t->out, NULL))
		assert_int_equal(t->out.len, bytes);
}

static struct bytes small_payload(struct bench *b)
{
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_RAW | PERF_SAMPLE_STACK_USER,
		.sample_id_all = true,
	};
	struct make_style s = {
		.nr_threads = 9,
		.nr_events = 3,
		.nr_chains = 30,
		.max_depth = 8,
		.max_words = 8,
		.stack_bytes = 64,
		.step_ns = 1000,
		.odd = 100,
	};

	make_begin(&b->m, 9, &l, &s);
	make_run(&b->m, 40000, 150);
	check_run(b, made(b), SIZE_MAX, HOW);
	expect_packed(b, 70);
	return trip_copy((struct bytes){b->t.payload.p, b->t.payload.len});
}

static void payloads_of_another_block_are_refused(void **state)
{
	struct bench *b = *state;
	struct bytes payload = small_payload(b);
	uint32_t nr = b->m.nr, bytes = (uint32_t)made(b).len;

	assert_int_equal(unpack_open(b->t.unpacker, payload, nr, bytes, NULL), 0);
	assert_int_equal(unpack_open(b->t.unpacker, payload, nr + 1, bytes, NULL), -EBADMSG);
	assert_int_equal(unpack_open(b->t.unpacker, payload, nr, bytes + 8, NULL), -EBADMSG);
	for (size_t n = 0; n < payload.len; n++) {
		struct bytes cut = trip_copy((struct bytes){payload.p, n});

		assert_int_equal(unpack_open(b->t.unpacker, cut, nr, bytes, &b->t.err), -EBADMSG);
		assert_true(strlen(b->t.err.what));
		free((void *)cut.p);
	}
	free((void *)payload.p);
}

/* Refused or unpacked to something: no harm is done, which the sanitizers see. */
static void mutated_payloads_do_no_harm(void **state)
{
	struct bench *b = *state;
	struct bytes payload = small_payload(b), copy;
	uint32_t nr = b->m.nr, bytes = (uint32_t)made(b).len;
#if SANITIZED
	int rounds = 1500;
#else
	int rounds = 20000;
#endif

	for (int k = 0; k < rounds; k++) {
		uint8_t *p;

		copy = trip_copy(payload);
		p = (uint8_t *)copy.p;
		for (uint32_t n = 1 + trip_random(&b->t, 4); n; n--)
			p[trip_random(&b->t, (uint32_t)copy.len)] ^=
				(uint8_t)(1u << trip_random(&b->t, 8));
		ask_all(&b->t, copy, nr, bytes);
		free(p);
	}
	/* And then a whole one again. */
	assert_int_equal(unpack_open(b->t.unpacker, payload, nr, bytes, NULL), 0);
	assert_int_equal(unpack_all(b->t.unpacker, &b->t.out, NULL), 0);
	assert_memory_equal(b->t.out.p, b->m.b.p, bytes);
	free((void *)payload.p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(payloads_of_another_block_are_refused),
		TEST(mutated_payloads_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
