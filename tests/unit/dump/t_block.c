/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* Blocks: what is packed comes back, and nothing that was changed does. */
#include "dump/base/err.h"
#include "dump/file/block.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED 0x1234567890abcdefull

struct fixture {
	struct block_packer *packer;
	struct block_unpacker *unpacker;
	struct buf out;
	uint8_t *big; /* FMT_MAX_BLOCK_BYTES + 8 of noise */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint64_t x = 88172645463325252ull;

	assert_int_equal(block_packer_new(FMT_MAX_BLOCK_BYTES, BLOCK_FAST, &f->packer, NULL), 0);
	assert_int_equal(block_unpacker_new(&f->unpacker, NULL), 0);
	f->big = malloc(FMT_MAX_BLOCK_BYTES + 8);
	for (size_t i = 0; i < FMT_MAX_BLOCK_BYTES + 8; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(f->big + i, &x, 8);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	block_packer_free(f->packer);
	block_packer_free(NULL);
	block_unpacker_free(f->unpacker);
	block_unpacker_free(NULL);
	buf_free(&f->out);
	free(f->big);
	free(f);
	return 0;
}

static struct fmt_block header(size_t bytes)
{
	return (struct fmt_block){
		.section = FMT_RECORDS,
		.encoding = FMT_ENC_RAW,
		.seq = 3,
		.ring = 1,
		.content_bytes = (uint32_t)bytes,
	};
}

/* Packs, looks at the block as a reader would, and unpacks. */
static void round_trip(struct fixture *f, const struct bytes *pieces, int nr)
{
	size_t total = 0;
	struct fmt_block h, got;
	struct bytes block;

	for (int i = 0; i < nr; i++)
		total += pieces[i].len;
	h = header(total);
	assert_int_equal(block_pack(f->packer, SEED, &h, pieces, nr, &block), 0);
	assert_int_equal(block.len % 8, 0);
	assert_int_equal(bytes_get(&block, &got, sizeof(got)), true);
	assert_memory_equal(&got, &h, sizeof(h));
	assert_true(block_header_valid(&got, SEED));
	assert_false(block_header_valid(&got, SEED + 1));
	assert_int_equal(block_file_bytes(&got), sizeof(got) + block.len);
	assert_int_equal(got.payload_bytes, total);
	assert_int_equal(block_unpack(f->unpacker, &got, SEED, block, &f->out, NULL), 0);
	assert_int_equal(f->out.len, total);
	for (int i = 0, off = 0; i < nr; off += (int)pieces[i++].len)
		assert_memory_equal(f->out.p + off, pieces[i].p, pieces[i].len);
}

static void packs_and_unpacks(void **state)
{
	static const size_t lens[] = {1,
				      7,
				      8,
				      100,
				      65536,
				      65537,
				      FMT_BLOCK_BYTES,
				      FMT_BLOCK_BYTES + 1,
				      FMT_MAX_BLOCK_BYTES};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct bytes one = {f->big, lens[i]};
		struct bytes two[2] = {{f->big, lens[i] / 3}, {f->big + lens[i] / 3, 0}};

		two[1].len = lens[i] - two[0].len;
		round_trip(f, &one, 1);
		round_trip(f, two, 2);
	}
}

static void packs_nothing(void **state)
{
	struct bytes none = {(const uint8_t *)"", 0};

	round_trip(*state, &none, 1);
	round_trip(*state, NULL, 0);
}

static void compresses(void **state)
{
	struct fixture *f = *state;
	uint8_t *zeros = calloc(1, FMT_BLOCK_BYTES);
	struct bytes piece = {zeros, FMT_BLOCK_BYTES}, block;
	struct fmt_block h = header(FMT_BLOCK_BYTES);

	assert_int_equal(block_pack(f->packer, SEED, &h, &piece, 1, &block), 0);
	assert_in_range(block.len, 1, FMT_BLOCK_BYTES / 100);
	free(zeros);
}

static void refuses_too_much(void **state)
{
	struct fixture *f = *state;
	struct bytes two[2] = {{f->big, FMT_MAX_BLOCK_BYTES}, {f->big, 1}}, block;
	struct fmt_block h = header(0);

	assert_int_equal(block_pack(f->packer, SEED, &h, two, 2, &block), -E2BIG);
}

static void a_small_packer_takes_its_share_and_no_more(void **state)
{
	struct fixture *f = *state;

	for (int level = BLOCK_FAST; level <= BLOCK_HIGH; level++) {
		struct bytes all = {f->big, 1 << 20}, two[2], block;
		struct block_packer *p;
		struct fmt_block h;

		assert_int_equal(block_packer_new(1 << 20, (enum block_level)level, &p, NULL), 0);
		/* However noise is cut in two, there is room for its frame. */
		for (size_t cut = 1; cut < 1 << 20; cut += 65521) {
			two[0] = (struct bytes){f->big, cut};
			two[1] = (struct bytes){f->big + cut, (1 << 20) - cut};
			h = header(1 << 20);
			assert_int_equal(block_pack(p, SEED, &h, two, 2, &block), 0);
			block.p += sizeof(h);
			block.len -= sizeof(h);
			assert_int_equal(block_unpack(f->unpacker, &h, SEED, block, &f->out, NULL),
					 0);
			assert_memory_equal(f->out.p, f->big, 1 << 20);
		}
		all.len++;
		assert_int_equal(block_pack(p, SEED, &h, &all, 1, &block), -E2BIG);
		block_packer_free(p);
	}
}

/* With a sanitizer's allocator the numbers are 0, and equal. */
static void packing_allocates_nothing(void **state)
{
	struct fixture *f = *state;

	for (int level = BLOCK_FAST; level <= BLOCK_HIGH; level++) {
		struct bytes piece = {f->big, 1 << 20}, block;
		struct fmt_block h = header(1 << 20);
		struct mallinfo2 before;
		struct block_packer *p;

		assert_int_equal(block_packer_new(1 << 20, (enum block_level)level, &p, NULL), 0);
		before = mallinfo2();
		assert_int_equal(block_pack(p, SEED, &h, &piece, 1, &block), 0);
		assert_int_equal(mallinfo2().uordblks, before.uordblks);
		assert_int_equal(mallinfo2().hblkhd, before.hblkhd);
		block_packer_free(p);
	}
}

static void more_time_makes_it_smaller(void **state)
{
	uint8_t *numbers = calloc(1, 1 << 20);
	size_t len[2];

	/* Ascending numbers: there are matches, and better ones after a longer search. */
	for (size_t i = 0; i + 8 <= 1 << 20; i += 8)
		memcpy(numbers + i, &(size_t){i * i >> 7}, 8);
	for (int level = BLOCK_FAST; level <= BLOCK_HIGH; level++) {
		struct bytes piece = {numbers, 1 << 20}, block;
		struct fmt_block h = header(1 << 20);
		struct block_packer *p;

		assert_int_equal(block_packer_new(1 << 20, (enum block_level)level, &p, NULL), 0);
		assert_int_equal(block_pack(p, SEED, &h, &piece, 1, &block), 0);
		len[level] = block.len;
		block_packer_free(p);
	}
	assert_true(len[BLOCK_HIGH] < len[BLOCK_FAST]);
	free(numbers);
}

static void header_bounds_lengths(void **state)
{
	struct fmt_block h = header(8);

	h.magic = FMT_BLOCK_MAGIC;
	block_seal(&h, SEED);
	assert_true(block_header_valid(&h, SEED));
	h.payload_bytes = FMT_MAX_BLOCK_BYTES + 1;
	block_seal(&h, SEED);
	assert_false(block_header_valid(&h, SEED));
	h.payload_bytes = 8;
	h.stored_bytes = FMT_MAX_STORED_BYTES + 1;
	block_seal(&h, SEED);
	assert_false(block_header_valid(&h, SEED));
	h.stored_bytes = UINT32_MAX;
	block_seal(&h, SEED);
	assert_false(block_header_valid(&h, SEED));
}

static void every_flipped_byte_is_found(void **state)
{
	struct fixture *f = *state;
	struct bytes piece = {f->big, 1000}, block;
	struct fmt_block h = header(1000);
	uint8_t *copy;

	assert_int_equal(block_pack(f->packer, SEED, &h, &piece, 1, &block), 0);
	copy = malloc(block.len);
	for (size_t i = 0; i < block.len; i++) {
		struct bytes stored = {copy + sizeof(h), block.len - sizeof(h)};
		struct fmt_block got;

		memcpy(copy, block.p, block.len);
		copy[i] ^= (uint8_t)(1 << i % 8);
		memcpy(&got, copy, sizeof(got));
		if (i < sizeof(got))
			assert_false(block_header_valid(&got, SEED));
		else
			assert_int_equal(
				block_unpack(f->unpacker, &got, SEED, stored, &f->out, NULL),
				-EBADMSG);
	}
	free(copy);
}

/* With right hashes over wrong content, what LZ4 says must still agree with the header. */
static void frame_must_agree_with_header(void **state)
{
	struct fixture *f = *state;
	struct bytes piece = {f->big, 1000}, block, stored;
	struct fmt_block h = header(1000);
	struct err err = ERR_INIT;
	uint8_t *copy;

	assert_int_equal(block_pack(f->packer, SEED, &h, &piece, 1, &block), 0);
	copy = malloc(block.len);
	memcpy(copy, block.p, block.len);
	stored = (struct bytes){copy + sizeof(h), block.len - sizeof(h)};

	h.payload_bytes = h.content_bytes = 999;
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), -EBADMSG);
	assert_non_null(strstr(err.what, "LZ4 frame"));
	h.payload_bytes = h.content_bytes = 1000;
	copy[sizeof(h)] ^= 1;
	h.stored_hash = block_hash(stored.p, stored.len, SEED);
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), -EBADMSG);
	copy[sizeof(h)] ^= 1;
	copy[sizeof(h) + 500] ^= 1;
	h.stored_hash = block_hash(stored.p, stored.len, SEED);
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), -EBADMSG);
	/* Without thorough mode a wrong content checksum is not noticed. */
	block_unpacker_thorough(f->unpacker, false);
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), 0);
	block_unpacker_thorough(f->unpacker, true);
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), -EBADMSG);
	free(copy);
}

static void refuses_flags_of_a_later_version(void **state)
{
	struct fixture *f = *state;
	struct bytes piece = {f->big, 64}, block, stored;
	struct fmt_block h = header(64);
	struct err err = ERR_INIT;

	assert_int_equal(block_pack(f->packer, SEED, &h, &piece, 1, &block), 0);
	stored = (struct bytes){block.p + sizeof(h), block.len - sizeof(h)};
	h.flags = 1;
	assert_int_equal(block_unpack(f->unpacker, &h, SEED, stored, &f->out, &err), -EBADMSG);
	assert_non_null(strstr(err.what, "newer format"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_and_unpacks),
		cmocka_unit_test(packs_nothing),
		cmocka_unit_test(compresses),
		cmocka_unit_test(refuses_too_much),
		cmocka_unit_test(a_small_packer_takes_its_share_and_no_more),
		cmocka_unit_test(packing_allocates_nothing),
		cmocka_unit_test(more_time_makes_it_smaller),
		cmocka_unit_test(header_bounds_lengths),
		cmocka_unit_test(every_flipped_byte_is_found),
		cmocka_unit_test(frame_must_agree_with_header),
		cmocka_unit_test(refuses_flags_of_a_later_version),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
