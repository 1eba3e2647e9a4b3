// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for pack.h: any bytes as records of any layout in two pieces come back as they
 * were, by each way to unpack them. Inputs: fuzz_seed.h. Since the packer only cares about what
 * there is much of, the records of an input may come many times, each time a bit different.
 *
 *	build/tests/tool_golden seeds CORPUS && build/fuzz/fuzz_pack CORPUS
 */
#include "tests/fuzz/fuzz_seed.h"
#include "tests/helpers/pack_make.h"
#include "tests/helpers/pack_trip.h"

#include <stdio.h>

#define MAX_BYTES                                                                                  \
	(192u << 10) /* of a run that is made of an input; all that an input has is taken */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A record again, the `nr`-th time: some of its words step, some change, most do not. */
static void vary(uint8_t *rec, size_t size, uint32_t nr)
{
	for (size_t off = 8; off + 4 <= size; off += 4) {
		uint64_t hash = make_hash(off, nr);
		uint32_t v;

		memcpy(&v, rec + off, sizeof(v));
		switch (make_hash(off, size) % 16) {
		case 0:
			v += nr;
			break;
		case 1:
			v += hash % 4;
			break;
		case 2:
			v = hash % 8 ? v : (uint32_t)(hash >> 32);
			break;
		case 3:
			v = nr % 64 ? v : v + 1;
			break;
		}
		memcpy(rec + off, &v, sizeof(v));
	}
}

static void add_again(struct buf *run, struct bytes records, uint32_t nr)
{
	struct perf_event_header h;

	for (size_t off = 0; record_at(records, off, &h); off += h.size) {
		if (run->len + h.size > MAX_BYTES)
			return;
		assert(!buf_put(run, records.p + off, h.size));
		vary(run->p + run->len - h.size, h.size, nr);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trip t;
	struct bytes records = {data, size};
	struct fuzz_run head;
	struct record_layout l;
	struct buf run = {0};
	uint32_t type, cut;
	const char *what;

	if (!bytes_get(&records, &head, sizeof(head)))
		return 0;
	if (!t.packer)
		trip_begin(&t);
	t.rng = size;
	memcpy(&type, head.sample_type, sizeof(type));
	memcpy(&cut, head.cut, sizeof(cut));
	l = (struct record_layout){
		.sample_type = type,
		.regs_user = head.regs_user[0] | (uint64_t)head.regs_user[1] << 40,
		.sample_id_all = head.sample_id_all,
	};
	for (uint32_t i = 1; i <= head.repeat; i++)
		add_again(&run, records, i);
	assert(!buf_put(&run, records.p, records.len));
	what = trip(&t, &l, (struct bytes){run.p, run.len}, cut,
		    TRIP_ALL | TRIP_PARTS | TRIP_EXACT);
	if (what) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
	buf_free(&run);
	return 0;
}
