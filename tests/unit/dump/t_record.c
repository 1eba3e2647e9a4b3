/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* perf records taken apart: the kernel's order of fields, and counts that lie. */
#include "dump/format/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ALL                                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |    \
	 PERF_SAMPLE_STACK_USER)

/* A record in the making. */
struct made {
	uint8_t b[4096];
	size_t len;
};

static void put(struct made *m, const void *p, size_t n)
{
	memcpy(m->b + m->len, p, n);
	m->len += n;
}

static void put32(struct made *m, uint32_t v)
{
	put(m, &v, 4);
}

static void put64(struct made *m, uint64_t v)
{
	put(m, &v, 8);
}

static void begin(struct made *m, uint32_t type)
{
	struct perf_event_header h = {.type = type};

	m->len = 0;
	put(m, &h, sizeof(h));
}

static struct bytes end(struct made *m)
{
	((struct perf_event_header *)(void *)m->b)->size = (uint16_t)m->len;
	return (struct bytes){m->b, m->len};
}

/* Where each variable part of full_sample() begins. */
struct places {
	size_t callchain, raw, regs, stack, dynamic;
};

static struct bytes full_sample(struct made *m, struct places *at)
{
	begin(m, PERF_RECORD_SAMPLE);
	put64(m, 1001); /* IDENTIFIER */
	put64(m, 0xffff1234);
	put32(m, 11);
	put32(m, 12);
	put64(m, 777);
	put64(m, 0xadd7);
	put64(m, 1001); /* ID */
	put64(m, 1002); /* STREAM_ID */
	put32(m, 3);
	put32(m, 0);
	put64(m, 99);
	at->callchain = m->len;
	put64(m, 2);
	put64(m, 0xc1);
	put64(m, 0xc2);
	at->raw = m->len;
	put32(m, 12);
	put(m, "hello world", 12);
	at->regs = m->len;
	put64(m, PERF_SAMPLE_REGS_ABI_64);
	put64(m, 0xaa);
	put64(m, 0xbb);
	at->stack = m->len;
	put64(m, 16);
	put(m, "0123456789abcdef", 16);
	at->dynamic = m->len;
	put64(m, 10);
	return end(m);
}

static const struct record_layout full = {
	.sample_type = ALL,
	.regs_user = 0x8001,
	.sample_id_all = true,
};

static void sample_fields_are_in_kernel_order(void **state)
{
	struct made m;
	struct places at;
	struct record_sample s;
	struct bytes rec = full_sample(&m, &at);
	uint64_t v, time;

	assert_int_equal(record_sample(rec, &full, &s), 0);
	assert_int_equal(s.have, ALL);
	assert_int_equal(s.id, 1001);
	assert_int_equal(s.ip, 0xffff1234);
	assert_int_equal(s.pid, 11);
	assert_int_equal(s.tid, 12);
	assert_int_equal(s.time, 777);
	assert_int_equal(s.addr, 0xadd7);
	assert_int_equal(s.cpu, 3);
	assert_int_equal(s.period, 99);
	assert_int_equal(s.nr_callchain, 2);
	memcpy(&v, s.callchain + 8, 8);
	assert_int_equal(v, 0xc2);
	assert_int_equal(s.raw.len, 12);
	assert_memory_equal(s.raw.p, "hello world", 12);
	assert_int_equal(s.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	memcpy(&v, s.regs + 8, 8);
	assert_int_equal(v, 0xbb);
	assert_int_equal(s.stack.len, 10);
	assert_memory_equal(s.stack.p, "0123456789", 10);
	assert_true(record_time(rec, &full, &time));
	assert_int_equal(time, 777);
}

/* Each field alone, so that no field leans on another being there. */
static void each_field_may_be_missing(void **state)
{
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW};
	struct record_sample s;
	struct made m;
	uint64_t time;

	begin(&m, PERF_RECORD_SAMPLE);
	put64(&m, 42);
	put32(&m, 4);
	put32(&m, 0xfeed);
	assert_int_equal(record_sample(end(&m), &l, &s), 0);
	assert_int_equal(s.time, 42);
	assert_int_equal(s.raw.len, 4);
	assert_int_equal(s.tid, 0);
	assert_null(s.callchain);
	assert_true(record_time(end(&m), &l, &time));
	assert_int_equal(time, 42);
	l.sample_type = PERF_SAMPLE_IP;
	assert_false(record_time(end(&m), &l, &time));
}

static void no_registers_and_no_stack(void **state)
{
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.regs_user = 0xff,
	};
	struct record_sample s;
	struct made m;

	begin(&m, PERF_RECORD_SAMPLE);
	put64(&m, PERF_SAMPLE_REGS_ABI_NONE);
	put64(&m, 0);
	assert_int_equal(record_sample(end(&m), &l, &s), 0);
	assert_null(s.regs);
	assert_int_equal(s.stack.len, 0);
}

static void counts_that_lie_are_refused(void **state)
{
	static const uint64_t lies[] = {
		1000,	    UINT64_MAX,	      UINT64_MAX / 8, UINT64_MAX / 8 + 1,
		1ull << 61, (1ull << 61) + 2, 1ull << 32,
	};
	struct record_sample s = {.time = 5};
	struct places at;
	struct made m;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint32_t low = (uint32_t)lies[i] | 0x10000;

		full_sample(&m, &at);
		memcpy(m.b + at.callchain, &lies[i], 8);
		assert_int_equal(record_sample(end(&m), &full, &s), -EBADMSG);
		full_sample(&m, &at);
		memcpy(m.b + at.stack, &lies[i], 8);
		assert_int_equal(record_sample(end(&m), &full, &s), -EBADMSG);
		full_sample(&m, &at);
		memcpy(m.b + at.dynamic, &lies[i], 8);
		assert_int_equal(record_sample(end(&m), &full, &s), -EBADMSG);
		full_sample(&m, &at);
		memcpy(m.b + at.raw, &low, 4);
		assert_int_equal(record_sample(end(&m), &full, &s), -EBADMSG);
	}
	assert_int_equal(s.time, 5); /* untouched on failure */
}

/* A record that ends at any point, header adjusted, in memory that ends there too. */
static void cut_samples_are_refused(void **state)
{
	struct record_sample s;
	struct places at;
	struct made m;
	struct bytes rec = full_sample(&m, &at);

	for (size_t n = 0; n < rec.len; n++) {
		uint8_t *copy = malloc(n ? n : 1);
		struct bytes cut = {copy, n};
		uint16_t size = (uint16_t)n;
		uint64_t time;

		memcpy(copy, m.b, n);
		if (n >= 8)
			memcpy(copy + 6, &size, 2);
		assert_int_equal(record_sample(cut, &full, &s), -EBADMSG);
		record_time(cut, &full, &time);
		assert_int_equal(record_sample_id(cut, &full, &s), -EBADMSG);
		free(copy);
	}
}

static void unreadable_layouts_are_refused(void **state)
{
	struct record_layout l = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ};
	struct record_sample s;
	struct made m;
	uint64_t time;

	begin(&m, PERF_RECORD_SAMPLE);
	put64(&m, 42);
	put64(&m, 0);
	assert_int_equal(record_sample(end(&m), &l, &s), -EBADMSG);
	assert_true(
		record_time(end(&m), &l, &time)); /* the time stands before what can't be read */
	assert_int_equal(time, 42);
}

static void sample_id_is_found_at_the_end(void **state)
{
	struct record_layout l = {
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER |
			       PERF_SAMPLE_RAW,
		.sample_id_all = true,
	};
	struct record_sample s;
	struct made m;
	uint64_t time;

	begin(&m, PERF_RECORD_COMM);
	put32(&m, 1);
	put32(&m, 2);
	put64(&m, 0x6d6d6f63);
	put32(&m, 21);
	put32(&m, 22);
	put64(&m, 888);
	put64(&m, 31);
	put64(&m, 32);
	put32(&m, 5);
	put32(&m, 0);
	put64(&m, 31);
	assert_int_equal(record_id_bytes(&l), 48);
	assert_int_equal(record_sample_id(end(&m), &l, &s), 0);
	assert_int_equal(s.pid, 21);
	assert_int_equal(s.tid, 22);
	assert_int_equal(s.time, 888);
	assert_int_equal(s.cpu, 5);
	assert_int_equal(s.id, 31);
	assert_int_equal(s.have & PERF_SAMPLE_RAW, 0);
	assert_true(record_time(end(&m), &l, &time));
	assert_int_equal(time, 888);
	l.sample_id_all = false;
	assert_int_equal(record_id_bytes(&l), 0);
	assert_int_equal(record_sample_id(end(&m), &l, &s), -EBADMSG);
	assert_false(record_time(end(&m), &l, &time));
}

static void stepping_refuses_what_is_no_record(void **state)
{
	struct perf_event_header h = {.type = 1, .size = 16}, got;
	uint64_t memory[4] = {0};
	struct bytes b = {(const uint8_t *)memory, sizeof(memory)};

	memcpy(memory, &h, 8);
	memcpy(memory + 2, &h, 8);
	assert_true(record_at(b, 0, &got));
	assert_int_equal(got.size, 16);
	assert_true(record_at(b, 16, &got));
	assert_false(record_at(b, 24, &got)); /* size 0 */
	assert_false(record_at(b, 32, &got)); /* the end */
	assert_false(record_at(b, 28, &got)); /* half a header */
	assert_false(record_at(b, SIZE_MAX, &got));
	b.len = 31;
	assert_false(record_at(b, 16, &got)); /* cut */
	h.size = 12;
	memcpy(memory, &h, 8);
	assert_false(record_at(b, 0, &got)); /* not a multiple of 8 */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_fields_are_in_kernel_order),
		cmocka_unit_test(each_field_may_be_missing),
		cmocka_unit_test(no_registers_and_no_stack),
		cmocka_unit_test(counts_that_lie_are_refused),
		cmocka_unit_test(cut_samples_are_refused),
		cmocka_unit_test(unreadable_layouts_are_refused),
		cmocka_unit_test(sample_id_is_found_at_the_end),
		cmocka_unit_test(stepping_refuses_what_is_no_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
