/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* Names of addresses, and stacks made of them, out of hand-made dumps. */
#include "dump/view/print/demangle.h"
#include "dump/view/base/intern.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/model/timeline.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define APP  "/usr/bin/app"
#define BASE 0x555500000000ull

struct world {
	struct mk d;
	struct reader *r;
	struct process_history *p;
	struct symbols *s;
};

/* Process 10, with its file mapped from offset 0x1000 on, and with 0x1000 bytes of its own code. */
static struct world begin(void)
{
	struct world w = {.d = mk_begin()};
	struct fmt_map app = {
		.key = 1, .path = 1, .start = BASE, .end = BASE + 0x2000, .pgoff = 0x1000};
	struct fmt_map own = {.key = 1, .path = 2, .start = 0x7000, .end = 0x8000};

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_task(&w.d, 2, 11, 10, 1, 0, 0);
	mk_path(&w.d, 1, APP);
	mk_path(&w.d, 2, "//anon");
	mk_map(&w.d, &app);
	mk_map(&w.d, &own);
	return w;
}

static void load(struct world *w)
{
	w->r = mk_end(&w->d);
	assert_int_equal(history_load(w->r, &w->p, NULL), 0);
	assert_int_equal(symbols_load(w->r, w->p, &w->s, NULL), 0);
}

static void unload(struct world *w)
{
	symbols_free(w->s);
	history_free(w->p);
	mk_close(&w->d, w->r);
}

static size_t broken(const struct world *w)
{
	struct symbols_counts c;

	symbols_counts(w->s, &c);
	return c.nr_broken;
}

static struct symbol_place user(const struct world *w, uint64_t addr)
{
	struct symbol_place p[SYMBOLS_MAX_DEPTH];
	struct history_span span;

	assert_true(symbols_user(w->s, 11, 500, addr, p, SYMBOLS_MAX_DEPTH, &span) == 1);
	assert_true(span.from_ns <= 500 && 500 <= span.to_ns);
	return p[0];
}

static struct symbol_place kernel(const struct world *w, uint64_t addr)
{
	struct symbol_place p[SYMBOLS_MAX_DEPTH];

	assert_true(symbols_kernel(w->s, 500, addr, p, SYMBOLS_MAX_DEPTH, NULL) == 1);
	return p[0];
}

static void names_of_a_file(void **state)
{
	struct world w = begin();
	struct symbol_place p;

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 0, 0x1100, 0x10, "second");
	mk_function(&w.d, 0, 0x1000, 0x80, "first");
	load(&w);
	p = user(&w, BASE);
	assert_string_equal(p.function, "first");
	assert_int_equal(p.function_off, 0);
	assert_string_equal(p.image, APP);
	assert_int_equal(p.image_off, 0x1000);
	assert_int_equal(p.build_id_bytes, 3);
	p = user(&w, BASE + 0x7f);
	assert_string_equal(p.function, "first");
	assert_int_equal(p.function_off, 0x7f);
	assert_ptr_equal(p.function, user(&w, BASE + 1).function);
	/* Between the two, and behind the last. */
	assert_null(user(&w, BASE + 0x80).function);
	assert_int_equal(user(&w, BASE + 0x80).image_off, 0x1080);
	assert_string_equal(user(&w, BASE + 0x10f).function, "second");
	assert_null(user(&w, BASE + 0x110).function);
	/* Where nothing is mapped the address is all there is. */
	p = user(&w, 0x123);
	assert_null(p.image);
	assert_int_equal(p.image_off, 0x123);
	assert_int_equal(broken(&w), 0);
	unload(&w);
}

static void another_build_is_another_file(void **state)
{
	struct world w = begin();

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 9, APP);
	mk_function(&w.d, 0, 0x1000, 0x80, "of_another_build");
	load(&w);
	assert_null(user(&w, BASE).function);
	unload(&w);
	w = begin();
	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 9, APP);
	mk_function(&w.d, 0, 0x1000, 0x80, "of_another_build");
	mk_image(&w.d, 1, FMT_IMAGE_FILE, 0, 0, APP);
	mk_function(&w.d, 1, 0x1000, 0x80, "of_no_build");
	load(&w);
	assert_string_equal(user(&w, BASE).function, "of_no_build");
	unload(&w);
}

/* Mappings tell a file's inode or its build-id: of one build it is one file, and what nothing was
 * found for under one does not hide what was found under the other. */
static void one_build_is_one_file(void **state)
{
	struct fmt_image with_ino = {
		.id = 1,
		.kind = FMT_IMAGE_FILE,
		.build_id_bytes = 3,
		.build_id = {1, 2, 1},
		.ino = 77,
		.maj = 8,
	};
	struct world w = begin();

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_item(&w.d, FMT_SYMBOLS, FMT_SYM_IMAGE, &with_ino, sizeof(with_ino), APP, strlen(APP));
	mk_function(&w.d, 1, 0x1000, 0x10, "found");
	load(&w);
	assert_string_equal(user(&w, BASE).function, "found");
	unload(&w);
}

static void an_image_may_be_in_several_blocks(void **state)
{
	struct world w = begin();

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 0, 0x1000, 0x10, "first");
	mk_text(&w.d, FMT_TRIGGER, FMT_TRIGGER_NAME, "another block between");
	mk_image(&w.d, 0, FMT_IMAGE_KERNEL, 0, 0, "[kernel.kallsyms]");
	mk_function(&w.d, 0, 0xffffffff81000000, 0x10, "_stext");
	mk_image(&w.d, 1, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 1, 0x1010, 0x10, "second");
	load(&w);
	assert_string_equal(user(&w, BASE).function, "first");
	assert_string_equal(user(&w, BASE + 0x10).function, "second");
	assert_string_equal(kernel(&w, 0xffffffff81000003).function, "_stext");
	unload(&w);
}

static void kernel_and_modules_are_one(void **state)
{
	struct world w = begin();

	mk_image(&w.d, 0, FMT_IMAGE_KERNEL, 0, 0, "[kernel.kallsyms]");
	mk_image(&w.d, 1, FMT_IMAGE_KERNEL, 0, 0, "[ext4]");
	mk_function(&w.d, 1, 0xffffffffc0000000, 0x100, "ext4_sync_file");
	mk_function(&w.d, 0, 0xffffffff81000000, 0x100, "schedule");
	load(&w);
	assert_string_equal(kernel(&w, 0xffffffff81000001).function, "schedule");
	assert_string_equal(kernel(&w, 0xffffffff81000001).image, "[kernel.kallsyms]");
	assert_string_equal(kernel(&w, 0xffffffffc0000001).function, "ext4_sync_file");
	assert_string_equal(kernel(&w, 0xffffffffc0000001).image, "[ext4]");
	assert_null(kernel(&w, 0xffffffff90000000).function);
	assert_non_null(kernel(&w, 0xffffffff90000000).image);
	/* Not to be taken for each other's. */
	assert_null(user(&w, 0xffffffff81000001).function);
	unload(&w);
}

static void code_that_a_process_made(void **state)
{
	struct world w = begin();

	mk_image(&w.d, 0, FMT_IMAGE_TASK, 1, 0, "/tmp/perf-10.map");
	mk_function(&w.d, 0, 0x7100, 0x20, "LazyCompile:~work a.js:3");
	mk_image(&w.d, 1, FMT_IMAGE_TASK, 7, 0, "/tmp/perf-70.map");
	mk_function(&w.d, 1, 0x7200, 0x20, "of_another_process");
	load(&w);
	assert_string_equal(user(&w, 0x7110).function, "LazyCompile:~work a.js:3");
	assert_int_equal(user(&w, 0x7110).function_off, 0x10);
	assert_string_equal(user(&w, 0x7110).image, "//anon");
	assert_null(user(&w, 0x7210).function);
	unload(&w);
}

static void inlined_functions_come_first(void **state)
{
	struct world w = begin();
	struct symbol_place p[SYMBOLS_MAX_DEPTH];

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 0, 0x1000, 0x80, "outer");
	mk_place(&w.d, 0, 0x1010, 2, 30, "outer", "a.c");
	mk_place(&w.d, 0, 0x1010, 0, 10, "inner", "a.h");
	mk_place(&w.d, 0, 0x1010, 1, 20, "middle", "a.c");
	mk_place(&w.d, 0, 0x1020, 0, 40, "", "a.c");
	load(&w);
	assert_int_equal(symbols_user(w.s, 10, 5, BASE + 0x10, p, SYMBOLS_MAX_DEPTH, NULL), 3);
	assert_string_equal(p[0].function, "inner");
	assert_string_equal(p[0].file, "a.h");
	assert_int_equal(p[0].line, 10);
	assert_true(p[0].inlined && p[1].inlined && !p[2].inlined);
	assert_string_equal(p[1].function, "middle");
	assert_string_equal(p[2].function, "outer");
	assert_int_equal(p[2].function_off, 0x10);
	assert_int_equal(p[2].line, 30);
	/* No more than there is room for. */
	assert_int_equal(symbols_user(w.s, 10, 5, BASE + 0x10, p, 1, NULL), 1);
	assert_string_equal(p[0].function, "inner");
	p[0] = user(&w, BASE + 0x20);
	assert_string_equal(p[0].function, "outer");
	assert_int_equal(p[0].line, 40);
	assert_false(p[0].inlined);
	unload(&w);
}

static void what_is_broken_is_counted(void **state)
{
	struct world w = begin();
	struct fmt_image f = {.id = 5};
	struct fmt_place no_room = {.function_bytes = 100};

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 0, 0x1000, 0x80, "whole");
	mk_function(&w.d, 3, 0x1000, 0x80, "of no image");
	mk_function(&w.d, 0, 0x1000, 0, "empty");
	mk_function(&w.d, 0, UINT64_MAX, 2, "wraps");
	mk_function(&w.d, 0, 0x1000, 0x80, "");
	mk_item(&w.d, FMT_SYMBOLS, FMT_SYM_IMAGE, &f, sizeof(f), "x", 1);
	mk_item(&w.d, FMT_SYMBOLS, FMT_SYM_IMAGE, &f, 8, NULL, 0);
	mk_item(&w.d, FMT_SYMBOLS, FMT_SYM_PLACE, &no_room, sizeof(no_room), "x", 1);
	mk_item(&w.d, FMT_SYMBOLS, 99, NULL, 0, "a kind of later", 15);
	load(&w);
	assert_string_equal(user(&w, BASE).function, "whole");
	assert_int_equal(broken(&w), 7);
	unload(&w);
}

/* ---- names ---- */

static void names_are_demangled(void **state)
{
	char out[256], deep[4000] = "_Z1f";
	const char *plain = "main";

	assert_string_equal(demangle("_ZN3foo3barEiPKc", out, sizeof(out)), "foo::bar");
	assert_string_equal(demangle("_RNvC6_123foo3bar", out, sizeof(out)), "123foo::bar");
	assert_string_equal(demangle("_ZN4core3fmt5write17h0123456789abcdefE", out, sizeof(out)),
			    "core::fmt::write");
	assert_ptr_equal(demangle(plain, out, sizeof(out)), plain);
	assert_string_equal(demangle("_Znonsense", out, sizeof(out)), "_Znonsense");
	/* What has no room stays as it is, also when it would be longer than memory. */
	assert_string_equal(demangle("_ZN3foo3barEiPKc", out, 8), "_ZN3foo3barEiPKc");
	assert_string_equal(demangle("_ZN3foo3barEiPKc", out, 9), "foo::bar");
	strcat(deep, "IiE");
	for (int i = 0; i < 200; i++)
		strcat(deep, "St4pairIS_S_E");
	assert_non_null(demangle(deep, out, sizeof(out)));
}

static void texts_are_kept_once(void **state)
{
	struct intern in = {0};
	const char *many[5000];
	char text[32];

	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name%d", i);
		many[i] = intern(&in, (struct bytes){(uint8_t *)text, strlen(text)});
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "name%d", i);
		assert_string_equal(many[i], text);
		/* Up to its first NUL. */
		assert_ptr_equal(intern(&in, (struct bytes){(uint8_t *)text, sizeof(text)}),
				 many[i]);
	}
	assert_int_equal(in.index.nr, 5000);
	assert_string_equal(intern(&in, (struct bytes){NULL, 0}), "");
	assert_ptr_not_equal(intern(&in, (struct bytes){(uint8_t *)"name4999", 7}), many[4999]);
	intern_free(&in);
}

/* ---- stacks ---- */

static void stack_of(struct world *w, const uint64_t *chain, uint64_t nr, struct stack *out,
		     struct stacks *st)
{
	struct timeline_record rec = {.time_ns = 500, .tid = 10};

	rec.s.callchain = (const uint8_t *)chain;
	rec.s.nr_callchain = nr;
	rec.s.have = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	stack_get(st, &rec, out);
}

static void name_is(const struct stack_frame *f, const char *name)
{
	struct text t = TEXT_INIT(NULL);

	stack_name(f, &t);
	text_char(&t, '\0');
	assert_string_equal((char *)t.b.p, name);
	text_free(&t);
}

static void stacks_have_names(void **state)
{
	struct world w = begin();
	struct stacks *st;
	struct stack s;
	/* A return address right behind its function: the call is its last instruction. */
	const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL,
		0xffffffff81000000,
		0xffffffff81000200,
		(uint64_t)PERF_CONTEXT_USER,
		BASE + 0x80,
		BASE + 0x80,
		BASE + 0x1000,
		0x123,
	};
	struct timeline_record ip = {.time_ns = 500, .tid = 10};

	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	mk_function(&w.d, 0, 0x1000, 0x80, "caller");
	mk_function(&w.d, 0, 0x1080, 0x80, "leaf");
	mk_image(&w.d, 1, FMT_IMAGE_KERNEL, 0, 0, "[kernel.kallsyms]");
	mk_function(&w.d, 1, 0xffffffff81000000, 0x100, "do_it");
	mk_function(&w.d, 1, 0xffffffff81000100, 0x100, "do_call");
	load(&w);
	assert_int_equal(stacks_new(NULL, w.p, w.s, &st, NULL), 0);
	for (int again = 0; again < 2; again++) {
		stack_of(&w, chain, 8, &s, st);
		assert_int_equal(s.nr, 6);
		assert_int_equal(s.end, STACK_COMPLETE);
		assert_true(s.frames[0].kernel && s.frames[1].kernel && !s.frames[2].kernel);
		name_is(&s.frames[0], "do_it");
		name_is(&s.frames[1], "do_call");
		name_is(&s.frames[2], "leaf");
		name_is(&s.frames[3], "caller");
		assert_int_equal(s.frames[3].ip, BASE + 0x80);
		name_is(&s.frames[4], "app+0x1fff");
		name_is(&s.frames[5], "0x123");
	}
	ip.s.have = PERF_SAMPLE_IP;
	ip.s.ip = BASE + 3;
	stack_get(st, &ip, &s);
	assert_int_equal(s.nr, 1);
	name_is(&s.frames[0], "caller");
	ip.s.have = 0;
	stack_get(st, &ip, &s);
	assert_int_equal(s.nr, 0);
	assert_int_equal(s.end, STACK_EMPTY);
	stacks_free(st);
	unload(&w);
}

/* What was loaded at the time counts, not what lies there now. */
static void kernel_code_comes_and_goes(void **state)
{
	struct world w = begin();
	struct fmt_ksym k = {.addr = 0xffffffffc0001000,
			     .bytes = 0x100,
			     .type = PERF_RECORD_KSYMBOL_TYPE_BPF,
			     .ns = 100,
			     .end_ns = 200};
	struct symbol_place p[2];
	struct history_span span;

	mk_item(&w.d, FMT_LEDGER, FMT_LEDGER_KSYM, &k, sizeof(k), "bpf_prog_1_old", 14);
	k.ns = 300;
	k.end_ns = 0;
	mk_item(&w.d, FMT_LEDGER, FMT_LEDGER_KSYM, &k, sizeof(k), "bpf_prog_2_new", 14);
	load(&w);
	assert_int_equal(symbols_kernel(w.s, 150, k.addr + 0x10, p, 2, &span), 1);
	assert_string_equal(p[0].function, "bpf_prog_1_old");
	assert_int_equal(p[0].function_off, 0x10);
	assert_string_equal(p[0].image, "[bpf]");
	assert_true(span.from_ns == 100 && span.to_ns == 199);
	symbols_kernel(w.s, 250, k.addr + 0x10, p, 2, &span);
	assert_null(p[0].function);
	assert_true(span.from_ns == 200 && span.to_ns == 299);
	symbols_kernel(w.s, 400, k.addr + 0xff, p, 2, &span);
	assert_string_equal(p[0].function, "bpf_prog_2_new");
	symbols_kernel(w.s, 400, k.addr + 0x100, p, 2, NULL);
	assert_null(p[0].function);
	unload(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_file),
		cmocka_unit_test(another_build_is_another_file),
		cmocka_unit_test(one_build_is_one_file),
		cmocka_unit_test(an_image_may_be_in_several_blocks),
		cmocka_unit_test(kernel_and_modules_are_one),
		cmocka_unit_test(kernel_code_comes_and_goes),
		cmocka_unit_test(code_that_a_process_made),
		cmocka_unit_test(inlined_functions_come_first),
		cmocka_unit_test(what_is_broken_is_counted),
		cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(texts_are_kept_once),
		cmocka_unit_test(stacks_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
