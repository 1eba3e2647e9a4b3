/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * script with several threads prints what it prints with one, byte for byte: equal times, records
 * out of order within a block and across two, filters, damaged blocks, text that is more than is
 * kept. And it stops when its output can't be written.
 */
#include "dump/view/script/script.h"

#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RAW_TYPE  (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define CPU_TYPE  (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define TP	  300
#define HIT	  2000000000ull
#define NR_RINGS  4u
#define NR_BLOCKS 40u
#define BLOCK_NR  300u

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Threads 10 to 17 of two processes; one maps a file with a name as long as they get. */
static struct mk begin(void)
{
	static const char names[4][17] = {"even", "odd", "later", "\x1b[1mevil"};
	struct mk d = mk_begin();
	char path[256];

	mk_host(&d);
	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "trace", RAW_TYPE);
	mk_channel(&d, 1, "cpu", CPU_TYPE);
	mk_event(&d, 0, 0, "sys:value", TP, RAW_TYPE);
	mk_event(&d, 1, 1, "cpu-clock", 0, CPU_TYPE);
	mk_format(&d, TP, "sys", mk_number_format);
	for (uint32_t i = 0; i < NR_RINGS; i++)
		mk_cpu_window(&d, i, i / 2, (int32_t)i % 2);
	for (uint32_t i = 0; i < 8; i++) {
		mk_task(&d, 1 + i, 10 + i, 10 + i / 4 * 4, 1, 0, 0);
		mk_comm(&d, 1 + i, 0, names[i % 2]);
		mk_comm(&d, 1 + i, HIT + 1000 * i, i % 3 ? names[2] : names[3]);
	}
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[255] = '\0';
	mk_path(&d, 1, path);
	mk_map(&d, &(struct fmt_map){.key = 1, .path = 1, .start = 0x10000, .end = 0x20000});
	return d;
}

static void put_sample(struct mk_records *r, uint64_t time, uint32_t tid, uint64_t ips,
		       uint64_t *seed)
{
	uint64_t body[5 + 7000] = {0x10010, (10 + tid / 4 * 4) | (uint64_t)(10 + tid) << 32, time,
				   ips + 1, PERF_CONTEXT_USER};

	assert(ips <= 7000);
	for (uint64_t i = 0; i < ips; i++)
		body[5 + i] = i ? 0x10000 + next_random(seed) % 0x12000 : 0xffffffff81000000;
	mk_record(r, PERF_RECORD_SAMPLE, 0, body, (5 + ips) * sizeof(body[0]));
}

static void put_record(struct mk_records *r, uint32_t ring, uint64_t time, uint64_t *seed)
{
	uint64_t tid = next_random(seed) % 9;

	if (ring >= 2)
		put_sample(r, time, (uint32_t)tid, next_random(seed) % 6, seed);
	else if (next_random(seed) % 50 == 0)
		mk_lost(r, time, 5, next_random(seed));
	else
		mk_number(r, time, next_random(seed) % 90 ? TP : TP + 1, (int32_t)(10 + tid),
			  (uint32_t)next_random(seed));
}

/*
 * Times that step by little, so that many are equal, in a ring and across rings; some records are
 * earlier than the one before, down into the block before.
 */
static void put_block(struct mk *d, uint32_t ring, uint32_t block, uint64_t *off, uint64_t *seed)
{
	uint64_t begin_ns = HIT - 40000 + block * BLOCK_NR * 8ull, first = UINT64_MAX, last = 0;
	const struct record_layout layout = {.sample_type = ring < 2 ? RAW_TYPE : CPU_TYPE,
					     .sample_id_all = true};
	struct mk_records r = {0};

	for (uint32_t i = 0; i < BLOCK_NR; i++) {
		uint64_t time = begin_ns + i * 8;

		if (next_random(seed) % 16 == 0)
			time -= next_random(seed) % 800;
		time -= time % 16;
		put_record(&r, ring, time, seed);
		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	*off = mk_block_as(d, block % 3 ? &layout : NULL, ring, *off, first, last, &r);
	mk_records_free(&r);
}

/* 48,000 records. */
static struct mk many(void)
{
	struct mk d = begin();
	uint64_t seed = 9;

	for (uint32_t ring = 0; ring < NR_RINGS; ring++) {
		uint64_t off = 0;

		for (uint32_t block = NR_BLOCKS; block-- > 0;)
			put_block(&d, ring, block, &off, &seed);
	}
	return d;
}

struct printed {
	char *p;
	size_t len;
	struct script_result res;
};

static struct printed print(struct reader *r, struct script_options opt, unsigned nr_threads)
{
	struct meta *m = mk_meta(r);
	struct err err = ERR_INIT;
	struct printed out = {0};
	FILE *f = open_memstream(&out.p, &out.len);

	assert_non_null(f);
	opt.nr_threads = nr_threads;
	if (!opt.to_ns)
		opt.to_ns = UINT64_MAX;
	if (script_print(r, m, &opt, f, &out.res, &err))
		fail_msg("%s", err.what);
	assert_int_equal(fclose(f), 0);
	meta_free(m);
	return out;
}

/* Returns how many lines' worth of records there are. */
static uint64_t check_same(struct reader *r, struct script_options opt)
{
	static const unsigned threads[] = {2, 3, 8};
	struct printed one = print(r, opt, 1), more;
	uint64_t nr = one.res.nr_printed;

	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		more = print(r, opt, threads[i]);
		assert_int_equal(more.res.nr_printed, one.res.nr_printed);
		assert_int_equal(more.res.nr_bad_blocks, one.res.nr_bad_blocks);
		assert_int_equal(more.len, one.len);
		assert_memory_equal(more.p, one.p, one.len);
		free(more.p);
	}
	free(one.p);
	return nr;
}

static void test_same(void **state)
{
	struct mk d = many();
	struct reader *r = mk_end(&d);
	const uint64_t all = (uint64_t)NR_RINGS * NR_BLOCKS * BLOCK_NR;
	const uint32_t tids[] = {11, 12}, pids[] = {14}, cpus[] = {1};
	const char *comms[] = {"l*", "even"}, *events[] = {"cpu-clock", "PERF_RECORD_LOST"};

	assert_int_equal(check_same(r, (struct script_options){0}), all);
	assert_int_equal(check_same(r, (struct script_options){.json = true}), all);
	assert_int_equal(check_same(r, (struct script_options){.color = true}), all);
	assert_in_range(
		check_same(r, (struct script_options){.from_ns = HIT - 5000, .to_ns = HIT + 5000}),
		1000, all / 4);
	assert_in_range(check_same(r, (struct script_options){.tids = tids, .nr_tids = 2}), 1000,
			all / 2);
	assert_in_range(check_same(r, (struct script_options){.pids = pids, .nr_pids = 1}), 1000,
			all * 2 / 3);
	assert_in_range(check_same(r, (struct script_options){.cpus = cpus, .nr_cpus = 1}), 1000,
			all / 2);
	assert_in_range(check_same(r, (struct script_options){.comms = comms, .nr_comms = 2}), 1000,
			all - 1000);
	assert_in_range(check_same(r, (struct script_options){.events = events, .nr_events = 2}),
			1000, all - 1000);
	mk_close(&d, r);
}

/* Lines up to the limit, and no threads for it. */
static void test_limit(void **state)
{
	struct mk d = many();
	struct reader *r = mk_end(&d);

	assert_int_equal(check_same(r, (struct script_options){.limit = 7}), 7);
	mk_close(&d, r);
}

static void test_little(void **state)
{
	struct mk_records rec = {0};
	struct mk d = begin();
	struct reader *r;

	mk_number(&rec, HIT, TP, 10, 1);
	mk_block(&d, 0, 0, HIT, HIT, &rec);
	mk_records_free(&rec);
	r = mk_end(&d);
	assert_int_equal(check_same(r, (struct script_options){0}), 1);
	assert_int_equal(check_same(r, (struct script_options){.from_ns = HIT + 1}), 0);
	mk_close(&d, r);
}

static void test_damaged(void **state)
{
	struct mk d = many();
	struct reader *r = mk_end(&d);
	struct printed out;
	uint64_t nr_damaged = 0;

	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (reader_block(r, i)->h.section == FMT_RECORDS && i % 20 == 0) {
			mk_damage(&d, r, i);
			nr_damaged++;
		}
	assert_true(nr_damaged > 3);
	reader_close(r);
	r = mk_open(&d, false);
	out = print(r, (struct script_options){0}, 3);
	assert_int_equal(out.res.nr_bad_blocks, nr_damaged);
	assert_int_equal(out.res.nr_printed,
			 (NR_RINGS * NR_BLOCKS - nr_damaged) * (uint64_t)BLOCK_NR);
	free(out.p);
	check_same(r, (struct script_options){0});
	mk_close(&d, r);
}

/* Long chains in a file with a long name: a batch becomes tens of megabytes of text. */
static void test_much_text(void **state)
{
	struct mk_records rec = {0};
	struct mk d = begin();
	struct printed out;
	struct reader *r;
	uint64_t seed = 4;

	for (uint64_t i = 0; i < 30; i++)
		put_sample(&rec, HIT + i, i % 5 ? 8 : 0, 7000, &seed);
	mk_block(&d, 2, 0, HIT, HIT + 29, &rec);
	mk_records_free(&rec);
	r = mk_end(&d);
	out = print(r, (struct script_options){0}, 2);
	assert_true(out.len > 10u << 20);
	free(out.p);
	assert_int_equal(check_same(r, (struct script_options){0}), 30);
	mk_close(&d, r);
}

/* ---- output that fails ---- */

/* Takes `left` bytes and then no more. */
struct small_disk {
	size_t left;
	struct buf got;
};

static ssize_t disk_write(void *cookie, const char *p, size_t n)
{
	struct small_disk *disk = cookie;

	sched_yield();
	if (n > disk->left) {
		n = disk->left;
		errno = ENOSPC;
	}
	MK_OK(buf_put(&disk->got, p, n));
	disk->left -= n;
	return (ssize_t)n;
}

static void test_full_disk(void **state)
{
	static const cookie_io_functions_t io = {.write = disk_write};
	struct script_options opt = {.to_ns = UINT64_MAX, .nr_threads = 3};
	struct mk d = many();
	struct reader *r = mk_end(&d);
	struct meta *m = mk_meta(r);
	struct printed whole = print(r, (struct script_options){0}, 1);

	for (size_t left = 0; left < whole.len; left += whole.len / 9) {
		struct small_disk disk = {.left = left};
		struct script_result res;
		struct err err = ERR_INIT;
		FILE *f = fopencookie(&disk, "w", io);

		assert_non_null(f);
		setvbuf(f, NULL, _IONBF, 0);
		assert_int_equal(script_print(r, m, &opt, f, &res, &err), -ENOSPC);
		assert_non_null(strstr(err.what, "No space left"));
		/* What came before is there, in order. */
		assert_int_equal(disk.got.len, left);
		assert_memory_equal(disk.got.p ? (char *)disk.got.p : "", whole.p, left);
		fclose(f);
		buf_free(&disk.got);
	}
	free(whole.p);
	meta_free(m);
	mk_close(&d, r);
}

static void test_closed_pipe(void **state)
{
	struct script_options opt = {.to_ns = UINT64_MAX, .nr_threads = 2};
	struct script_result res;
	struct err err = ERR_INIT;
	struct mk d = many();
	struct reader *r = mk_end(&d);
	struct meta *m = mk_meta(r);
	int fd[2];
	FILE *f;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fd), 0);
	close(fd[0]);
	f = fdopen(fd[1], "w");
	assert_non_null(f);
	assert_int_equal(script_print(r, m, &opt, f, &res, &err), -EPIPE);
	fclose(f);
	meta_free(m);
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),	    cmocka_unit_test(test_limit),
		cmocka_unit_test(test_little),	    cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_much_text),   cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_closed_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
