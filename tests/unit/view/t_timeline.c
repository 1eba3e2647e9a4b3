/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The timeline: records of all rings in the order of time, whatever order the rings have them in.
 */
#include "dump/view/model/timeline.h"

#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define TP   300

/* Everything but rings and records: two channels with two CPUs each, ring = 2 * channel + cpu. */
static struct mk begin(void)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, 1000);
	for (uint32_t c = 0; c < 2; c++) {
		mk_channel(&d, c, c ? "b" : "a", TYPE);
		mk_event(&d, c, c, c ? "sys:b" : "sys:a", TP + c, TYPE);
	}
	for (uint32_t i = 0; i < 4; i++)
		mk_cpu_window(&d, i, i / 2, (int32_t)i % 2);
	return d;
}

/* A block with the given times, oldest first; the value of each is its time. */
static uint64_t block(struct mk *d, uint32_t ring, uint64_t off, const uint64_t *times, size_t nr)
{
	uint64_t first = UINT64_MAX, last = 0;
	struct mk_records r = {0};

	for (size_t i = 0; i < nr; i++) {
		mk_number(&r, times[i], (uint16_t)(TP + ring / 2), 5, (uint32_t)times[i]);
		first = times[i] < first ? times[i] : first;
		last = times[i] > last ? times[i] : last;
	}
	off = mk_block(d, ring, off, first, last, &r);
	mk_records_free(&r);
	return off;
}

#define BLOCK(d, ring, off, ...)                                                                   \
	block(d, ring, off, (const uint64_t[]){__VA_ARGS__},                                       \
	      sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

struct seen {
	uint64_t time[4096];
	uint32_t ring[4096];
	uint32_t type[4096];
	size_t nr;
	uint64_t nr_bad;
};

static const struct timeline_options all = {.to_ns = UINT64_MAX, .cpu = -1};

static struct seen *walk(struct reader *r, const struct timeline_options *opt)
{
	static struct seen s;
	struct timeline_record rec;
	struct meta *m = mk_meta(r);
	struct timeline *t;
	uint32_t value;
	int rc;

	s.nr = 0;
	assert_int_equal(timeline_open(r, m, opt, &t, NULL), 0);
	while ((rc = timeline_next(t, &rec, NULL)) > 0) {
		struct perf_event_header h;

		memcpy(&h, rec.rec.p, sizeof(h));
		assert_int_equal(h.size, rec.rec.len);
		if (h.type == PERF_RECORD_SAMPLE) {
			memcpy(&value, rec.s.raw.p + 8, 4);
			assert_int_equal(value, rec.time_ns);
			assert_int_equal(rec.tid, 5);
			assert_non_null(rec.event);
			assert_int_equal(rec.event->f.channel, rec.window->channel);
		}
		assert_ptr_equal(rec.channel, &m->channels[rec.window->channel]);
		assert_true(s.nr < 4096);
		s.time[s.nr] = rec.time_ns;
		s.ring[s.nr] = rec.window->ring;
		s.type[s.nr++] = h.type;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(timeline_next(t, &rec, NULL), 0);
	s.nr_bad = timeline_nr_bad_blocks(t);
	timeline_close(t);
	meta_free(m);
	return &s;
}

static void check_times(const struct seen *s, const uint64_t *want, size_t nr)
{
	assert_int_equal(s->nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(s->time[i], want[i]);
}

#define TIMES(s, ...)                                                                              \
	check_times(s, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void test_merge(void **state)
{
	struct mk d = begin();
	struct reader *r;
	struct seen *s;

	BLOCK(&d, 3, 0, 10, 30, 50);
	BLOCK(&d, 0, 0, 20, 30, 40);
	BLOCK(&d, 1, 0, 30, 60);
	r = mk_end(&d);
	s = walk(r, &all);
	TIMES(s, 10, 20, 30, 30, 30, 40, 50, 60);
	/* At the same time the ring with the smaller id comes first. */
	assert_int_equal(s->ring[2], 0);
	assert_int_equal(s->ring[3], 1);
	assert_int_equal(s->ring[4], 3);
	assert_int_equal(s->nr_bad, 0);
	mk_close(&d, r);
}

static void test_inversions(void **state)
{
	struct mk d = begin();
	struct reader *r;
	uint64_t off;

	/* Newest block first in the file, as the recorder writes them. */
	off = BLOCK(&d, 0, 0, 95, 110, 105, 120);
	off = BLOCK(&d, 0, off, 50, 70, 60, 80, 100);
	BLOCK(&d, 0, off, 10, 20, 55, 40);
	r = mk_end(&d);
	TIMES(walk(r, &all), 10, 20, 40, 50, 55, 60, 70, 80, 95, 100, 105, 110, 120);
	mk_close(&d, r);
}

/* A block that is older than its header says: its records come when they are met. */
static void test_time_does_not_go_back(void **state)
{
	struct mk d = begin();
	const uint64_t want[] = {10, 100, 100, 120};
	struct mk_records late = {0};
	struct timeline_record rec;
	struct timeline *t;
	struct reader *r;
	struct meta *m;
	size_t nr = 0;

	BLOCK(&d, 0, 0, 10, 100);
	mk_number(&late, 20, TP, 5, 20);
	mk_number(&late, 120, TP, 5, 120);
	mk_block(&d, 1, 0, 110, 120, &late);
	mk_records_free(&late);
	r = mk_end(&d);
	m = mk_meta(r);
	assert_int_equal(timeline_open(r, m, &all, &t, NULL), 0);
	for (; timeline_next(t, &rec, NULL) > 0; nr++)
		assert_int_equal(rec.time_ns, want[nr]);
	assert_int_equal(nr, 4);
	timeline_close(t);
	meta_free(m);
	mk_close(&d, r);
}

static void test_records_of_one_time_keep_their_order(void **state)
{
	struct mk d = begin();
	struct mk_records rec = {0};
	struct timeline_record got;
	struct timeline *t;
	struct reader *r;
	struct meta *m;

	for (uint32_t i = 0; i < 5; i++)
		mk_number(&rec, 100, TP, 5, i);
	mk_block(&d, 0, 0, 100, 100, &rec);
	mk_records_free(&rec);
	r = mk_end(&d);
	m = mk_meta(r);
	assert_int_equal(timeline_open(r, m, &all, &t, NULL), 0);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t value;

		assert_int_equal(timeline_next(t, &got, NULL), 1);
		memcpy(&value, got.s.raw.p + 8, 4);
		assert_int_equal(value, i);
	}
	timeline_close(t);
	meta_free(m);
	mk_close(&d, r);
}

/* Rings with records jittered by less than a block, compared with a plain sort of all times. */
static void test_against_a_sort(void **state)
{
	static uint64_t want[4096];
	uint64_t seed = 12345, off;
	struct mk d = begin();
	struct reader *r;
	size_t nr = 0;

	for (uint32_t ring = 0; ring < 4; ring++) {
		off = 0;
		for (uint64_t b = 20; b-- > 0;) {
			uint64_t times[16];

			for (uint64_t i = 0; i < 16; i++) {
				seed = seed * 6364136223846793005ull + 1442695040888963407ull;
				times[i] = 1000 + (b * 16 + i) * 10 + (seed >> 33) % 60;
				want[nr++] = times[i];
			}
			off = block(&d, ring, off, times, 16);
		}
	}
	for (size_t i = 1; i < nr; i++)
		for (size_t k = i; k && want[k - 1] > want[k]; k--) {
			uint64_t other = want[k];

			want[k] = want[k - 1];
			want[k - 1] = other;
		}
	r = mk_end(&d);
	check_times(walk(r, &all), want, nr);
	mk_close(&d, r);
}

static void test_a_block_turned_around(void **state)
{
	static uint64_t times[2000], want[2000];
	struct mk d = begin();
	struct reader *r;

	for (uint64_t i = 0; i < 2000; i++) {
		times[i] = 5000 - i;
		want[1999 - i] = 5000 - i;
	}
	block(&d, 0, 0, times, 2000);
	r = mk_end(&d);
	check_times(walk(r, &all), want, 2000);
	mk_close(&d, r);
}

static void test_part_of_the_time(void **state)
{
	struct timeline_options opt = {.from_ns = 20, .to_ns = 50, .cpu = -1};
	struct mk d = begin();
	struct reader *r;
	struct seen *s;
	uint64_t off;

	off = BLOCK(&d, 0, 0, 60, 70);
	off = BLOCK(&d, 0, off, 30, 40, 50, 51);
	BLOCK(&d, 0, off, 10, 19, 20);
	BLOCK(&d, 2, 0, 45, 99);
	r = mk_end(&d);
	/* A block that lies outside isn't opened: what is wrong with it doesn't matter. */
	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (reader_block(r, i)->h.section == FMT_RECORDS &&
		    reader_block(r, i)->h.first_ns == 60)
			mk_damage(&d, r, i);
	reader_close(r);
	r = mk_open(&d, false);
	s = walk(r, &opt);
	TIMES(s, 20, 30, 40, 45, 50);
	assert_int_equal(s->nr_bad, 0);
	mk_close(&d, r);
}

static void test_channel_and_cpu(void **state)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .channels = 2, .cpu = -1};
	struct mk d = begin();
	struct reader *r;

	BLOCK(&d, 0, 0, 1);
	BLOCK(&d, 1, 0, 2);
	BLOCK(&d, 2, 0, 3);
	BLOCK(&d, 3, 0, 4);
	r = mk_end(&d);
	TIMES(walk(r, &opt), 3, 4);
	opt.cpu = 1;
	TIMES(walk(r, &opt), 4);
	opt.channels = 0;
	TIMES(walk(r, &opt), 2, 4);
	mk_close(&d, r);
}

static void test_repeated_block(void **state)
{
	struct mk d = begin();
	struct reader *r;
	uint64_t off;

	off = BLOCK(&d, 0, 0, 30, 40);
	BLOCK(&d, 0, off, 10, 20);
	BLOCK(&d, 0, 0, 30, 40);
	r = mk_end(&d);
	TIMES(walk(r, &all), 10, 20, 30, 40);
	mk_close(&d, r);
}

static void test_damaged_block(void **state)
{
	struct mk d = begin();
	struct reader *r;
	struct seen *s;
	uint64_t off;

	off = BLOCK(&d, 0, 0, 50, 60);
	off = BLOCK(&d, 0, off, 30, 40);
	BLOCK(&d, 0, off, 10, 20);
	BLOCK(&d, 1, 0, 35);
	r = mk_end(&d);
	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (reader_block(r, i)->h.section == FMT_RECORDS &&
		    reader_block(r, i)->h.first_ns == 30)
			mk_damage(&d, r, i);
	reader_close(r);
	r = mk_open(&d, false);
	s = walk(r, &all);
	TIMES(s, 10, 20, 35, 50, 60);
	assert_int_equal(s->nr_bad, 1);
	mk_close(&d, r);
}

static void test_lost_comes_out(void **state)
{
	struct mk d = begin();
	struct mk_records rec = {0};
	struct reader *r;
	struct seen *s;

	mk_number(&rec, 10, TP, 5, 10);
	mk_lost(&rec, 20, 1, 99);
	mk_number(&rec, 30, TP, 5, 30);
	mk_block(&d, 0, 0, 10, 30, &rec);
	mk_records_free(&rec);
	r = mk_end(&d);
	s = walk(r, &all);
	TIMES(s, 10, 20, 30);
	assert_int_equal(s->type[1], PERF_RECORD_LOST);
	mk_close(&d, r);
}

/* What the kernel never writes: bytes that are no record, at the old end of a block. */
static void test_no_records(void **state)
{
	struct mk d = begin();
	struct mk_records rec = {0};
	struct writer_run run = {.ring = 0, .encoding = FMT_ENC_RAW, .first_ns = 10, .last_ns = 10};
	struct bytes piece;
	struct reader *r;
	struct seen *s;

	mk_number(&rec, 10, TP, 5, 10);
	assert_int_equal(buf_put(&rec.bytes, "\1\2\3\4\5\6\7\7", 8), 0);
	piece = (struct bytes){rec.bytes.p, rec.bytes.len};
	run.content_bytes = (uint32_t)rec.bytes.len;
	run.nr_records = 1;
	assert_int_equal(writer_records(d.w, &run, &piece, 1), 0);
	mk_records_free(&rec);
	BLOCK(&d, 1, 0, 20);
	r = mk_end(&d);
	s = walk(r, &all);
	TIMES(s, 10, 20);
	assert_int_equal(s->nr_bad, 1);
	mk_close(&d, r);
}

static void test_ring_without_window(void **state)
{
	struct mk d = begin();
	struct reader *r;
	struct seen *s;

	BLOCK(&d, 4, 0, 10);
	BLOCK(&d, 0, 0, 20);
	r = mk_end(&d);
	s = walk(r, &all);
	TIMES(s, 20);
	assert_int_equal(s->nr_bad, 1);
	mk_close(&d, r);
}

/* A tracepoint of which a reader needs the second of three numbers. */
struct three {
	uint16_t type;
	uint16_t rest;
	int32_t tid;
	uint32_t a, b, c;
};

static void put_three(struct mk_records *r, uint64_t time, uint64_t i)
{
	struct three raw = {
		.type = (uint16_t)(TP + i / 7 % 2),
		.tid = (int32_t)(20 + i / 5 % 3),
		.a = i % 3 ? 7 : (uint32_t)i * 77,
		.b = (uint32_t)(i * 2654435761u >> 8),
		.c = (uint32_t)i,
	};

	/* One of another length now and then. */
	mk_sample(r, time, &raw, i % 11 ? sizeof(raw) : sizeof(raw) - 4);
}

/* Two packed blocks of 300, 10 ns apart. */
static struct reader *threes(struct mk *d)
{
	const struct record_layout layout = {.sample_type = TYPE};
	struct mk_records r = {0};
	uint64_t off = 0;

	mk_host(d);
	mk_trigger(d, 1000);
	mk_channel(d, 0, "a", TYPE);
	mk_event(d, 0, 0, "sys:a", TP, TYPE);
	mk_event(d, 1, 0, "sys:b", TP + 1, TYPE);
	mk_cpu_window(d, 0, 0, 0);
	for (uint64_t first = 3000;; first = 0) {
		for (uint64_t i = 0; i < 300; i++)
			put_three(&r, 5000 + first + 10 * i, i);
		off = mk_block_as(d, &layout, 0, off, 5000 + first, 7990 + first, &r);
		mk_records_free(&r);
		if (!first)
			return mk_end(d);
	}
}

static void check_part(const struct timeline_record *got, const struct timeline_record *whole)
{
	struct three x, y;

	assert_int_equal(got->time_ns, whole->time_ns);
	assert_int_equal(got->s.time, whole->s.time);
	assert_int_equal(got->tid, whole->tid);
	assert_ptr_equal(got->event, whole->event);
	assert_int_equal(got->rec.len, whole->rec.len);
	assert_int_equal(got->s.raw.len, whole->s.raw.len);
	memcpy(&x, got->s.raw.p, sizeof(x) - 4);
	memcpy(&y, whole->s.raw.p, sizeof(y) - 4);
	assert_int_equal(x.type, y.type);
	assert_int_equal(x.tid, y.tid);
	assert_int_equal(x.b, y.b);
	if (x.type == TP + 1)
		assert_int_equal(x.a, y.a);
}

/* The same records come, whether a few words of them are asked for or all. */
static void test_part_of_the_records(void **state)
{
	struct timeline_need needs[2] = {{0}, {0}};
	struct timeline_options part = {.to_ns = UINT64_MAX, .cpu = -1, .needs = needs};
	struct timeline_record got, whole;
	struct timeline *a, *b;
	struct mk d = mk_begin();
	struct reader *r = threes(&d);
	struct meta *m = mk_meta(r);
	uint64_t n;

	timeline_need_raw(&needs[0], offsetof(struct three, b), 4);
	timeline_need_raw(&needs[1], offsetof(struct three, a), 8);
	for (; part.nr_helpers < 3; part.nr_helpers++) {
		assert_int_equal(timeline_open(r, m, &part, &a, NULL), 0);
		assert_int_equal(timeline_open(r, m, &all, &b, NULL), 0);
		for (n = 0; timeline_next(b, &whole, NULL) > 0; n++) {
			assert_int_equal(timeline_next(a, &got, NULL), 1);
			assert_int_equal(got.time_ns, 5000 + 10 * n);
			check_part(&got, &whole);
		}
		assert_int_equal(timeline_next(a, &got, NULL), 0);
		assert_int_equal(n, 600);
		timeline_close(a);
		timeline_close(b);
	}
	meta_free(m);
	mk_close(&d, r);
}

static void test_no_rings(void **state)
{
	struct mk d = begin();
	struct reader *r = mk_end(&d);

	assert_int_equal(walk(r, &all)->nr, 0);
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_inversions),
		cmocka_unit_test(test_time_does_not_go_back),
		cmocka_unit_test(test_records_of_one_time_keep_their_order),
		cmocka_unit_test(test_against_a_sort),
		cmocka_unit_test(test_a_block_turned_around),
		cmocka_unit_test(test_part_of_the_time),
		cmocka_unit_test(test_channel_and_cpu),
		cmocka_unit_test(test_repeated_block),
		cmocka_unit_test(test_damaged_block),
		cmocka_unit_test(test_lost_comes_out),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_ring_without_window),
		cmocka_unit_test(test_part_of_the_records),
		cmocka_unit_test(test_no_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
