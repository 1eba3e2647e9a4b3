/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * export -f perf with copies of stacks: where the parts of files without code lie, as perf wants to
 * know it, from the segments that the dump has; and that of the rest nothing is made up.
 */
#include "tests/helpers/perf_export.h"

#define DWARF_TYPE                                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define PLAIN_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define HIT	   2000000000ull
#define BASE	   0x7f0000000000ull

static void put_segment(struct mk *d, uint32_t flags, uint64_t value, uint64_t offset,
			uint64_t bytes)
{
	struct fmt_segment f = {.flags = flags, .value = value, .offset = offset, .bytes = bytes};

	mk_item(d, FMT_SYMBOLS, FMT_SYM_SEGMENT, &f, sizeof(f), NULL, 0);
}

/* Linked so that addresses are not offsets; mapped in two parts; and once more while it runs. */
static struct exported export_with(uint64_t sample_type)
{
	struct mk d = mk_begin();
	struct mk_records r = {0};
	uint64_t body[] = {10 | 10ull << 32, HIT, PERF_SAMPLE_REGS_ABI_NONE, 0};
	size_t bytes = sample_type == DWARF_TYPE ? sizeof(body) : 16;

	mk_host(&d);
	mk_channel_regs(&d, 0, "deep", sample_type, 1u << 7);
	mk_event(&d, 0, 0, "cpu-clock", 0, sample_type);
	mk_cpu_window(&d, 0, 0, 0);
	mk_task(&d, 1, 10, 10, 1, 0, 0);
	mk_path(&d, 1, "/usr/lib/libdemo.so");
	mk_path(&d, 2, "/usr/lib/libother.so");
	mk_map(&d, &(struct fmt_map){.key = 1,
				     .path = 1,
				     .start = BASE + 0x3000,
				     .end = BASE + 0x5000,
				     .pgoff = 0x2000});
	mk_map(&d, &(struct fmt_map){.key = 1,
				     .path = 1,
				     .start = BASE + 0x5000,
				     .end = BASE + 0x6000,
				     .pgoff = 0x4000});
	mk_map(&d, &(struct fmt_map){.key = 1,
				     .path = 1,
				     .start = 0x3000,
				     .end = 0x6000,
				     .pgoff = 0x2000,
				     .ns = HIT + 1});
	mk_map(&d, &(struct fmt_map){.key = 1,
				     .path = 2,
				     .start = BASE + 0x10000,
				     .end = BASE + 0x11000,
				     .pgoff = 0x2000});
	mk_image(&d, 0, FMT_IMAGE_FILE, 0, 1, "/usr/lib/libdemo.so");
	put_segment(&d, FMT_SEGMENT_DATA, 0, 0, 0x1234);
	put_segment(&d, 0, 0x3010, 0x2010, 0x2ff0);
	put_segment(&d, FMT_SEGMENT_DATA, 0x7ff0, 0x4ff0, 0x20);
	put_segment(&d, FMT_SEGMENT_DATA, UINT64_MAX - 0x10000, 0, 0x20); /* of no address space */
	put_segment(&d, FMT_SEGMENT_DATA, 0x9000, 0, UINT64_MAX);
	/* Another build. */
	mk_image(&d, 1, FMT_IMAGE_FILE, 0, 9, "/usr/lib/libother.so");
	put_segment(&d, 0, 0x2000, 0x2000, 0x1000);
	put_segment(&d, FMT_SEGMENT_DATA, 0, 0, 0x1000);
	mk_record(&r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, bytes);
	body[1] = HIT + 2;
	mk_record(&r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, bytes);
	mk_block(&d, 0, 0, HIT, HIT + 2, &r);
	mk_records_free(&r);
	return export_all(&d);
}

static void check_map(struct walk *w, uint64_t start, uint64_t bytes, uint64_t pgoff, bool data)
{
	next_of(w, PERF_RECORD_MMAP2);
	assert_int_equal(word(w, 1), start);
	assert_int_equal(word(w, 2), bytes);
	assert_int_equal(word(w, 3), pgoff);
	assert_int_equal(!!(w->h.misc & PERF_RECORD_MISC_MMAP_DATA), data);
}

static void data_comes_before_code(void **state)
{
	struct exported e = export_with(DWARF_TYPE);
	struct walk w = walk_of(e.b);

	assert_int_equal(e.rc, 0);
	check_map(&w, BASE, 0x2000, 0, true);
	check_map(&w, BASE + 0x7000, 0x2000, 0x4000, true);
	assert_string_equal((const char *)w.body.p + 64, "/usr/lib/libdemo.so");
	check_map(&w, BASE + 0x3000, 0x2000, 0x2000, false);
	check_map(&w, BASE + 0x5000, 0x1000, 0x4000, false);
	check_map(&w, BASE + 0x10000, 0x1000, 0x2000, false);
	assert_int_equal(w.last_ns, HIT - 1);
	check_map(&w, 0, 0x2000, 0, true);
	assert_int_equal(w.last_ns, HIT + 1);
	check_map(&w, 0x7000, 0x2000, 0x4000, true);
	check_map(&w, 0x3000, 0x3000, 0x2000, false);
	while (next(&w))
		assert_int_not_equal(w.h.type, PERF_RECORD_MMAP2);
	free((void *)e.b.p);
}

static void none_without_copies_of_stacks(void **state)
{
	struct exported e = export_with(PLAIN_TYPE);
	struct walk w = walk_of(e.b);

	assert_int_equal(e.rc, 0);
	check_map(&w, BASE + 0x3000, 0x2000, 0x2000, false);
	free((void *)e.b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_comes_before_code),
		cmocka_unit_test(none_without_copies_of_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
