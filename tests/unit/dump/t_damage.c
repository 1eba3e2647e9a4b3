/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * A dump cut and flipped in every way: nothing crashes or hangs, everything is noticed, and what
 * was whole is rescued. Random places are seeded: every run is the same.
 */
#include "tests/helpers/small_dump.h"

#include "dump/base/err.h"
#include "dump/file/block.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct fixture {
	struct bytes file;
	uint8_t *copy;		   /* file.len bytes, to be damaged */
	struct reader_block b[64]; /* of the whole file, the FOOTER last */
	size_t nr;		   /* without the FOOTER */
	uint64_t seed;
	uint64_t random;
};

static uint64_t next_random(struct fixture *f)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct fmt_trailer t;
	struct reader *r;

	f->random = 88172645463325252ull;
	f->file = small_dump();
	f->copy = malloc(f->file.len);
	assert_int_equal(reader_open_bytes(f->file, false, &r, NULL), 0);
	f->nr = reader_nr_blocks(r);
	for (size_t i = 0; i < f->nr; i++)
		f->b[i] = *reader_block(r, i);
	f->seed = block_seed(reader_header(r)->id);
	reader_close(r);
	memcpy(&t, f->file.p + f->file.len - sizeof(t), sizeof(t));
	f->b[f->nr].offset = t.footer_off;
	memcpy(&f->b[f->nr].h, f->file.p + t.footer_off, sizeof(f->b[0].h));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	free((void *)f->file.p);
	free(f->copy);
	free(f);
	return 0;
}

static uint64_t end_of(const struct reader_block *b)
{
	return b->offset + block_file_bytes(&b->h);
}

/* Everything a reader can do, on whatever `file` is. Blocks that could be loaded, or -1. */
static int use(struct bytes file, bool damaged)
{
	struct reader *r;
	struct buf payload = {0};
	struct meta *m;
	int loaded = 0;
	struct err err = ERR_INIT;

	if (reader_open_bytes(file, damaged, &r, &err)) {
		assert_true(err.what[0]);
		return -1;
	}
	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		loaded += !reader_load(r, i, &payload, &err);
	assert_int_equal(meta_load(r, &m, &err), 0);
	meta_free(m);
	buf_free(&payload);
	reader_close(r);
	return loaded;
}

static int check(struct bytes file, struct reader_verdict *v)
{
	struct err err = ERR_INIT;
	int rc = reader_check_bytes(file, v, NULL, NULL, &err);

	if (rc)
		assert_true(err.what[0]);
	return rc;
}

/* True when the payload of block `i` of the whole file is a block of `r`, byte for byte. */
static bool holds(struct fixture *f, struct reader *whole, struct reader *r, size_t i)
{
	struct buf want = {0}, got = {0};
	bool found = false;

	assert_int_equal(reader_load(whole, i, &want, NULL), 0);
	for (size_t k = 0; k < reader_nr_blocks(r) && !found; k++) {
		const struct fmt_block *h = &reader_block(r, k)->h;

		if (h->section != f->b[i].h.section || h->ring != f->b[i].h.ring ||
		    h->ring_off != f->b[i].h.ring_off)
			continue;
		assert_int_equal(reader_load(r, k, &got, NULL), 0);
		found = got.len == want.len && !memcmp(got.p, want.p, got.len);
	}
	buf_free(&want);
	buf_free(&got);
	return found;
}

/* Salvages `file` and holds the result against the blocks of the original that `whole` names. */
static void assert_rescued(struct fixture *f, struct bytes file, const bool *whole, size_t nr_whole)
{
	struct reader_verdict v;
	struct reader *r, *orig;
	struct bytes out;
	struct meta *m;
	int fd = small_fd();

	assert_int_equal(reader_open_bytes(file, true, &r, NULL), 0);
	if (!nr_whole) {
		assert_int_equal(reader_salvage_fd(r, fd, &v, NULL), -ENODATA);
		goto out;
	}
	assert_int_equal(reader_salvage_fd(r, fd, &v, NULL), 0);
	reader_close(r);
	out = small_slurp(fd);
	assert_int_equal(check(out, &v), 0);
	assert_int_equal(reader_open_bytes(f->file, false, &orig, NULL), 0);
	assert_int_equal(reader_open_bytes(out, false, &r, NULL), 0);
	/* And one more, that says what was missing. */
	assert_int_equal(reader_nr_blocks(r), nr_whole + 1);
	for (size_t i = 0; i < f->nr; i++)
		assert_int_equal(holds(f, orig, r, i), whole[i]);
	assert_int_equal(meta_load(r, &m, NULL), 0);
	assert_true(m->salvaged);
	assert_int_equal(m->salvage.file_bytes, file.len);
	meta_free(m);
	reader_close(orig);
	free((void *)out.p);
out:
	reader_close(r);
	close(fd);
}

/* ---- cutting ---- */

static void assert_cut(struct fixture *f, uint64_t at, bool salvage)
{
	/* In memory that ends there, so that a sanitizer sees one byte too far. */
	uint8_t *mem = malloc(at ? at : 1);
	struct bytes cut = {mem, at};
	struct reader_verdict v;
	bool whole[64] = {0};
	size_t nr_whole = 0;

	memcpy(mem, f->file.p, at);
	for (size_t i = 0; i < f->nr; i++) {
		whole[i] = end_of(&f->b[i]) <= at;
		nr_whole += whole[i];
	}
	assert_int_equal(use(cut, false), -1);
	assert_int_equal(check(cut, &v), -EBADMSG);
	if (at < sizeof(struct fmt_header)) {
		assert_int_equal(use(cut, true), -1);
	} else {
		assert_int_equal(use(cut, true), nr_whole);
		assert_false(v.committed);
		if (salvage)
			assert_rescued(f, cut, whole, nr_whole);
	}
	free(mem);
}

static void cut_at_every_block_boundary(void **state)
{
	struct fixture *f = *state;

	assert_cut(f, 0, true);
	assert_cut(f, 4, true);
	assert_cut(f, sizeof(struct fmt_header), true);
	for (size_t i = 0; i <= f->nr; i++) {
		assert_cut(f, f->b[i].offset, true);
		assert_cut(f, f->b[i].offset + sizeof(struct fmt_block), true);
		assert_cut(f, end_of(&f->b[i]) - 1, true);
		assert_cut(f, end_of(&f->b[i]), true);
	}
	assert_cut(f, f->file.len - 1, true);
}

static void cut_at_1000_random_offsets(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 1000; i++)
		assert_cut(f, next_random(f) % f->file.len, i % 10 == 0);
}

/* ---- flipping ---- */

static struct bytes flipped(struct fixture *f, size_t at, uint8_t mask)
{
	memcpy(f->copy, f->file.p, f->file.len);
	f->copy[at] ^= mask;
	return (struct bytes){f->copy, f->file.len};
}

/* Which blocks of the original a byte at `at` is not part of. */
static size_t blocks_without(const struct fixture *f, size_t at, bool *whole)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr; i++) {
		whole[i] = at < f->b[i].offset || at >= end_of(&f->b[i]);
		nr += whole[i];
	}
	return nr;
}

static void every_flipped_byte_is_noticed_and_costs_one_block(void **state)
{
	struct fixture *f = *state;

	for (size_t at = 0; at < f->file.len; at++) {
		struct bytes file = flipped(f, at, (uint8_t)(1 << at % 8));
		struct reader_verdict v;
		bool whole[64];
		size_t nr_whole = blocks_without(f, at, whole);

		assert_int_equal(check(file, &v), -EBADMSG);
		assert_int_equal(use(file, true), nr_whole);
		if (at % 29 == 0)
			assert_rescued(f, file, whole, nr_whole);
	}
}

static void flip_10000_random_bytes(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 10000; i++) {
		uint64_t x = next_random(f);
		size_t at = (x >> 8) % f->file.len;
		struct bytes file = flipped(f, at, (uint8_t)(x | 1));
		struct reader_verdict v;
		bool whole[64];

		assert_int_equal(check(file, &v), -EBADMSG);
		use(file, false);
		assert_int_equal(use(file, true), blocks_without(f, at, whole));
	}
}

/* Twenty at once: no crash, noticed, and what is rescued passes its own check. */
static void flip_many_bytes_at_once(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 500; i++) {
		struct bytes file = flipped(f, 0, 0), out;
		struct reader_verdict v;
		struct reader *r;
		int fd = small_fd();

		for (int k = 0; k < 20; k++)
			f->copy[next_random(f) % f->file.len] ^= (uint8_t)(next_random(f) | 1);
		use(file, false);
		use(file, true);
		assert_int_equal(check(file, &v), -EBADMSG);
		if (!reader_open_bytes(file, true, &r, NULL)) {
			if (!reader_salvage_fd(r, fd, &v, NULL)) {
				out = small_slurp(fd);
				assert_int_equal(check(out, &v), 0);
				free((void *)out.p);
			}
			reader_close(r);
		}
		close(fd);
	}
}

static void zeroed_sectors(void **state)
{
	struct fixture *f = *state;

	for (size_t from = 0; from < f->file.len; from += 256) {
		struct bytes file = flipped(f, 0, 0);
		size_t n = f->file.len - from < 512 ? f->file.len - from : 512, nr_whole = 0;
		struct reader_verdict v;
		bool whole[64];

		memset(f->copy + from, 0, n);
		for (size_t i = 0; i < f->nr; i++) {
			whole[i] = end_of(&f->b[i]) <= from || f->b[i].offset >= from + n;
			nr_whole += whole[i];
		}
		assert_int_equal(check(file, &v), -EBADMSG);
		assert_int_equal(use(file, true), nr_whole);
		assert_rescued(f, file, whole, nr_whole);
	}
}

static void bytes_too_many_are_noticed(void **state)
{
	struct fixture *f = *state;
	struct reader_verdict v;
	uint8_t *longer = calloc(1, f->file.len + 8);

	memcpy(longer, f->file.p, f->file.len);
	for (size_t n = 1; n <= 8; n++)
		assert_int_equal(check((struct bytes){longer, f->file.len + n}, &v), -EBADMSG);
	free(longer);
}

/* ---- lies under right hashes ---- */

/* Changes a block's header and makes its hash right again. */
static void reseal(struct fixture *f, size_t i, void (*change)(struct fmt_block *h))
{
	struct fmt_block h;

	memcpy(&h, f->copy + f->b[i].offset, sizeof(h));
	change(&h);
	block_seal(&h, f->seed);
	memcpy(f->copy + f->b[i].offset, &h, sizeof(h));
}

static void lie_about_payload(struct fmt_block *h)
{
	h->payload_bytes = h->content_bytes = FMT_MAX_BLOCK_BYTES;
}

static void lie_about_stored(struct fmt_block *h)
{
	h->stored_bytes = FMT_MAX_STORED_BYTES;
}

static void lie_about_records(struct fmt_block *h)
{
	h->nr_records++;
}

static void lie_about_ring(struct fmt_block *h)
{
	h->ring ^= 1;
}

static void lie_about_seq(struct fmt_block *h)
{
	h->seq = UINT32_MAX;
}

static void headers_that_lie_are_noticed(void **state)
{
	static void (*const lies[])(struct fmt_block * h) = {
		lie_about_payload, lie_about_stored, lie_about_records,
		lie_about_ring,	   lie_about_seq,
	};
	struct fixture *f = *state;

	for (size_t i = 0; i <= f->nr; i++) {
		for (size_t k = 0; k < sizeof(lies) / sizeof(lies[0]); k++) {
			struct bytes file = flipped(f, 0, 0);
			struct reader_verdict v;

			reseal(f, i, lies[k]);
			assert_int_equal(check(file, &v), -EBADMSG);
			use(file, false);
			use(file, true);
		}
	}
}

/* ---- what people are told ---- */

static void expect_error(struct bytes file, const char *what, const char *hint)
{
	struct err err = ERR_INIT;
	struct reader *r;

	assert_int_equal(reader_open_bytes(file, false, &r, &err), -EBADMSG);
	if (!strstr(err.what, what) || !strstr(err.hint, hint))
		fail_msg("'%s' / '%s' does not say '%s' / '%s'", err.what, err.hint, what, hint);
}

static void errors_tell_the_cases_apart(void **state)
{
	struct fixture *f = *state;
	struct fmt_header h;
	struct bytes file;

	expect_error((struct bytes){(const uint8_t *)"", 0}, "is empty", "");
	expect_error((struct bytes){(const uint8_t *)"#!/bin/sh\n", 10}, "is not a ringback dump",
		     "*.rbd");
	expect_error((struct bytes){f->file.p, f->b[3].offset}, "was not finished", "--salvage");
	expect_error((struct bytes){f->file.p, f->file.len - 1}, "was not finished", "--salvage");
	expect_error((struct bytes){f->file.p, 20}, "was not finished", "");
	expect_error(flipped(f, 9, 1), "damaged header", "--salvage");
	expect_error(flipped(f, f->file.len - 1, 1), "damaged trailer", "--salvage");
	expect_error(flipped(f, f->file.len - 12, 1), "damaged trailer", "--salvage");
	expect_error(flipped(f, f->b[f->nr].offset + 3, 1), "footer", "--salvage");

	file = flipped(f, 0, 0);
	memcpy(&h, f->copy, sizeof(h));
	h.version = 7;
	h.hash = block_hash(&h, offsetof(struct fmt_header, hash), 0);
	memcpy(f->copy, &h, sizeof(h));
	expect_error(file, "version 7", "newer ringback");
}

static void only_regular_files_are_opened(void **state)
{
	char dir[] = "/tmp/t_damage.XXXXXX", fifo[64];
	struct err err = ERR_INIT;
	struct reader *r;

	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(reader_open(fifo, &r, &err), -EINVAL);
	assert_non_null(strstr(err.what, "not a regular file"));
	assert_int_equal(reader_open("/dev/zero", &r, &err), -EINVAL);
	assert_int_equal(reader_open_damaged(dir, &r, &err), -EISDIR);
	unlink(fifo);
	assert_int_equal(reader_open(fifo, &r, &err), -ENOENT);
	rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_block_boundary),
		cmocka_unit_test(cut_at_1000_random_offsets),
		cmocka_unit_test(every_flipped_byte_is_noticed_and_costs_one_block),
		cmocka_unit_test(flip_10000_random_bytes),
		cmocka_unit_test(flip_many_bytes_at_once),
		cmocka_unit_test(zeroed_sectors),
		cmocka_unit_test(bytes_too_many_are_noticed),
		cmocka_unit_test(headers_that_lie_are_noticed),
		cmocka_unit_test(errors_tell_the_cases_apart),
		cmocka_unit_test(only_regular_files_are_opened),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
