/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* The writer, held against the reader: what goes in comes out, in order; failures are final. */
#include "tests/helpers/small_dump.h"

#include "dump/base/err.h"
#include "dump/base/sanitized.h"
#include "dump/file/block.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#if !SANITIZED
/* glibc's own entries, so that this program can stand before them and count, liblz4's calls too. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t nr, size_t n);
void *__libc_realloc(void *p, size_t n);
static unsigned long nr_allocations;

void *malloc(size_t n)
{
	nr_allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t nr, size_t n)
{
	nr_allocations++;
	return __libc_calloc(nr, n);
}

void *realloc(void *p, size_t n)
{
	nr_allocations++;
	return __libc_realloc(p, n);
}
#endif

static struct writer *new_writer(uint32_t max_blocks)
{
	struct writer_options opt = {.max_blocks = max_blocks};
	struct writer *w;

	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	return w;
}

static struct reader *open_bytes(struct bytes file)
{
	struct err err = ERR_INIT;
	struct reader *r = NULL;

	if (reader_open_bytes(file, false, &r, &err))
		fail_msg("%s", err.what);
	return r;
}

static void assert_whole(struct bytes file)
{
	struct reader_verdict v;
	struct err err = ERR_INIT;

	assert_int_equal(reader_check_bytes(file, &v, NULL, NULL, &err), 0);
	assert_true(v.committed);
	assert_int_equal(v.nr_bad_blocks, 0);
	assert_int_equal(v.unclaimed_bytes, 0);
}

static void sections_come_back_in_order(void **state)
{
	static const uint16_t want[] = {
		FMT_HOST,    FMT_TRIGGER, FMT_CHANNELS, FMT_FORMATS, FMT_WINDOWS,
		FMT_LEDGER,  FMT_RECORDS, FMT_RECORDS,	FMT_RECORDS, FMT_RECORDS,
		FMT_RECORDS, FMT_RECORDS, FMT_RECORDS,	FMT_STATS,
	};
	struct bytes file = small_dump();
	struct reader *r = open_bytes(file);

	assert_true(reader_committed(r));
	assert_int_equal(reader_file_bytes(r), file.len);
	assert_int_equal(reader_header(r)->created_real_ns, 1700000000000000000);
	assert_int_equal(reader_nr_blocks(r), sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		assert_int_equal(reader_block(r, i)->h.section, want[i]);
	reader_close(r);
	assert_whole(file);
	free((void *)file.p);
}

static void records_come_back_bit_for_bit(void **state)
{
	struct bytes file = small_dump();
	struct reader *r = open_bytes(file);
	struct buf payload = {0};
	uint64_t time[2] = {10000, 10000};
	uint32_t nr[2] = {0};

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct reader_block *b = reader_block(r, i);
		uint32_t ring = b->h.ring;

		if (b->h.section != FMT_RECORDS)
			continue;
		assert_int_equal(reader_load(r, i, &payload, NULL), 0);
		assert_int_equal(payload.len, 8 * sizeof(struct small_sample));
		assert_int_equal(b->h.ring_off, nr[ring] * sizeof(struct small_sample));
		assert_true(b->h.hash && b->h.stored_hash);
		for (size_t k = 0; k < 8; k++) {
			struct small_sample want =
				small_sample(time[ring] -= 10, 7, ring * 1000 + nr[ring]++);

			assert_memory_equal(payload.p + k * sizeof(want), &want, sizeof(want));
		}
		assert_int_equal(b->h.first_ns, time[ring]);
	}
	assert_int_equal(nr[0], 32);
	assert_int_equal(nr[1], 24);
	buf_free(&payload);
	reader_close(r);
	free((void *)file.p);
}

/* Items of many sizes: each is found again, in order, with its bytes; new_block says where one
 * began. */
static void items_come_back(void **state)
{
	enum { NR = 3000 };
	struct writer *w = new_writer(64);
	int fd = small_fd();
	struct buf payload = {0};
	struct reader *r;
	struct bytes file, item, rest;
	uint64_t n;
	uint8_t noise[2000];
	uint16_t kind;
	bool fresh, broken = false;
	unsigned nr = 0, nr_fresh = 0;

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 7 + i / 13);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(writer_section(w, FMT_LEDGER), 0);
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(writer_item(w, 5, &i, 4, noise, i % 1999, &fresh), 0);
		nr_fresh += fresh;
	}
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	file = small_slurp(fd);
	assert_whole(file);
	r = open_bytes(file);
	assert_true(reader_nr_blocks(r) > 5);
	assert_int_equal(reader_nr_blocks(r), nr_fresh);
	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		assert_int_equal(reader_load(r, i, &payload, NULL), 0);
		assert_true(payload.len <= FMT_BLOCK_BYTES);
		rest = (struct bytes){payload.p, payload.len};
		while (reader_next_item(&rest, &kind, &item, &broken)) {
			assert_int_equal(kind, 5);
			assert_int_equal(item.len, 4 + nr % 1999);
			assert_memory_equal(item.p, &nr, 4);
			assert_memory_equal(item.p + 4, noise, nr % 1999);
			nr++;
		}
		assert_false(broken);
	}
	assert_int_equal(nr, NR);
	buf_free(&payload);
	reader_close(r);
	writer_free(w);
	free((void *)file.p);
	close(fd);
}

static void a_large_item_has_a_block_of_its_own(void **state)
{
	struct writer *w = new_writer(8);
	size_t big = FMT_MAX_BLOCK_BYTES - sizeof(struct fmt_item);
	uint8_t *text = calloc(1, big + 1);
	int fd = small_fd();
	struct bytes file;
	struct reader *r;
	uint64_t n;
	bool fresh;

	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(writer_section(w, FMT_FORMATS), 0);
	assert_int_equal(writer_item(w, 2, NULL, 0, "a", 1, &fresh), 0);
	assert_true(fresh);
	assert_int_equal(writer_item(w, 2, NULL, 0, text, big, &fresh), 0);
	assert_true(fresh);
	assert_int_equal(writer_item(w, 2, NULL, 0, "b", 1, &fresh), 0);
	assert_true(fresh);
	assert_int_equal(writer_item(w, 2, NULL, 0, "c", 1, &fresh), 0);
	assert_false(fresh);
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	file = small_slurp(fd);
	assert_whole(file);
	r = open_bytes(file);
	assert_int_equal(reader_nr_blocks(r), 3);
	assert_int_equal(reader_block(r, 1)->h.payload_bytes, FMT_MAX_BLOCK_BYTES);
	assert_int_equal(reader_block(r, 2)->h.nr_records, 2);
	reader_close(r);

	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(writer_section(w, FMT_FORMATS), 0);
	assert_int_equal(writer_item(w, 2, NULL, 0, text, big + 1, NULL), -E2BIG);
	writer_free(w);
	free(text);
	free((void *)file.p);
	close(fd);
}

static void an_empty_dump_is_a_dump(void **state)
{
	struct writer *w = new_writer(1);
	int fd = small_fd();
	struct bytes file;
	struct reader *r;
	uint64_t n;

	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	file = small_slurp(fd);
	assert_whole(file);
	r = open_bytes(file);
	assert_int_equal(reader_nr_blocks(r), 0);
	reader_close(r);
	writer_free(w);
	free((void *)file.p);
	close(fd);
}

/* One writer, dump after dump, also after one that failed; each has an id of its own. */
static void one_writer_makes_many_dumps(void **state)
{
	struct writer *w = new_writer(64);
	uint8_t last_id[16] = {0};
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err err = ERR_INIT;
	uint64_t n;

	for (int i = 0; i < 5; i++) {
		int fd = small_fd();
		struct bytes file;

		assert_int_equal(writer_begin(w, full, 1, &err), -ENOSPC);
		assert_non_null(strstr(err.what, "No space left"));
		assert_int_equal(writer_section(w, FMT_HOST), -ENOSPC);
		assert_int_equal(writer_finish(w, &n, NULL), -ENOSPC);

		assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
		assert_memory_not_equal(writer_id(w), last_id, 16);
		memcpy(last_id, writer_id(w), 16);
		small_host(w);
		small_records(w, 0, 3);
		assert_int_equal(writer_finish(w, &n, NULL), 0);
		file = small_slurp(fd);
		assert_int_equal(file.len, n);
		assert_whole(file);
		free((void *)file.p);
		close(fd);
	}
	writer_free(w);
	close(full);
}

static void max_blocks_is_a_limit(void **state)
{
	struct writer *w = new_writer(3);
	struct small_sample s = small_sample(1, 2, 3);
	struct writer_run run = {
		.encoding = FMT_ENC_RAW, .content_bytes = sizeof(s), .nr_records = 1};
	struct bytes piece = {(uint8_t *)&s, sizeof(s)};
	struct writer_options none = {0}, many = {.max_blocks = FMT_MAX_BLOCKS + 1};
	struct writer *never;
	int fd = small_fd();
	struct err err = ERR_INIT;
	uint64_t n;

	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(writer_records(w, &run, &piece, 1), 0);
	assert_int_equal(writer_records(w, &run, &piece, 1), -E2BIG);
	assert_int_equal(writer_finish(w, &n, &err), -E2BIG);
	assert_non_null(strstr(err.what, "more than 3 blocks"));
	writer_free(w);
	close(fd);
	assert_int_equal(writer_new(&none, &never, NULL), -EINVAL);
	assert_int_equal(writer_new(&many, &never, NULL), -EINVAL);
}

struct quota {
	uint64_t limit, asked, file_bytes;
};

static int room(void *ctx, uint64_t file_bytes, uint64_t bytes, struct err *err)
{
	struct quota *q = ctx;

	assert_int_equal(file_bytes, q->file_bytes); /* all that was asked for so far is written */
	if (file_bytes + bytes > q->limit)
		return err_set(err, -ENOSPC, "no room for %llu bytes", (unsigned long long)bytes);
	q->asked += bytes;
	q->file_bytes += bytes;
	return 0;
}

static void room_is_asked_before_each_write(void **state)
{
	struct quota q = {.limit = UINT64_MAX};
	struct writer_options opt = {.max_blocks = 64, .room = room, .ctx = &q};
	struct err err = ERR_INIT;
	struct writer *w;
	int fd = small_fd();
	uint64_t n, whole;

	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	small_host(w);
	assert_int_equal(writer_finish(w, &whole, NULL), 0);
	assert_int_equal(q.asked, whole);

	for (uint64_t limit = 0; limit < whole; limit += 8) {
		struct stat st;

		q = (struct quota){.limit = limit};
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		err = (struct err)ERR_INIT;
		if (!writer_begin(w, fd, 1, &err))
			small_host(w);
		assert_int_equal(writer_finish(w, &n, limit < 64 ? NULL : &err), -ENOSPC);
		assert_non_null(strstr(err.what, "no room for"));
		fstat(fd, &st);
		assert_true((uint64_t)st.st_size <= limit);
	}
	writer_free(w);
	close(fd);
}

/* The beginning of a small dump, until the quota is used up. Returns what the file's length was when
 * it last ended with a whole block. */
static uint64_t write_within(struct writer *w, const struct quota *q, int fd)
{
	struct small_sample s;
	struct bytes piece = {(uint8_t *)&s, sizeof(s)};
	struct writer_run run = {
		.encoding = FMT_ENC_RAW, .content_bytes = sizeof(s), .nr_records = 1};
	uint64_t whole = 0;

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (writer_begin(w, fd, 1, NULL))
		return 0;
	for (uint32_t i = 0; i < 64 && !writer_error(w, NULL); i++) {
		whole = q->file_bytes;
		s = small_sample(9000 - i, 7, i);
		run.ring = i % 2;
		run.first_ns = run.last_ns = s.time;
		if (i == 0)
			small_host(w);
		else
			writer_records(w, &run, &piece, 1);
	}
	return whole;
}

static void assert_cut(struct writer *w, int fd)
{
	struct bytes file;
	struct reader *r;
	struct meta *m;
	uint64_t n;

	assert_int_equal(writer_section(w, FMT_STATS), 0);
	writer_item(w, FMT_STATS_CUT, NULL, 0, "disk full", 9, NULL);
	assert_int_equal(writer_finish(w, &n, NULL), 0);
	file = small_slurp(fd);
	assert_int_equal(file.len, n);
	assert_whole(file);
	r = open_bytes(file);
	assert_int_equal(meta_load(r, &m, NULL), 0);
	assert_string_equal(m->cut, "disk full");
	assert_string_equal(m->hostname, "testhost");
	meta_free(m);
	reader_close(r);
	free((void *)file.p);
}

static void a_dump_that_failed_is_cut_to_whole_blocks_and_ended(void **state)
{
	struct quota q;
	struct writer_options opt = {.max_blocks = 64, .room = room, .ctx = &q};
	struct writer *w;
	int fd = small_fd();

	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	for (uint64_t limit = 0; limit < 6000; limit += 72) {
		uint64_t whole;
		bool has_records;

		q = (struct quota){.limit = limit};
		whole = write_within(w, &q, fd);
		has_records = writer_nr_blocks(w) > 1;
		assert_int_equal(writer_cut(w, 0), has_records ? 0 : -ENODATA);
		if (!has_records)
			continue;
		assert_int_equal(lseek(fd, 0, SEEK_END), whole);
		q = (struct quota){.limit = UINT64_MAX, .file_bytes = whole};
		assert_cut(w, fd);
	}
	writer_free(w);
	close(fd);
}

/* The end takes the place of the oldest records, in a file that may not grow. */
static void room_for_the_end_is_cut_off_the_oldest_records(void **state)
{
	struct quota q = {.limit = 6000};
	struct writer_options opt = {.max_blocks = 128, .room = room, .ctx = &q};
	struct writer *w;
	int fd = small_fd();
	size_t nr, left;

	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	write_within(w, &q, fd);
	nr = writer_nr_blocks(w);
	assert_int_equal(writer_cut(w, 300), 0);
	left = writer_nr_blocks(w);
	assert_in_range(left, nr / 2, nr - 2);
	assert_int_equal(writer_block(w, left - 1)->section, FMT_RECORDS);
	q.file_bytes = (uint64_t)lseek(fd, 0, SEEK_CUR);
	assert_cut(w, fd);
	assert_true(lseek(fd, 0, SEEK_END) <= 6000);

	q = (struct quota){.limit = 6000};
	write_within(w, &q, fd);
	assert_int_equal(writer_cut(w, 1 << 20), 0);
	assert_int_equal(writer_nr_blocks(w), nr - (nr - 1) / 2);
	writer_free(w);
	close(fd);
}

/* A file size limit makes write(2) short, then fail: what is there is a prefix, never a whole dump.
 */
static void short_writes_go_on_or_fail(void **state)
{
	char path[] = "/tmp/t_writer.XXXXXX";
	int fd = mkstemp(path), status;
	pid_t child;

	assert_true(fd >= 0);
	unlink(path);
	child = fork();
	if (!child) {
		struct rlimit limit = {300, 300};
		struct writer *w = new_writer(64);
		uint64_t n;
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		rc = writer_begin(w, fd, 1, NULL);
		if (!rc)
			small_host(w);
		rc = writer_finish(w, &n, NULL);
		writer_free(w);
		_exit(rc == -EFBIG ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 300);
	close(fd);
}

#if !SANITIZED
static void nothing_is_allocated_while_a_dump_is_written(void **state)
{
	struct writer *w = new_writer(4096);
	uint8_t *noise = malloc(FMT_MAX_BLOCK_BYTES);
	struct writer_run run = {
		.encoding = FMT_ENC_RAW,
		.content_bytes = FMT_MAX_BLOCK_BYTES,
		.nr_records = 1,
	};
	struct bytes pieces[2] = {{noise, 1000000},
				  {noise + 1000000, FMT_MAX_BLOCK_BYTES - 1000000}};
	int fd = small_fd();
	unsigned long before;
	uint64_t n;
	int rc = 0;

	for (size_t i = 0; i < FMT_MAX_BLOCK_BYTES; i++)
		noise[i] = (uint8_t)((i * 2654435761u) >> 13);
	before = nr_allocations;
	rc |= writer_begin(w, fd, 1, NULL);
	small_host(w);
	small_channels(w);
	small_records(w, 0, 100);
	rc |= writer_records(w, &run, pieces, 2);
	small_records(w, 1, 100);
	small_stats(w);
	rc |= writer_finish(w, &n, NULL);
	assert_int_equal(nr_allocations, before);
	assert_int_equal(rc, 0);
	assert_true(before > 0);
	free(noise);
	writer_free(w);
	close(fd);
}
#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_come_back_in_order),
		cmocka_unit_test(records_come_back_bit_for_bit),
		cmocka_unit_test(items_come_back),
		cmocka_unit_test(a_large_item_has_a_block_of_its_own),
		cmocka_unit_test(an_empty_dump_is_a_dump),
		cmocka_unit_test(one_writer_makes_many_dumps),
		cmocka_unit_test(max_blocks_is_a_limit),
		cmocka_unit_test(room_is_asked_before_each_write),
		cmocka_unit_test(a_dump_that_failed_is_cut_to_whole_blocks_and_ended),
		cmocka_unit_test(room_for_the_end_is_cut_off_the_oldest_records),
		cmocka_unit_test(short_writes_go_on_or_fail),
#if !SANITIZED
		cmocka_unit_test(nothing_is_allocated_while_a_dump_is_written),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
