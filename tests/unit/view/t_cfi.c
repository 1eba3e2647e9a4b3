/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Call frame information: found in sections made by hand and in this machine's own C library, made
 * fit to be run, refused where it is not.
 */
#include "dump/view/cfi/cfi.h"
#include "dump/base/elf.h"
#include "dump/view/cfi/elf_rules.h"
#include "dump/view/cfi/unwind_rules.h"

#include "dump/base/err.h"

#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ADDR 0x400000ull

/* ---- making sections ---- */

static void put(struct buf *b, const void *p, size_t n)
{
	assert_int_equal(buf_put(b, p, n), 0);
}

static void put32(struct buf *b, uint32_t v)
{
	put(b, &v, 4);
}

static void put64(struct buf *b, uint64_t v)
{
	put(b, &v, 8);
}

/* An entry of the id and the bytes; where it begins. */
static size_t entry(struct buf *b, uint32_t id, const void *p, size_t n)
{
	size_t at = b->len;

	put32(b, (uint32_t)n + 4);
	put32(b, id);
	put(b, p, n);
	return at;
}

/* def_cfa rsp 8, return address at -8 */
#define ENTRY_RULE 0x0c, 7, 8, 0x90, 1

/* "zR": pointers are relative, 4 bytes. */
static size_t cie(struct buf *b)
{
	static const uint8_t body[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, ENTRY_RULE, 0, 0};

	return entry(b, 0, body, sizeof(body));
}

static void fde(struct buf *b, size_t cie_at, uint64_t start, uint32_t bytes, const void *program,
		size_t n)
{
	uint32_t way = (uint32_t)(start - (ADDR + b->len + 8));
	struct buf body = {0};

	put32(&body, way);
	put32(&body, bytes);
	put(&body, "", 1);
	put(&body, program, n);
	entry(b, (uint32_t)(b->len + 4 - cie_at), body.p, body.len);
	buf_free(&body);
}

static struct cfi *parse(const struct buf *eh, const struct buf *debug)
{
	struct cfi_sections s = {.eh_frame_addr = ADDR};
	struct cfi *c;

	if (eh)
		s.eh_frame = (struct bytes){eh->p, eh->len};
	if (debug)
		s.debug_frame = (struct bytes){debug->p, debug->len};
	assert_int_equal(cfi_new(&s, &c), 0);
	return c;
}

/* push: advance 1, cfa offset 16 */
static const uint8_t push[] = {0x41, 0x0e, 16, 0, 0};

static void finds_by_address(void **state)
{
	struct buf b = {0};
	struct cfi_rule r, clean;
	struct buf bytes = {0};
	struct cfi *c;
	size_t at = cie(&b);

	/* Not in the order of their code, and the last part after an end. */
	fde(&b, at, 0x3000, 0x10, push, sizeof(push));
	fde(&b, at, 0x1000, 0x20, push, 0);
	put32(&b, 0);
	at = cie(&b);
	fde(&b, at, 0x2000, 0x10, push, sizeof(push));
	c = parse(&b, NULL);
	assert_false(cfi_find(c, 0xfff, &r));
	assert_true(cfi_find(c, 0x1000, &r));
	assert_int_equal(r.start, 0x1000);
	assert_int_equal(r.bytes, 0x20);
	assert_true(cfi_find(c, 0x101f, &r));
	assert_false(cfi_find(c, 0x1020, &r));
	assert_true(cfi_find(c, 0x2008, &r));
	assert_int_equal(r.start, 0x2000);
	assert_true(cfi_find(c, 0x3001, &r));
	assert_int_equal(r.start, 0x3000);
	assert_int_equal(r.code_align, 1);
	assert_int_equal(r.data_align, -8);
	assert_int_equal(r.return_register, 16);
	assert_int_equal(r.flags, 0);
	assert_int_equal(cfi_clean(&r, &bytes, &clean), 0);
	assert_int_equal(clean.initial.len, 5);
	assert_int_equal(clean.program.len, 3);
	assert_memory_equal(clean.program.p, push, 3);
	cfi_free(c);
	buf_free(&b);
	buf_free(&bytes);
}

static void knows_augmentations(void **state)
{
	static const uint8_t body[] = {1, 'z',	'P', 'L', 'R', 'S', 0,	  1,	0x78,	   16,
				       7, 0x9b, 1,   2,	  3,   4,   0x1b, 0x1b, ENTRY_RULE};
	static const uint8_t unknown[] = {1, 'z', 'R', 'B', 0, 1, 0x78, 16, 1, 0x1b, ENTRY_RULE};
	static const uint8_t unsized[] = {1, 'e', 'h', 0, 1, 0x78, 16, ENTRY_RULE};
	struct buf b = {0};
	struct cfi_rule r;
	struct cfi *c;
	size_t at;

	at = entry(&b, 0, body, sizeof(body));
	fde(&b, at, 0x1000, 0x10, push, 3);
	at = entry(&b, 0, unknown, sizeof(unknown));
	fde(&b, at, 0x2000, 0x10, push, 3);
	at = entry(&b, 0, unsized, sizeof(unsized));
	fde(&b, at, 0x3000, 0x10, push, 3);
	c = parse(&b, NULL);
	assert_true(cfi_find(c, 0x1000, &r));
	assert_int_equal(r.flags, CFI_SIGNAL);
	assert_int_equal(r.initial.len, 5);
	assert_true(cfi_find(c, 0x2000, &r));
	assert_int_equal(r.flags, 0);
	assert_false(cfi_find(c, 0x3000, &r));
	cfi_free(c);
	buf_free(&b);
}

/* A .debug_frame of version 4 with one function. */
static void debug_frame(struct buf *b, uint64_t start)
{
	static const uint8_t body[] = {4, 0, 8, 0, 1, 0x78, 16, ENTRY_RULE};
	struct buf code = {0};
	size_t at = entry(b, UINT32_MAX, body, sizeof(body));

	put64(&code, start);
	put64(&code, 0x10);
	put(&code, push, 3);
	entry(b, (uint32_t)at, code.p, code.len);
	buf_free(&code);
}

static void asks_debug_frame_last(void **state)
{
	struct buf eh = {0}, debug = {0};
	struct cfi_rule r;
	struct cfi *c;

	fde(&eh, cie(&eh), 0x1008, 0x10, push, 0);
	debug_frame(&debug, 0x1000);
	c = parse(&eh, &debug);
	assert_true(cfi_find(c, 0x1009, &r));
	assert_int_equal(r.start, 0x1008);
	assert_true(cfi_find(c, 0x1001, &r));
	assert_int_equal(r.start, 0x1000);
	assert_int_equal(r.program.len, 3);
	cfi_free(c);
	c = parse(NULL, &debug);
	assert_true(cfi_find(c, 0x100f, &r));
	cfi_free(c);
	buf_free(&eh);
	buf_free(&debug);
}

/* Cut anywhere, or with any byte changed: no more than a wrong answer. */
static void bears_damage(void **state)
{
	struct buf eh = {0}, debug = {0}, clean = {0};
	struct cfi_rule r;

	fde(&eh, cie(&eh), 0x1000, 0x10, push, sizeof(push));
	debug_frame(&debug, 0x1000);
	for (int which = 0; which < 2; which++) {
		struct buf *b = which ? &debug : &eh;

		for (size_t i = 0; i < b->len; i++) {
			uint8_t *copy = malloc(b->len - i);
			struct buf cut = {copy, b->len - i, 0};
			struct cfi *c;

			memcpy(copy, b->p, cut.len);
			c = parse(which ? NULL : &cut, which ? &cut : NULL);
			if (cfi_find(c, 0x1001, &r))
				cfi_clean(&r, &clean, &r);
			cfi_free(c);
			free(copy);
			for (int v = 0; v < 256; v += 17) {
				uint8_t was = b->p[i];

				b->p[i] = (uint8_t)v;
				c = parse(which ? NULL : b, which ? b : NULL);
				if (cfi_find(c, 0x1001, &r))
					cfi_clean(&r, &clean, &r);
				cfi_free(c);
				b->p[i] = was;
			}
		}
	}
	buf_free(&eh);
	buf_free(&debug);
	buf_free(&clean);
}

/* ---- cleaning ---- */

static int clean_of(const uint8_t *initial, size_t n, const uint8_t *program, size_t m,
		    struct buf *bytes, struct cfi_rule *out)
{
	struct cfi_rule r = {.start = 0x1000,
			     .bytes = 0x100,
			     .code_align = 1,
			     .data_align = -8,
			     .return_register = 16,
			     .initial = {initial, n},
			     .program = {program, m}};

	return cfi_clean(&r, bytes, out);
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void leaves_out_what_is_of_no_use(void **state)
{
	struct buf b = {0};
	struct cfi_rule r;

	/* args_size 16; offset of xmm1; undefined, expression of others; a nop; restore of r40 */
	assert_int_equal(clean_of(BYTES(ENTRY_RULE, 0, 0),
				  BYTES(0x2e, 16, 0x92, 3, 0x07, 33, 0x10, 40, 1, 0xff, 0, 0xe8,
					0x42, 0x86, 2),
				  &b, &r),
			 0);
	assert_int_equal(r.initial.len, 5);
	assert_int_equal(r.program.len, 3);
	assert_memory_equal(r.program.p, ((uint8_t[]){0x42, 0x86, 2}), 3);
	buf_free(&b);
}

static void refuses_what_could_harm(void **state)
{
	static const struct {
		const char *why;
		uint8_t program[12];
		size_t n;
	} bad[] = {
		{"set_loc", {0x01, 0, 0, 0, 0, 0, 0, 0, 0}, 9},
		{"an unknown instruction", {0x3f}, 1},
		{"a register that is copied from one that is not followed", {0x09, 3, 17}, 3},
		{"a frame by a register that is not followed", {0x0c, 17, 8}, 3},
		{"restored what was not remembered", {0x0b}, 1},
		{"restored twice", {0x0a, 0x0b, 0x0b}, 3},
		{"an expression that jumps back", {0x0f, 3, 0x2f, 0xfd, 0xff}, 5},
		{"an expression that branches", {0x10, 6, 3, 0x28, 0xfd, 0xff}, 6},
		{"an expression that divides", {0x0f, 1, 0x1b}, 3},
		{"an expression with an address", {0x0f, 9, 0x03, 1, 2, 3, 4, 5, 6, 7, 8}, 11},
		{"an expression with a register beyond", {0x0f, 2, 0x81, 0}, 4},
		{"an empty expression", {0x0f, 0}, 2},
		{"an expression that is cut", {0x0f, 3, 0x77}, 3},
		{"an operator that is cut", {0x0f, 1, 0x77}, 3},
		{"an operand that is cut", {0x0e}, 1},
		{"a number that does not end", {0x0e, 0x80, 0x80}, 3},
		{"a frame far away", {0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f}, 6},
		{"val_offset", {0x14, 3, 1}, 3},
	};
	struct buf b = {0}, large = {0};
	struct cfi_rule r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (clean_of(BYTES(ENTRY_RULE), bad[i].program, bad[i].n, &b, &r) != -EBADMSG)
			fail_msg("takes %s", bad[i].why);
	/* The frame's address has to be known from the start. */
	assert_int_equal(clean_of(NULL, 0, BYTES(0x86, 2), &b, &r), -EBADMSG);
	assert_int_equal(clean_of(NULL, 0, BYTES(0x41, ENTRY_RULE), &b, &r), -EBADMSG);
	assert_int_equal(clean_of(NULL, 0, BYTES(0x0a, ENTRY_RULE, 0x0b), &b, &r), -EBADMSG);
	assert_int_equal(clean_of(BYTES(ENTRY_RULE, 0x41), NULL, 0, &b, &r), -EBADMSG);
	assert_int_equal(clean_of(BYTES(0x0a, ENTRY_RULE, 0x0b), NULL, 0, &b, &r), -EBADMSG);
	assert_int_equal(clean_of(NULL, 0, BYTES(ENTRY_RULE), &b, &r), 0);
	/* No larger than it may be, nops or not. */
	for (size_t i = 0; i <= CFI_MAX_PROGRAM_BYTES; i++)
		put(&large, "", 1);
	assert_int_equal(clean_of(BYTES(ENTRY_RULE), large.p, large.len, &b, &r), -EBADMSG);
	assert_int_equal(clean_of(BYTES(ENTRY_RULE), large.p, large.len - 1, &b, &r), 0);
	buf_free(&large);
	buf_free(&b);
}

static void keeps_what_compilers_make(void **state)
{
	struct buf b = {0};
	struct cfi_rule r;

	/* A stub's: rsp + 8 + ((rip & 15) >= 11) * 8; a realigned stack's: *(rbp - 8) */
	assert_int_equal(clean_of(BYTES(ENTRY_RULE),
				  BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
					0x24, 0x22),
				  &b, &r),
			 0);
	assert_int_equal(r.program.len, 13);
	assert_int_equal(clean_of(BYTES(ENTRY_RULE),
				  BYTES(0x0a, 0x41, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0,
					0x41, 0x0b, 0x07, 16),
				  &b, &r),
			 0);
	assert_int_equal(r.program.len, 16);
	buf_free(&b);
}

/* ---- code ---- */

static void knows_the_code_of_returns_and_stubs(void **state)
{
	static const uint8_t back[] = {0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0xc3};
	static const uint8_t lazy[] = {0xff, 0x25, 1, 2, 3, 0, 0x68, 1, 0, 0, 0, 0xe9, 0, 0, 0, 0};
	static const uint8_t secure[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1,
					 2,    3,    4,	   0x0f, 0x1f, 0x44, 0,	   0};
	static const uint8_t other[16] = {0x55, 0x48, 0x89, 0xe5};
	struct buf b = {0};
	struct cfi_rule r;

	/* The byte before is looked up too: when a handler returns to it, it counts as a call. */
	for (size_t at = 0; at < 9; at++) {
		assert_true(cfi_of_code((struct bytes){back, sizeof(back)}, at, &r));
		assert_int_equal(r.flags, CFI_SIGNAL);
		assert_int_equal(r.start, 0);
		assert_int_equal(cfi_clean(&r, &b, &r), 0);
	}
	assert_false(cfi_of_code((struct bytes){back, 8}, 1, &r));
	for (size_t at = 0; at < 16; at++) {
		assert_true(cfi_of_code((struct bytes){lazy, 16}, at, &r));
		assert_true(at - r.start < r.bytes);
		assert_int_equal(r.initial.p[2], at < 11 ? 8 : 16);
		assert_int_equal(cfi_clean(&r, &b, &r), 0);
		assert_int_equal(cfi_of_code((struct bytes){secure, 16}, at, &r), at < 11);
		assert_false(cfi_of_code((struct bytes){other, 16}, at, &r));
	}
	assert_false(cfi_of_code((struct bytes){other, 16}, 16, &r));
	buf_free(&b);
}

/* ---- rules ---- */

static void keeps_rules_by_image_and_place(void **state)
{
	struct unwind_rules *rules = unwind_rules_new();
	const struct unwind_rule *first, *again;
	static const uint8_t entry_program[] = {ENTRY_RULE};
	struct cfi_rule r = {.start = 0x1000,
			     .bytes = 0x10,
			     .code_align = 1,
			     .data_align = -8,
			     .return_register = 16,
			     .initial = {entry_program, sizeof(entry_program)}};
	uint32_t groups[] = {7, 3};

	assert_int_equal(unwind_rules_add(rules, 1, &r, &first), 0);
	assert_int_equal(unwind_rules_add(rules, 1, &r, &again), 0);
	assert_ptr_equal(first, again);
	r.start = 0x800;
	assert_int_equal(unwind_rules_add(rules, 1, &r, &again), 0);
	assert_ptr_equal(unwind_rules_find(rules, 1, 0x100f), first);
	assert_ptr_equal(unwind_rules_find(rules, 1, 0x800), again);
	assert_null(unwind_rules_find(rules, 1, 0x1010));
	assert_null(unwind_rules_find(rules, 0, 0x1000));
	assert_null(unwind_rules_find(rules, 2, 0x1000));
	assert_ptr_equal(unwind_rules_in_order(rules, 0), again);
	assert_null(unwind_rules_in_order(rules, 2));
	assert_ptr_equal(unwind_rules_nth(rules, first->id), first);
	unwind_rules_free(rules);

	rules = unwind_rules_new();
	assert_int_equal(unwind_rules_put(rules, 1, &r), 0);
	r.start = 0x100;
	assert_int_equal(unwind_rules_put(rules, 0, &r), 0);
	r.start = 0x80;
	assert_int_equal(unwind_rules_put(rules, 0, &r), 0);
	assert_int_equal(unwind_rules_put(rules, 0, &r), 0);
	r.bytes = 0;
	assert_int_equal(unwind_rules_put(rules, 0, &r), -EBADMSG);
	unwind_rules_sort(rules, groups);
	assert_int_equal(unwind_rules_find(rules, 3, 0x80f)->r.start, 0x800);
	assert_int_equal(unwind_rules_find(rules, 7, 0x8f)->r.start, 0x80);
	assert_int_equal(unwind_rules_find(rules, 7, 0x100)->r.start, 0x100);
	assert_null(unwind_rules_find(rules, 1, 0x800));
	assert_null(unwind_rules_in_order(rules, 3));
	unwind_rules_free(rules);
}

/* ---- a real file ---- */

struct real {
	struct elf_rules *f;
	struct elf_segment segments[64];
	size_t nr_segments, nr, nr_none, nr_refused, nr_wrong;
};

static int one_function(void *ctx, const struct elf_symbol *s)
{
	struct real *t = ctx;
	struct cfi_rule r;
	struct buf b = {0};
	uint64_t off = 0;

	for (size_t i = 0; i < t->nr_segments; i++)
		if (s->value - t->segments[i].value < t->segments[i].bytes)
			off = s->value - t->segments[i].value + t->segments[i].offset;
	if (!s->defined || s->bytes < 16 || !off)
		return 0;
	t->nr++;
	if (!elf_rules_find(t->f, off, &r)) {
		t->nr_none++;
	} else {
		t->nr_wrong += off - r.start >= r.bytes;
		t->nr_refused += cfi_clean(&r, &b, &r) != 0;
	}
	buf_free(&b);
	return 0;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	if (strstr(info->dlpi_name, "/libc.so"))
		*(const char **)ctx = strdup(info->dlpi_name);
	return 0;
}

static void all_of_libc_can_be_unwound(void **state)
{
	char *path = NULL;
	struct real t = {0};
	struct elf *e;

	dl_iterate_phdr(find_libc, &path);
	assert_non_null(path);
	assert_int_equal(elf_open(path, &e, NULL), 0);
	assert_int_equal(elf_rules_open(e, &t.f), 0);
	t.nr_segments = elf_code_segments(e, t.segments, 64);
	elf_each_function(e, one_function, &t);
	print_message("# %zu functions of %s: %zu without a rule\n", t.nr, path, t.nr_none);
	assert_true(t.nr > 1000);
	assert_int_equal(t.nr_refused, 0);
	assert_int_equal(t.nr_wrong, 0);
	assert_true(t.nr_none < t.nr / 100);
	elf_rules_close(t.f);
	elf_close(e);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_address),
		cmocka_unit_test(knows_augmentations),
		cmocka_unit_test(asks_debug_frame_last),
		cmocka_unit_test(bears_damage),
		cmocka_unit_test(leaves_out_what_is_of_no_use),
		cmocka_unit_test(refuses_what_could_harm),
		cmocka_unit_test(keeps_what_compilers_make),
		cmocka_unit_test(knows_the_code_of_returns_and_stubs),
		cmocka_unit_test(keeps_rules_by_image_and_place),
		cmocka_unit_test(all_of_libc_can_be_unwound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
