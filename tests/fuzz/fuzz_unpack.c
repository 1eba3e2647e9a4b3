// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for unpack.h: any bytes as a payload of packed records, with a header that says how
 * many records and bytes there are, as a block's header would. Asked for parts in an order that
 * follows from the input, and twice, since what was unpacked is kept.
 *
 *	build/tests/tool_golden seeds CORPUS && build/fuzz/fuzz_unpack CORPUS
 */
#include "dump/format/format.h"
#include "dump/packed/unpack.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rc(int rc)
{
	assert(!rc || rc == -EBADMSG || rc == -ENOMEM);
}

/* What is said of a record's words, wherever they are. */
static void ask_words(struct unpacker *u, uint32_t i, uint32_t bytes)
{
	assert(unpack_template(u, i) < unpack_nr_templates(u));
	for (uint32_t off = 0; off < bytes && off < 512; off += 3) {
		unpack_is_fixed(u, i, off);
		unpack_is_thread(u, i, off);
	}
}

/* Some records in memory of just their length. */
static void ask_records(struct unpacker *u, const struct fmt_pack *h, uint32_t step)
{
	const uint32_t *offsets;
	int rc = unpack_offsets(u, &offsets, NULL);

	check_rc(rc);
	if (rc)
		return;
	for (uint32_t i = 0; i < h->nr_records; i += 1 + step + i / 4) {
		uint32_t n = offsets[i + 1] - offsets[i];
		uint8_t *rec;

		assert(offsets[i + 1] > offsets[i] && offsets[i + 1] <= h->content_bytes);
		rec = malloc(n);
		assert(rec);
		unpack_need(u, i, step % n);
		check_rc(unpack_part(u, i, step % (UNPACK_ALL + 1), rec, NULL));
		check_rc(unpack_record(u, i, rec, NULL));
		free(rec);
		ask_words(u, i, n);
	}
}

static void ask_columns(struct unpacker *u, const struct fmt_pack *h)
{
	const uint64_t *times;
	const uint32_t *tids;
	uint64_t sum = 0;

	if (!unpack_times(u, &times, NULL))
		for (uint32_t i = 0; i < h->nr_records; i++)
			sum += times[i];
	if (!unpack_threads(u, &tids, NULL))
		for (uint32_t i = 0; i < h->nr_records; i++)
			sum += tids[i];
	__asm__ volatile("" ::"r"(sum)); /* they are looked at */
}

static void ask_all(struct unpacker *u, const struct fmt_pack *h)
{
	struct buf out = {0};
	int rc = unpack_all(u, &out, NULL);

	check_rc(rc);
	assert(rc || out.len == h->content_bytes);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct unpacker *u; /* kept, as a reader does: block after block */
	struct bytes payload = {data, size};
	struct fmt_pack h;
	unsigned order;

	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	if (!u)
		assert(!unpacker_new(&u, NULL));
	order = data[size - 1];
	for (int again = 0; again < 2; again++) {
		if (unpack_open(u, payload, h.nr_records, h.content_bytes, NULL))
			return 0;
		for (int k = 0; k < 4; k++, order = order >> 2 | order << 6) {
			if (order % 4 == 0)
				ask_columns(u, &h);
			else if (order % 4 == 1)
				ask_records(u, &h, order);
			else
				ask_all(u, &h);
		}
		order = ~order;
	}
	return 0;
}
