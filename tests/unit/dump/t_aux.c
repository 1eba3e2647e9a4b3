/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * AUX areas come back out of a dump byte for byte, whatever the order of their blocks; of those
 * that are damaged what is newer than the damage; a dump with them is checked, salvaged, extended.
 */
#include "tests/helpers/mkaux.h"

#include "dump/file/aux_areas.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define AREA	65536u
#define BLOCK	10000u
#define WRITTEN 1000003ull /* many times around */

static const char *const files[] = {"type",	"9", "format/tsc", "config:10", "caps/empty", "",
				    "caps/mtc", "1", "ratio",	   "240:2",	NULL};

struct dump {
	struct mk mk;
	struct reader *r;
	struct meta *m;
	struct aux_list l;
	struct buf out;
	struct err err;
};

static void begin(struct dump *d)
{
	*d = (struct dump){.mk = mk_begin()};
	mk_host(&d->mk);
	mk_trigger(&d->mk, 1000000);
	mk_aux_channel(&d->mk, 0, 0, "pt", "intel_pt", files);
}

/* Ring `ring` is that of the CPU of this number. */
static void window(struct dump *d, uint32_t ring, uint64_t bytes)
{
	mk_cpu_window(&d->mk, ring, 0, (int32_t)ring);
	mk_aux_window(&d->mk, &(struct fmt_window_aux){
				      .ring = ring,
				      .flags = FMT_AUX_WRAPPED,
				      .area_bytes = AREA,
				      .bytes = bytes,
				      .new_bytes = bytes,
			      });
}

static void load(struct dump *d, bool damaged)
{
	mk_finish(&d->mk);
	d->r = mk_open(&d->mk, damaged);
	d->m = mk_meta(d->r);
	assert_int_equal(aux_list_load(d->r, d->m, &d->l, NULL), 0);
}

static void end(struct dump *d)
{
	aux_list_free(&d->l);
	buf_free(&d->out);
	meta_free(d->m);
	mk_close(&d->mk, d->r);
}

/* ---- whole ones ---- */

static void an_area_comes_back(void **state)
{
	/* None, one byte, less than a block, two blocks, no multiple, all. */
	static const uint32_t sizes[] = {0, 1, 777, 2 * BLOCK, 3 * BLOCK + 1, AREA};
	struct dump d;

	begin(&d);
	for (uint32_t i = 0; i < 6; i++)
		window(&d, i, sizes[i]);
	for (uint32_t i = 0; i < 6; i++)
		mk_aux_blocks(&d.mk, i, (int)i, WRITTEN, sizes[i], BLOCK);
	load(&d, false);
	assert_int_equal(d.l.nr, 6);
	for (uint32_t i = 0; i < 6; i++) {
		const struct dump_area *a = &d.l.v[i];

		assert_true(a->known && a->f.bytes == sizes[i] && a->cpu == (int)i && a->tid == -1);
		assert_int_equal(aux_load(d.r, a, UINT64_MAX, &d.out, &d.err), 0);
		assert_int_equal(d.out.len, sizes[i]);
		assert_true(mk_aux_is(&d.out, (int)i, WRITTEN, 0));
	}
	end(&d);
}

static void the_newest_can_be_had_alone(void **state)
{
	static const uint64_t wanted[] = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, AREA - 1};
	struct dump d;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(aux_load(d.r, &d.l.v[0], wanted[i], &d.out, &d.err), 0);
		assert_int_equal(d.out.len, wanted[i]);
		assert_true(mk_aux_is(&d.out, 0, WRITTEN, 0));
	}
	end(&d);
}

/* As long as they are all there: the order of blocks in the file is the writer's. */
static void blocks_may_come_in_any_order(void **state)
{
	struct dump d;

	begin(&d);
	window(&d, 0, AREA);
	window(&d, 1, AREA);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t at = i * 3 % 8;

		mk_aux_block(&d.mk, 0, 0, WRITTEN, at * (AREA / 8), AREA / 8);
		mk_aux_block(&d.mk, 1, 1, WRITTEN, (7 - at) * (AREA / 8), AREA / 8);
	}
	load(&d, false);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(aux_load(d.r, &d.l.v[i], UINT64_MAX, &d.out, &d.err), 0);
		assert_int_equal(d.out.len, AREA);
		assert_true(mk_aux_is(&d.out, i, WRITTEN, 0));
	}
	end(&d);
}

static int collect(void *ctx, struct bytes b)
{
	return buf_put(ctx, b.p, b.len);
}

static void a_walk_gives_what_loading_gives(void **state)
{
	static const uint64_t wanted[] = {0, 1, BLOCK, BLOCK + 5, AREA - 1, UINT64_MAX};
	struct dump d;
	uint64_t done;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct buf got = {0};

		assert_int_equal(aux_load(d.r, &d.l.v[0], wanted[i], &d.out, &d.err), 0);
		assert_int_equal(aux_walk(d.r, &d.l.v[0], wanted[i], collect, &got, &done, &d.err),
				 0);
		assert_int_equal(done, d.out.len);
		assert_int_equal(got.len, d.out.len);
		if (got.len)
			assert_memory_equal(got.p, d.out.p, got.len);
		buf_free(&got);
	}
	end(&d);
}

static int refuse(void *ctx, struct bytes b)
{
	return ++*(int *)ctx == 2 ? -EPIPE : 0;
}

static void a_walk_ends_when_it_is_told_to(void **state)
{
	struct dump d;
	uint64_t done;
	int calls = 0;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	assert_int_equal(aux_walk(d.r, &d.l.v[0], UINT64_MAX, refuse, &calls, &done, NULL), -EPIPE);
	assert_int_equal(calls, 2);
	assert_int_equal(done, AREA % BLOCK);
	end(&d);
}

/* ---- what is known of them ---- */

static void an_area_knows_its_channel_and_pmu(void **state)
{
	struct dump d;
	const struct dump_area *a;
	char place[32];

	begin(&d);
	window(&d, 0, 0);
	load(&d, false);
	a = &d.l.v[0];
	assert_string_equal(a->channel->name, "pt");
	assert_string_equal(a->event->pmu, "intel_pt");
	assert_int_equal(a->event->attr.config, 0x2401);
	assert_string_equal(meta_pmu_file(a->event, "format/tsc"), "config:10");
	assert_string_equal(meta_pmu_file(a->event, "ratio"), "240:2");
	assert_string_equal(meta_pmu_file(a->event, "caps/empty"), "");
	assert_null(meta_pmu_file(a->event, "caps"));
	/* A content is no path. */
	assert_null(meta_pmu_file(a->event, "9"));
	assert_string_equal(aux_place(a, place, sizeof(place)), "CPU 0");
	end(&d);
}

/* Texts without a NUL, a path without a content, nothing at all. */
static void broken_texts_of_a_pmu_are_no_files(void **state)
{
	static const struct {
		const char *texts;
		size_t n;
		const char *pmu, *file;
	} of[] = {
		{"", 0, "", NULL},
		{"pmu", 3, "pmu", NULL},
		{"pmu\0", 4, "pmu", NULL},
		{"pmu\0a", 5, "pmu", NULL},
		{"pmu\0a\0", 6, "pmu", NULL},
		{"pmu\0a\0x", 7, "pmu", NULL},
		{"pmu\0a\0x\0", 8, "pmu", "x"},
		{"\0a\0\0", 4, "", ""},
	};
	uint32_t event = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		const char *file;
		struct dump d;

		begin(&d);
		mk_item(&d.mk, FMT_CHANNELS, FMT_EVENT_PMU, &event, 4, of[i].texts, of[i].n);
		load(&d, false);
		assert_string_equal(d.m->events[0].pmu, of[i].pmu);
		file = meta_pmu_file(&d.m->events[0], "a");
		assert_true(!file == !of[i].file && (!file || !strcmp(file, of[i].file)));
		end(&d);
	}
}

/* By channel, CPU, thread; what has but blocks last. */
static void areas_are_sorted(void **state)
{
	static const int32_t where[][2] = {{3, -1}, {-1, 77}, {0, -1}, {-1, 12}};
	struct dump d;

	begin(&d);
	for (uint32_t i = 0; i < 4; i++) {
		mk_window(&d.mk,
			  &(struct fmt_window){.ring = i, .cpu = where[i][0], .tid = where[i][1]});
		mk_aux_window(&d.mk, &(struct fmt_window_aux){.ring = i});
	}
	mk_aux_blocks(&d.mk, 9, 0, 100, 100, 30);
	load(&d, false);
	assert_int_equal(d.l.nr, 5);
	assert_int_equal(d.l.v[0].tid, 12);
	assert_int_equal(d.l.v[1].tid, 77);
	assert_int_equal(d.l.v[2].cpu, 0);
	assert_int_equal(d.l.v[3].cpu, 3);
	assert_false(d.l.v[4].known);
	assert_int_equal(d.l.v[4].f.ring, 9);
	assert_int_equal(d.l.v[4].f.bytes, 100);
	assert_null(d.l.v[4].channel);
	assert_int_equal(aux_load(d.r, &d.l.v[4], UINT64_MAX, &d.out, NULL), 0);
	assert_true(d.out.len == 100 && mk_aux_is(&d.out, 0, 100, 0));
	end(&d);
}

static void windows_that_lie_are_broken(void **state)
{
	static const struct fmt_window_aux lies[] = {
		{.ring = 1, .area_bytes = 10, .bytes = 11},
		{.ring = 1, .area_bytes = 10, .bytes = 5, .new_bytes = 6},
		{.ring = 1u << 20, .area_bytes = 10},
	};
	struct dump d;

	begin(&d);
	window(&d, 0, 0);
	for (int i = 0; i < 3; i++)
		mk_aux_window(&d.mk, &lies[i]);
	load(&d, false);
	assert_int_equal(d.m->nr_broken, 3);
	assert_int_equal(d.l.nr, 1);
	end(&d);
}

/* ---- damage ---- */

/* Index of the `n`-th block of AUX. */
static size_t nth(const struct dump *d, size_t n)
{
	for (size_t i = 0; i < reader_nr_blocks(d->r); i++)
		if (reader_block(d->r, i)->h.section == FMT_AUX && !n--)
			return i;
	fail_msg("no such block");
	return 0;
}

static void behind_a_damaged_block_bytes_can_be_had(void **state)
{
	struct dump d;
	uint64_t done;
	struct buf got = {0};

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	mk_damage(&d.mk, d.r, nth(&d, 2));
	assert_int_equal(aux_load(d.r, &d.l.v[0], UINT64_MAX, &d.out, &d.err), -EBADMSG);
	assert_int_equal(d.out.len, 2 * BLOCK);
	assert_true(mk_aux_is(&d.out, 0, WRITTEN, 0));
	assert_non_null(strstr(d.err.what, "the AUX area of CPU 0 lacks 10000 bytes"));
	assert_non_null(strstr(d.err.what, "up to 20000 before its newest: "));
	assert_non_null(strstr(d.err.what, "AUX of ring 0"));
	assert_int_equal(aux_walk(d.r, &d.l.v[0], UINT64_MAX, collect, &got, &done, NULL),
			 -EBADMSG);
	assert_int_equal(done, 2 * BLOCK);
	assert_true(got.len == done && mk_aux_is(&got, 0, WRITTEN, 0));
	/* What does not reach so far does not care. */
	assert_int_equal(aux_load(d.r, &d.l.v[0], 2 * BLOCK, &d.out, NULL), 0);
	buf_free(&got);
	end(&d);
}

static void a_missing_block_is_a_hole(void **state)
{
	struct dump d;

	begin(&d);
	window(&d, 0, AREA);
	window(&d, 1, AREA);
	window(&d, 2, AREA);
	/* In the middle; the oldest; the newest. */
	mk_aux_block(&d.mk, 0, 0, WRITTEN, 0, 1000);
	mk_aux_block(&d.mk, 0, 0, WRITTEN, 3000, AREA - 3000);
	mk_aux_block(&d.mk, 1, 1, WRITTEN, 0, 5000);
	mk_aux_block(&d.mk, 2, 2, WRITTEN, 1, AREA - 1);
	load(&d, false);
	assert_int_equal(aux_load(d.r, &d.l.v[0], UINT64_MAX, &d.out, &d.err), -EBADMSG);
	assert_true(d.out.len == 1000 && mk_aux_is(&d.out, 0, WRITTEN, 0));
	assert_non_null(strstr(d.err.what, "lacks 2000 bytes, up to 1000 before its newest"));
	assert_int_equal(aux_load(d.r, &d.l.v[1], UINT64_MAX, &d.out, &d.err), -EBADMSG);
	assert_true(d.out.len == 5000 && mk_aux_is(&d.out, 1, WRITTEN, 0));
	assert_int_equal(aux_load(d.r, &d.l.v[2], UINT64_MAX, &d.out, &d.err), -EBADMSG);
	assert_int_equal(d.out.len, 0);
	end(&d);
}

/* Twice the same, one that overlaps, an empty one, more than there is to be. */
static void blocks_that_do_not_fit_are_left_out(void **state)
{
	struct dump d;
	struct buf got = {0};
	uint64_t done;

	begin(&d);
	window(&d, 0, 30000);
	mk_aux_block(&d.mk, 0, 0, WRITTEN, 0, 10000);
	mk_aux_block(&d.mk, 0, 0, WRITTEN, 0, 0);
	mk_aux_block(&d.mk, 0, 5, WRITTEN, 0, 12000);
	mk_aux_block(&d.mk, 0, 6, WRITTEN, 5000, 100);
	mk_aux_block(&d.mk, 0, 0, WRITTEN, 10000, 30000);
	load(&d, false);
	assert_int_equal(aux_load(d.r, &d.l.v[0], UINT64_MAX, &d.out, &d.err), 0);
	assert_true(d.out.len == 30000 && mk_aux_is(&d.out, 0, WRITTEN, 0));
	assert_int_equal(aux_walk(d.r, &d.l.v[0], UINT64_MAX, collect, &got, &done, NULL), 0);
	assert_true(got.len == 30000 && mk_aux_is(&got, 0, WRITTEN, 0));
	buf_free(&got);
	end(&d);
}

static void an_encoding_of_later_is_not_guessed(void **state)
{
	static const uint8_t bytes[100];
	struct block_packer *packer;
	struct bytes in = {bytes, sizeof(bytes)}, block;
	struct fmt_block h;
	struct dump d;

	begin(&d);
	window(&d, 0, 200);
	mk_aux_block(&d.mk, 0, 0, 100, 0, 100);
	h = writer_area_header(&(struct writer_area){.content_bytes = 100, .newer_bytes = 100});
	h.encoding = 77;
	assert_int_equal(writer_flush(d.mk.w), 0);
	assert_int_equal(block_packer_new(4096, BLOCK_FAST, &packer, NULL), 0);
	assert_int_equal(block_pack(packer, block_seed(writer_id(d.mk.w)), &h, &in, 1, &block), 0);
	block = (struct bytes){block.p + sizeof(h), block.len - sizeof(h)};
	assert_int_equal(writer_copy(d.mk.w, &h, block), 0);
	block_packer_free(packer);
	load(&d, false);
	assert_int_equal(aux_load(d.r, &d.l.v[0], UINT64_MAX, &d.out, &d.err), -ENOTSUP);
	assert_true(d.out.len == 100 && mk_aux_is(&d.out, 0, 100, 0));
	end(&d);
}

/* ---- the file ---- */

static void areas_pass_the_check(void **state)
{
	struct reader_verdict v;
	struct dump d;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	assert_int_equal(reader_check_bytes((struct bytes){d.mk.file, d.mk.file_bytes}, &v, NULL,
					    NULL, NULL),
			 0);
	assert_int_equal(v.nr_bad_blocks, 0);
	assert_int_equal(v.nr_records, 0);
	end(&d);
}

/* Of a cut file the blocks that are whole; the newest were written first. */
static void salvage_keeps_areas(void **state)
{
	struct reader_verdict v;
	struct reader *cut, *r;
	struct aux_list l;
	struct bytes file;
	struct meta *m;
	struct dump d;
	struct stat st;
	int fd = memfd_create("out", MFD_CLOEXEC);

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	file = (struct bytes){d.mk.file, reader_block(d.r, nth(&d, 4))->offset + 100};
	assert_int_equal(reader_open_bytes(file, true, &cut, NULL), 0);
	assert_int_equal(reader_salvage_fd(cut, fd, &v, NULL), 0);
	reader_close(cut);
	assert_int_equal(fstat(fd, &st), 0);
	file = (struct bytes){
		mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0),
		(size_t)st.st_size,
	};
	assert_int_equal(reader_open_bytes(file, false, &r, NULL), 0);
	m = mk_meta(r);
	assert_int_equal(aux_list_load(r, m, &l, NULL), 0);
	assert_int_equal(aux_load(r, &l.v[0], UINT64_MAX, &d.out, NULL), -EBADMSG);
	assert_int_equal(d.out.len, 4 * BLOCK);
	assert_true(mk_aux_is(&d.out, 0, WRITTEN, 0));
	aux_list_free(&l);
	meta_free(m);
	reader_close(r);
	munmap((void *)file.p, file.len);
	close(fd);
	end(&d);
}

static int add_nothing(void *ctx, struct writer *w, struct err *err)
{
	return 0;
}

/* As symbols that are added later do. */
static void an_extended_dump_has_them_still(void **state)
{
	struct reader_verdict v;
	struct reader *r;
	struct aux_list l;
	struct bytes file;
	struct meta *m;
	struct dump d;
	struct stat st;
	int fd = memfd_create("out", MFD_CLOEXEC);

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	assert_int_equal(reader_extend_fd(d.r, fd, add_nothing, NULL, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	file = (struct bytes){
		mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0),
		(size_t)st.st_size,
	};
	assert_int_equal(reader_check_bytes(file, &v, NULL, NULL, NULL), 0);
	assert_int_equal(reader_open_bytes(file, false, &r, NULL), 0);
	m = mk_meta(r);
	assert_int_equal(aux_list_load(r, m, &l, NULL), 0);
	assert_int_equal(aux_load(r, &l.v[0], UINT64_MAX, &d.out, NULL), 0);
	assert_true(d.out.len == AREA && mk_aux_is(&d.out, 0, WRITTEN, 0));
	aux_list_free(&l);
	meta_free(m);
	reader_close(r);
	munmap((void *)file.p, file.len);
	close(fd);
	end(&d);
}

/* Whatever is missing or turned around, what comes out are the newest bytes or none. */
static void check_hurt(struct dump *d, struct bytes file)
{
	struct reader *r;
	struct aux_list l;
	struct meta *m;

	if (reader_open_bytes(file, true, &r, NULL))
		return;
	m = mk_meta(r);
	assert_int_equal(aux_list_load(r, m, &l, NULL), 0);
	for (size_t i = 0; i < l.nr; i++) {
		int rc = aux_load(r, &l.v[i], UINT64_MAX, &d->out, NULL);

		assert_true(rc == -EBADMSG || (!rc && d->out.len == l.v[i].f.bytes));
		assert_true(mk_aux_is(&d->out, 0, WRITTEN, 0));
	}
	aux_list_free(&l);
	meta_free(m);
	reader_close(r);
}

static void damage_never_makes_other_bytes(void **state)
{
	struct dump d;
	uint8_t *copy;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	copy = malloc(d.mk.file_bytes);
	assert_non_null(copy);
	memcpy(copy, d.mk.file, d.mk.file_bytes);
	for (size_t at = 64; at < d.mk.file_bytes; at += 191) {
		check_hurt(&d, (struct bytes){copy, at});
		copy[at] ^= 0x55;
		check_hurt(&d, (struct bytes){copy, d.mk.file_bytes});
		copy[at] ^= 0x55;
	}
	free(copy);
	end(&d);
}

static void a_twin_loads_them_too(void **state)
{
	struct reader *twin;
	struct dump d;

	begin(&d);
	window(&d, 0, AREA);
	mk_aux_blocks(&d.mk, 0, 0, WRITTEN, AREA, BLOCK);
	load(&d, false);
	assert_int_equal(reader_copy(d.r, &twin, NULL), 0);
	assert_int_equal(aux_load(twin, &d.l.v[0], UINT64_MAX, &d.out, NULL), 0);
	assert_true(d.out.len == AREA && mk_aux_is(&d.out, 0, WRITTEN, 0));
	reader_close(twin);
	end(&d);
}

/* ---- time ---- */

static void cycles_become_the_dumps_time(void **state)
{
	/* 2.5 GHz: 0.4 ns a cycle. */
	struct fmt_window_aux f = {
		.start_cycles = 1000000,
		.start_cycles_ns = 5000000,
		.stop_cycles = 3500000,
		.stop_cycles_ns = 6000000,
	};
	uint64_t ns;

	assert_true(aux_time(&f, 1000000, &ns) && ns == 5000000);
	assert_true(aux_time(&f, 3500000, &ns) && ns == 6000000);
	assert_true(aux_time(&f, 3500010, &ns) && ns == 6000004);
	assert_true(aux_time(&f, 3499990, &ns) && ns == 5999996);
	/* The kernel's factor counts, when there is one: 0.5 ns. */
	f.time_mult = 1u << 20;
	f.time_shift = 21;
	assert_true(aux_time(&f, 3499990, &ns) && ns == 5999995);
	/* Nothing goes around. */
	assert_true(aux_time(&f, 0, &ns) && ns == 6000000 - 1750000);
	assert_true(aux_time(&f, UINT64_MAX, &ns) && ns > 1ull << 62);
	f.time_shift = 0;
	assert_true(aux_time(&f, 0, &ns) && ns == 0);
	assert_true(aux_time(&f, UINT64_MAX, &ns) && ns == UINT64_MAX);
	f.time_mult = 0;
	f.start_cycles = f.stop_cycles;
	assert_false(aux_time(&f, 5, &ns));
	f.stop_cycles = 0;
	assert_false(aux_time(&f, 5, &ns));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_area_comes_back),
		cmocka_unit_test(the_newest_can_be_had_alone),
		cmocka_unit_test(blocks_may_come_in_any_order),
		cmocka_unit_test(a_walk_gives_what_loading_gives),
		cmocka_unit_test(a_walk_ends_when_it_is_told_to),
		cmocka_unit_test(an_area_knows_its_channel_and_pmu),
		cmocka_unit_test(broken_texts_of_a_pmu_are_no_files),
		cmocka_unit_test(areas_are_sorted),
		cmocka_unit_test(windows_that_lie_are_broken),
		cmocka_unit_test(behind_a_damaged_block_bytes_can_be_had),
		cmocka_unit_test(a_missing_block_is_a_hole),
		cmocka_unit_test(blocks_that_do_not_fit_are_left_out),
		cmocka_unit_test(an_encoding_of_later_is_not_guessed),
		cmocka_unit_test(areas_pass_the_check),
		cmocka_unit_test(salvage_keeps_areas),
		cmocka_unit_test(an_extended_dump_has_them_still),
		cmocka_unit_test(damage_never_makes_other_bytes),
		cmocka_unit_test(a_twin_loads_them_too),
		cmocka_unit_test(cycles_become_the_dumps_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
