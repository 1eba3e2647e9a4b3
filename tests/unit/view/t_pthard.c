/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * What a dump with Intel PT may contain to make a reader slow or large; and that what the fuzz
 * targets start from is decoded at all.
 */
#include "dump/view/pt/pt_calls.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_trace.h"
#include "dump/view/report/report.h"
#include "dump/view/script/script.h"
#include "dump/view/base/text.h"

#include "tests/helpers/mkpt.h"
#include "tests/helpers/pt_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct fix {
	struct mk d;
	struct reader *r;
	struct meta *m;
	struct process_history *history;
	struct symbols *symbols;
};

static struct fix open_dump(struct mk d)
{
	struct fix f = {.d = d};

	f.r = mk_end(&f.d);
	assert_int_equal(meta_load(f.r, &f.m, NULL), 0);
	assert_int_equal(history_load(f.r, &f.history, NULL), 0);
	assert_int_equal(symbols_load(f.r, f.history, &f.symbols, NULL), 0);
	return f;
}

static void close_dump(struct fix *f)
{
	symbols_free(f->symbols);
	history_free(f->history);
	meta_free(f->m);
	mk_close(&f->d, f->r);
}

/* By kind; the time of none is before the last. */
static void count_steps(struct fix *f, size_t nr[PT_FLOW_LOST + 1])
{
	const struct pt_trace_options opt = {.to_ns = UINT64_MAX};
	struct pt_trace_step s;
	struct pt_trace *t;
	uint64_t last = 0;

	memset(nr, 0, (PT_FLOW_LOST + 1) * sizeof(*nr));
	assert_int_equal(pt_trace_open(f->r, f->m, f->history, &opt, &t, NULL), 0);
	assert_non_null(t);
	while (pt_trace_next(t, &s, NULL) > 0) {
		assert_true(s.ns >= last && s.kind <= PT_FLOW_LOST);
		last = s.ns;
		nr[s.kind]++;
		if (s.kind != PT_FLOW_LOST && s.tid != UINT32_MAX)
			assert_int_equal(s.tid, MK_PT_TID + (s.ns > 500050));
	}
	pt_trace_close(t);
}

static void seeds_are_decoded(void **state)
{
	const struct pt_calls_options opt = {0, UINT64_MAX, 1000};
	struct fix f = open_dump(mk_pt_seed());
	size_t nr[PT_FLOW_LOST + 1], nr_called = 0;
	struct pt_calls *calls;

	count_steps(&f, nr);
	assert_int_equal(nr[PT_FLOW_CALL], 2 * MK_PT_CPUS * MK_PT_LOOPS);
	assert_int_equal(nr[PT_FLOW_RETURN], 2 * MK_PT_CPUS * MK_PT_LOOPS);
	assert_int_equal(nr[PT_FLOW_ON], 2 * MK_PT_CPUS);
	assert_int_equal(nr[PT_FLOW_OFF], 2 * MK_PT_CPUS);
	assert_int_equal(nr[PT_FLOW_LOST], 0);
	assert_int_equal(pt_calls_load(f.r, f.m, f.history, f.symbols, &opt, &calls, NULL), 0);
	for (size_t i = 0; i < pt_calls_nr(calls); i++) {
		struct text t = TEXT_INIT(NULL);

		pt_calls_name(calls, pt_calls_nth(calls, i), &t);
		nr_called += t.b.len == 6 && !memcmp(t.b.p, "called", 6);
		for (size_t k = 0; k < t.b.len; k++)
			assert_true(t.b.p[k] >= ' ' && t.b.p[k] != 0x7f);
		text_free(&t);
	}
	assert_int_equal(nr_called, nr[PT_FLOW_CALL]);
	pt_calls_free(calls);
	close_dump(&f);
}

/* Names of processes, functions and files that a terminal could obey. */
static void what_is_shown_is_harmless(void **state)
{
	const struct report_options report = {.width = 80, .to_ns = UINT64_MAX};
	const struct script_options script = {.to_ns = UINT64_MAX};
	struct fix f = open_dump(mk_pt_seed());
	struct report_result reported;
	struct script_result printed;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_int_equal(report_print(f.r, f.m, &report, out, &reported, NULL), 0);
	assert_int_equal(script_print(f.r, f.m, &script, out, &printed, NULL), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "the last calls on CPU 1, of second"));
	assert_non_null(strstr(text, "call: "));
	for (size_t i = 0; i < n; i++)
		assert_true(text[i] == '\n' || ((uint8_t)text[i] >= ' ' && text[i] != 0x7f));
	free(text);
	close_dump(&f);
}

/* One ring, of one thread's times, unless `p` and `r` say otherwise. */
static struct fix one_ring(struct mk d, struct mk_records *r, struct pt_packets *p)
{
	if (!r->nr)
		mk_pt_switch(r, MK_PT_TID, 0, false, 1000);
	mk_pt_ring(&d, 0, r, p);
	mk_stats(&d);
	return open_dump(d);
}

#define NR_PIECES 5000u

/* More pieces than there are pages of room for code. */
static void small_pieces_of_code_take_little_room(void **state)
{
	struct mk d = mk_pt_dump();
	struct fmt_code code = {.image = 0};
	struct mk_records r = {.nr = 0};
	struct pt_packets p = {.max_tnt = 6};
	struct code_cache_options opt = {.open = NULL};
	struct code_cache_counts counts;
	struct code_cache *book;
	size_t nr[PT_FLOW_LOST + 1];
	struct fix f;

	mk_pt_symbols(&d);
	mk_image(&d, 1, FMT_IMAGE_FILE, 0, 2, "/other");
	for (uint64_t i = 0; i < NR_PIECES; i++) {
		code = (struct fmt_code){.image = 1, .start = 2 * i};
		mk_item(&d, FMT_SYMBOLS, FMT_SYM_CODE, &code, sizeof(code), "\xc3", 1);
	}
	mk_pt_run(&p, 2000);
	f = one_ring(d, &r, &p);
	assert_int_equal(pt_store_new(NR_PIECES / 4 * 4096, &opt.store, NULL), 0);
	assert_int_equal(code_cache_new(f.r, f.history, &opt, &book, NULL), 0);
	code_cache_counts(book, &counts);
	assert_int_equal(counts.kept_bytes, MK_PT_CODE + NR_PIECES);
	assert_int_equal(counts.nr_kept, 2);
	code_cache_free(book);
	pt_store_free(opt.store);
	count_steps(&f, nr);
	assert_int_equal(nr[PT_FLOW_CALL], MK_PT_LOOPS);
	close_dump(&f);
}

/* Each at a place of its own, of a mapping of all there is, and of none. */
static void places_without_code_are_gaps(void **state)
{
	static const struct fmt_map all = {
		.key = 1, .path = 1, .start = 1ull << 40, .end = 1ull << 46};
	struct mk d = mk_pt_dump();
	struct mk_records r = {.nr = 0};
	struct pt_packets p = {.max_tnt = 6};
	size_t nr[PT_FLOW_LOST + 1];
	struct fix f;

	mk_map(&d, &all);
	mk_pt_symbols(&d);
	for (uint64_t i = 0; i < 50000; i++) {
		mk_pt_begin(&p, 2000 + i);
		pt_ip(&p, PT_IP_PGE, (1ull << 40) + (i << 20));
		pt_tnt(&p, true);
		pt_tnt_flush(&p);
	}
	mk_pt_run(&p, 400000);
	f = one_ring(d, &r, &p);
	count_steps(&f, nr);
	assert_int_equal(nr[PT_FLOW_ON], 50001);
	assert_int_equal(nr[PT_FLOW_LOST], 50000);
	assert_int_equal(nr[PT_FLOW_CALL], MK_PT_LOOPS);
	close_dump(&f);
}

/* As many of the same thread as there are places that fit none. */
static void switches_that_tell_nothing_new_are_one(void **state)
{
	struct mk d = mk_pt_dump();
	struct mk_records r = {.nr = 0};
	struct pt_packets p = {.max_tnt = 6};
	size_t nr[PT_FLOW_LOST + 1];
	struct fix f;

	mk_pt_symbols(&d);
	for (uint64_t i = 0; i < 20000; i++) {
		mk_pt_switch(&r, MK_PT_TID, 0, false, 1000 + i);
		mk_pt_begin(&p, 2000 + i);
		pt_ip(&p, PT_IP_PGE, 16 + i);
		pt_tnt(&p, true);
		pt_tnt_flush(&p);
	}
	mk_pt_run(&p, 400000);
	f = one_ring(d, &r, &p);
	count_steps(&f, nr);
	assert_int_equal(nr[PT_FLOW_ON], 20001);
	assert_int_equal(nr[PT_FLOW_CALL], MK_PT_LOOPS);
	close_dump(&f);
}

/* A mapping that goes around the end of its file has no code. */
static void offsets_do_not_go_around(void **state)
{
	static const struct fmt_map around = {.key = 1,
					      .path = 1,
					      .start = MK_PT_MAIN,
					      .end = MK_PT_MAIN + 0x2000,
					      .pgoff = -0x1000ull,
					      .ns = 1500};
	struct mk d = mk_pt_dump();
	struct mk_records r = {.nr = 0};
	struct pt_packets p = {.max_tnt = 6};
	size_t nr[PT_FLOW_LOST + 1];
	struct fix f;

	mk_map(&d, &around);
	mk_pt_symbols(&d);
	mk_pt_run(&p, 2000);
	f = one_ring(d, &r, &p);
	count_steps(&f, nr);
	assert_int_equal(nr[PT_FLOW_CALL], 0);
	assert_int_equal(nr[PT_FLOW_LOST], 1);
	close_dump(&f);
}

/* ---- the decoder ---- */

/* The steps of a trace that says only where `code`, at 0x1000, begins. */
static struct pt_flow_steps flow_of(const void *code, size_t n, size_t psbs, size_t max_steps)
{
	struct pt_flow_input in = {
		.clock = {.mult = 1}, .max_steps = max_steps, .part_bytes = 1 << 30};
	struct pt_packets p = {.max_tnt = 6};
	struct pt_flow_steps s = {0};
	struct pt_memory *m = pt_memory_new();
	struct pt_flow *f;

	pt_memory_add(m, 0x1000, (struct bytes){code, n});
	for (size_t i = 0; i < psbs; i++) {
		mk_pt_begin(&p, 1000 + i);
		pt_ip(&p, PT_IP_PGE, 0x1000);
		pt_tnt(&p, true);
		pt_tnt_flush(&p);
	}
	in.source = pt_memory_source(m);
	in.bytes = (struct bytes){p.out.p, p.out.len};
	assert_int_equal(pt_flow_new(&in, &f, NULL), 0);
	assert_int_equal(pt_flow_nr_parts(f), 1);
	assert_int_equal(pt_flow_part(f, 0, &s), 0);
	pt_flow_free(f);
	pt_memory_free(m);
	buf_free(&p.out);
	return s;
}

static void steps_that_are_too_many_end_in_a_gap(void **state)
{
	static const uint8_t calls_itself[] = {0xe8, 0xfb, 0xff, 0xff, 0xff};
	struct pt_flow_steps s = flow_of(calls_itself, sizeof(calls_itself), 10, 1000);

	assert_int_equal(s.nr, 1000);
	assert_int_equal(s.v[998].kind, PT_FLOW_CALL);
	assert_int_equal(s.v[999].kind, PT_FLOW_LOST);
	pt_flow_steps_free(&s);
}

/* Jumps, which are no steps, and instructions that are many. */
static void what_goes_on_for_ever_is_given_up(void **state)
{
	static const uint8_t jumps_to_itself[] = {0xeb, 0xfe};
	struct pt_flow_steps s = flow_of(jumps_to_itself, sizeof(jumps_to_itself), 5000, 0);
	uint8_t *nops = malloc(1 << 20);

	/* 5000 times 4096 jumps would be as many gaps. */
	assert_true(s.nr > 100 && s.nr < 5000);
	assert_int_equal(s.v[s.nr - 1].kind, PT_FLOW_LOST);
	pt_flow_steps_free(&s);
	memset(nops, 0x90, 1 << 20);
	memcpy(nops + (1 << 20) - 5, (uint8_t[]){0xe9, 0, 0, 0xf0, 0xff}, 5);
	s = flow_of(nops, 1 << 20, 10, 0);
	assert_int_equal(s.v[s.nr - 1].kind, PT_FLOW_LOST);
	pt_flow_steps_free(&s);
	free(nops);
}

/* ---- calls ---- */

static int count_call(void *ctx, const struct pt_spans_call *c)
{
	++*(size_t *)ctx;
	return 0;
}

/* Calls of more threads than can be real are forgotten, not kept. */
static void open_calls_are_bounded(void **state)
{
	struct fix f = open_dump(mk_pt_seed());
	struct pt_names *names;
	struct pt_spans *spans;
	size_t nr = 0;

	assert_int_equal(pt_names_new(f.history, f.symbols, &names), 0);
	assert_int_equal(pt_spans_new(names, count_call, &nr, &spans), 0);
	for (uint32_t i = 0; i < 6000000; i++) {
		const struct pt_trace_step s = {.ns = 1000,
						.from = MK_PT_MAIN,
						.to = MK_PT_CALLED,
						.tid = 100 + i / 1000,
						.kind = PT_FLOW_CALL};

		assert_int_equal(pt_spans_step(spans, &s, NULL), 0);
	}
	assert_true(nr >= 2000000);
	assert_int_equal(pt_spans_end(spans, 2000), 0);
	assert_true(nr >= 6000000);
	pt_spans_free(spans);
	pt_names_free(names);
	close_dump(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_are_decoded),
		cmocka_unit_test(what_is_shown_is_harmless),
		cmocka_unit_test(small_pieces_of_code_take_little_room),
		cmocka_unit_test(places_without_code_are_gaps),
		cmocka_unit_test(switches_that_tell_nothing_new_are_one),
		cmocka_unit_test(offsets_do_not_go_around),
		cmocka_unit_test(steps_that_are_too_many_end_in_a_gap),
		cmocka_unit_test(what_goes_on_for_ever_is_given_up),
		cmocka_unit_test(open_calls_are_bounded),
	};

	return cmocka_run_group_tests_name("pthard", tests, NULL, NULL);
}
