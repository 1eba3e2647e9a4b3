/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The set of addresses of a dump, and payloads of SYMBOLS blocks that stand alone. */
#include "dump/view/model/addresses.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/symbols/symbol_notes.h"
#include "dump/view/symbols/symbols_writer.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define APP    "/usr/bin/app"
#define BASE   0x555500000000ull
#define KERNEL 0xffffffff81000000ull
#define TYPE   (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)

struct world {
	struct mk d;
	struct reader *r;
	struct meta *m;
	struct process_history *p;
	struct addresses *h;
};

/* Two processes with the same file at different places, and one with code of its own. */
static struct world begin(void)
{
	struct world w = {.d = mk_begin()};
	struct fmt_map app = {
		.key = 1, .path = 1, .start = BASE, .end = BASE + 0x2000, .pgoff = 0x1000};
	struct fmt_map own = {.key = 3, .path = 2, .start = 0x7000, .end = 0x8000};

	mk_host(&w.d);
	mk_trigger(&w.d, 1000);
	mk_channel(&w.d, 0, "cpu", TYPE);
	mk_event(&w.d, 0, 0, "cpu-clock", 0, TYPE);
	mk_cpu_window(&w.d, 0, 0, 0);
	for (uint32_t i = 1; i <= 3; i++)
		mk_task(&w.d, i, 10 * i, 10 * i, 1, 0, 0);
	mk_path(&w.d, 1, APP);
	mk_path(&w.d, 2, "//anon");
	mk_map(&w.d, &app);
	app.key = 2;
	app.start += 0x10000;
	app.end += 0x10000;
	mk_map(&w.d, &app);
	mk_map(&w.d, &own);
	return w;
}

static void put_sample(struct mk_records *r, uint32_t tid, uint64_t ns, const uint64_t *ips,
		       size_t nr)
{
	uint64_t body[64] = {tid | (uint64_t)tid << 32, ns, nr};

	assert_true(nr < 60);
	memcpy(body + 3, ips, nr * sizeof(*ips));
	mk_record(r, PERF_RECORD_SAMPLE, 0, body, (3 + nr) * sizeof(*body));
}

static void load(struct world *w, struct mk_records *r, size_t max_places)
{
	mk_block(&w->d, 0, 0, 1, 1000, r);
	mk_records_free(r);
	w->r = mk_end(&w->d);
	w->m = mk_meta(w->r);
	assert_int_equal(history_load(w->r, &w->p, NULL), 0);
	assert_int_equal(addresses_new(w->p, max_places, &w->h, NULL), 0);
	assert_int_equal(addresses_read(w->h, w->r, w->m, NULL), 0);
	addresses_sort(w->h);
}

static void unload(struct world *w)
{
	addresses_free(w->h);
	history_free(w->p);
	meta_free(w->m);
	mk_close(&w->d, w->r);
}

/* The same place of a file counts once, wherever it is mapped; calls are before return addresses.
 */
static void places_are_counted_once(void **state)
{
	const uint64_t one[] = {PERF_CONTEXT_KERNEL, KERNEL + 4,  KERNEL + 9,
				PERF_CONTEXT_USER,   BASE + 0x10, BASE + 0x21};
	const uint64_t two[] = {PERF_CONTEXT_USER, BASE + 0x10010, BASE + 0x10021, 0x5};
	const uint64_t three[] = {PERF_CONTEXT_USER, 0x7010};
	struct world w = begin();
	struct mk_records r = {0};
	const struct addresses_place *p;

	put_sample(&r, 10, 100, one, 6);
	put_sample(&r, 10, 200, one, 6);
	put_sample(&r, 20, 300, two, 4);
	put_sample(&r, 30, 400, three, 2);
	load(&w, &r, HITS_MAX_PLACES);
	assert_int_equal(addresses_nr_images(w.h), 4);
	assert_string_equal(addresses_image(w.h, 0)->path, APP);
	assert_int_equal(addresses_image(w.h, 0)->nr_hits, 6);
	assert_int_equal(addresses_image(w.h, 0)->nr, 2);
	assert_int_equal(addresses_image(w.h, 0)->nr_mappings, 2);
	p = addresses_places(w.h, addresses_image(w.h, 0));
	assert_int_equal(p[0].at, 0x1010);
	assert_int_equal(p[0].nr, 3);
	assert_int_equal(p[1].at, 0x1020);
	assert_int_equal(addresses_image(w.h, 1)->f.kind, FMT_IMAGE_KERNEL);
	p = addresses_places(w.h, addresses_image(w.h, 1));
	assert_int_equal(p[0].at, KERNEL + 4);
	assert_int_equal(p[1].at, KERNEL + 8);
	/* In no file: the process that it was seen in. */
	assert_int_equal(addresses_image(w.h, 2)->f.kind, FMT_IMAGE_TASK);
	assert_int_equal(addresses_image(w.h, 2)->f.key, 2);
	assert_int_equal(addresses_places(w.h, addresses_image(w.h, 2))[0].at, 0x4);
	assert_int_equal(addresses_image(w.h, 3)->f.key, 3);
	assert_int_equal(addresses_nr_dropped(w.h), 0);
	unload(&w);
}

static void what_is_too_much_is_counted(void **state)
{
	struct world w = begin();
	struct mk_records r = {0};

	for (uint64_t i = 0; i < 100; i++) {
		const uint64_t ips[] = {PERF_CONTEXT_USER, BASE + i};

		put_sample(&r, 10, 100 + i, ips, 2);
	}
	load(&w, &r, 30);
	assert_int_equal(addresses_image(w.h, 0)->nr, 30);
	assert_int_equal(addresses_nr_dropped(w.h), 70);
	unload(&w);
}

/* ---- payloads ---- */

static int put_block(void *ctx, struct bytes payload)
{
	struct mk *d = ctx;
	struct bytes item;
	uint16_t kind;
	bool broken = false;

	assert_true(payload.len <= FMT_BLOCK_BYTES);
	while (reader_next_item(&payload, &kind, &item, &broken))
		mk_item(d, FMT_SYMBOLS, kind, item.p, item.len, NULL, 0);
	assert_false(broken);
	return writer_flush(d->w);
}

static void payloads_stand_alone(void **state)
{
	struct world w = begin();
	struct symbols_writer put = {.out = put_block, .ctx = &w.d};
	struct fmt_image app = {.kind = FMT_IMAGE_FILE, .build_id_bytes = 3, .build_id = {1, 2, 1}};
	struct fmt_image other = {.kind = FMT_IMAGE_FILE, .ino = 7};
	const struct elf_segment code = {0x401000, 0x1000, 0x2000}, data = {0x400000, 0, 0x800};
	struct mk_records r = {0};
	struct symbol_place at[4];
	struct symbol_notes *notes;
	struct symbols *s;
	char name[512];

	for (uint64_t i = 0; i < 2000; i++) {
		symbols_writer_image(&put, i % 2 ? &app : &other, i % 2 ? APP : "/other");
		snprintf(name, sizeof(name), "f%0*d", 300, (int)i);
		symbols_writer_function(&put, 0x1100 + i, 1, name);
	}
	symbols_writer_image(&put, &app, APP);
	symbols_writer_place(&put, 0x1011, 0, "inner", "a.c", 3);
	symbols_writer_place(&put, 0x1011, 1, "outer", "b.c", 4);
	symbols_writer_segment(&put, FMT_SEGMENT_DATA, &data);
	symbols_writer_segment(&put, 0, &code);
	symbols_writer_note(&put, "why not");
	symbols_writer_image(&put, &other, "/nothing is put of it");
	assert_int_equal(symbols_writer_flush(&put), 0);
	symbols_writer_free(&put);
	load(&w, &r, 10);
	assert_int_equal(symbols_load(w.r, w.p, &s, NULL), 0);
	for (uint64_t i = 1; i < 2000; i += 2) {
		snprintf(name, sizeof(name), "f%0*d", 300, (int)i);
		assert_int_equal(symbols_user(s, 10, 100, BASE + 0x100 + i, at, 4, NULL), 1);
		assert_string_equal(at[0].function, name);
	}
	assert_int_equal(symbols_user(s, 10, 100, BASE + 0x11, at, 4, NULL), 2);
	assert_string_equal(at[0].function, "inner");
	assert_true(at[0].inlined && at[0].line == 3);
	assert_string_equal(at[1].file, "b.c");
	symbols_free(s);
	assert_int_equal(symbol_notes_load(w.r, &notes, NULL), 0);
	addresses_add_user(w.h, 10, 100, BASE);
	addresses_sort(w.h);
	assert_string_equal(symbol_notes_find(notes, addresses_image(w.h, 0))->note, "why not");
	assert_int_equal(symbol_notes_find(notes, addresses_image(w.h, 0))->nr_segments, 1);
	assert_int_equal(symbol_notes_find(notes, addresses_image(w.h, 0))->segments[0].value,
			 0x401000);
	assert_int_equal(symbol_notes_find(notes, addresses_image(w.h, 0))->nr_data, 1);
	assert_int_equal(symbol_notes_find(notes, addresses_image(w.h, 0))->data[0].bytes, 0x800);
	symbol_notes_free(notes);
	unload(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_counted_once),
		cmocka_unit_test(what_is_too_much_is_counted),
		cmocka_unit_test(payloads_stand_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
