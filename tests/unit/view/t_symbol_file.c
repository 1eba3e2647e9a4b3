/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Names of places in files: of this very program, of the vdso, of lists of kernel symbols; and of
 * this program damaged in many ways, which must not lead out of its bytes.
 */
#include "dump/base/err.h"
#include "dump/view/symbols/kallsyms.h"
#include "dump/view/symbols/symbol_file.h"
#include "dump/view/base/xz.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NR_MUTANTS 400

/* Where it is must be found again. */
static const uint32_t find_me_line = __LINE__ + 1;
__attribute__((noinline, used)) static int find_me_again(int x)
{
	return x * 3 + 1;
}

static struct buf read_self(void)
{
	struct buf b = {0};
	uint8_t piece[1 << 16];
	FILE *f = fopen("/proc/self/exe", "re");
	size_t n;

	assert_non_null(f);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		assert_int_equal(buf_put(&b, piece, n), 0);
	fclose(f);
	return b;
}

/* Of the code at `at` in this program's file. */
static uint64_t offset_of(const void *at)
{
	uint64_t start, end, off, found = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 &&
		    (uintptr_t)at >= start && (uintptr_t)at < end)
			found = (uintptr_t)at - start + off;
	fclose(f);
	assert_true(found);
	return found;
}

static struct symbol_file *open_self(uint64_t max_dwarf_bytes)
{
	struct symbol_file_options opt = {.max_dwarf_bytes = max_dwarf_bytes};
	struct symbol_file *f;
	struct elf *e;

	assert_int_equal(elf_open("/proc/self/exe", &e, NULL), 0);
	assert_int_equal(symbol_file_open(e, &opt, &f, NULL), 0);
	return f;
}

static void test_self(void **state)
{
	uint64_t at = offset_of((const void *)(uintptr_t)find_me_again);
	struct symbol_file *f = open_self(1u << 30);
	struct symbol_table_function found;
	struct dwarf_place places[4];

	assert_true(symbol_file_find(f, at + 2, &found));
	assert_string_equal(found.name, "find_me_again");
	assert_int_equal(found.start, at);
	assert_true(found.bytes > 2);
	assert_string_equal(symbol_file_origin(f), ".symtab");
	assert_true(symbol_file_has_source(f));
	assert_int_equal(symbol_file_places(f, at, places, 4), 1);
	assert_string_equal(places[0].function, "find_me_again");
	assert_non_null(strstr(places[0].file, "t_symbol_file.c"));
	assert_in_range(places[0].line, find_me_line, find_me_line + 2);
	assert_false(symbol_file_find(f, UINT64_MAX, &found));
	assert_int_equal(symbol_file_places(f, UINT64_MAX, places, 4), 0);
	symbol_file_close(f);
	assert_int_equal(find_me_again(1), 4);
}

/* Calls of libraries go through stubs, unless the linker was told otherwise. */
static int see_stub(void *ctx, const struct elf_code *c)
{
	int *nr = ctx;

	*nr += !strcmp(c->name, "_cmocka_run_group_tests");
	assert_true(c->value && c->bytes);
	return 0;
}

static void test_stubs(void **state)
{
	struct elf *e;
	int nr = 0;

	assert_int_equal(elf_open("/proc/self/exe", &e, NULL), 0);
	assert_int_equal(elf_each_stub(e, see_stub, &nr), 0);
	assert_true(nr >= 1);
	elf_close(e);
}

/* Without DWARF being asked for there is none; segments from elsewhere win. */
static void test_segments(void **state)
{
	uint64_t at = offset_of((const void *)(uintptr_t)find_me_again);
	struct symbol_file *f = open_self(0);
	const struct elf_segment *v;
	struct elf_segment moved[SYMFILE_MAX_SEGMENTS];
	size_t nr = symbol_file_segments(f, &v);
	struct symbol_file_options opt = {.segments = moved, .nr_segments = nr};
	struct symbol_table_function found;
	struct elf *e;

	assert_false(symbol_file_has_source(f));
	assert_true(nr >= 1);
	memcpy(moved, v, nr * sizeof(*v));
	for (size_t i = 0; i < nr; i++)
		moved[i].offset += 0x10000000;
	symbol_file_close(f);
	assert_int_equal(elf_open("/proc/self/exe", &e, NULL), 0);
	assert_int_equal(symbol_file_open(e, &opt, &f, NULL), 0);
	assert_false(symbol_file_find(f, at, &found));
	assert_true(symbol_file_find(f, at + 0x10000000, &found));
	assert_string_equal(found.name, "find_me_again");
	assert_int_equal(found.start, at + 0x10000000);
	symbol_file_close(f);
}

/* ---- the best name ---- */

static const char *name_at(const struct symbol_table *t, uint64_t value)
{
	struct symbol_table_function f;

	return symbol_table_find(t, value, &f) ? f.name : NULL;
}

static void test_names(void **state)
{
	struct symbol_table *t = symbol_table_new();

	symbol_table_add(t, 0x100, 0x10, SYMTAB_WEAK, "weak");
	symbol_table_add(t, 0x100, 0x10, SYMTAB_GLOBAL, "__inner_name");
	symbol_table_add(t, 0x100, 0x10, SYMTAB_GLOBAL, "name");
	symbol_table_add(t, 0x100, 0, SYMTAB_LABEL, "label");
	symbol_table_add(t, 0x108, 0, SYMTAB_LABEL, "within");
	symbol_table_add(t, 0x120, 0, SYMTAB_LOCAL, "to_the_next");
	symbol_table_add(t, 0x140, 0x100, SYMTAB_LOCAL, "outer");
	symbol_table_add(t, 0x150, 0x10, SYMTAB_LOCAL, "inner");
	symbol_table_add(t, 0x300, 0, SYMTAB_LABEL, "last");
	symbol_table_sort(t, 0x320);
	assert_string_equal(name_at(t, 0x100), "name");
	assert_string_equal(name_at(t, 0x10f), "name");
	assert_null(name_at(t, 0x110));
	assert_null(name_at(t, 0xff));
	assert_string_equal(name_at(t, 0x13f), "to_the_next");
	assert_string_equal(name_at(t, 0x14f), "outer");
	assert_string_equal(name_at(t, 0x15f), "inner");
	assert_string_equal(name_at(t, 0x160), "outer");
	assert_string_equal(name_at(t, 0x31f), "last");
	assert_null(name_at(t, 0x320));
	symbol_table_free(t);
}

/* ---- the kernel's list ---- */

static int read_list(const char *text, struct kallsyms **out)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int rc;

	assert_non_null(in);
	rc = kallsyms_read(in, out);
	fclose(in);
	return rc;
}

static void test_kallsyms(void **state)
{
	struct kallsyms_function f;
	struct kallsyms *k;

	assert_int_equal(read_list("0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000100 t one\n"
				   "ffffffff81000180 D data\n"
				   "nonsense\n"
				   "ffffffff81000200 W two\n"
				   "ffffffffc0000000 t mod_one\t[ext4]\n"
				   "ffffffffc0000040 t mod_two\t[ext4]\n",
				   &k),
			 0);
	assert_int_equal(kallsyms_text(k), 0xffffffff81000000);
	assert_true(kallsyms_find(k, 0xffffffff810001ff, &f));
	assert_int_equal(f.start, 0xffffffff81000100);
	assert_int_equal(f.bytes, 0x100);
	assert_memory_equal(f.name, "one", f.name_bytes);
	assert_string_equal(f.module, "");
	assert_true(kallsyms_find(k, 0xffffffffc0000050, &f));
	assert_int_equal(f.name_bytes, 7);
	assert_string_equal(f.module, "[ext4]");
	/* Nothing says how long the last function of a module is; not that long. */
	assert_false(kallsyms_find(k, 0xffffffffc0100000, &f));
	assert_false(kallsyms_find(k, 0xffffffff80000000, &f));
	kallsyms_free(k);
	assert_int_equal(read_list("0000000000000000 T _text\n0000000000000000 t one\n", &k),
			 -EACCES);
	assert_int_equal(read_list("", &k), -EACCES);
}

/* ---- damage ---- */

static void look_up_all(struct elf *e)
{
	struct symbol_file_options opt = {.path = "/nowhere/at/all", .max_dwarf_bytes = 1u << 26};
	struct dwarf_place places[16];
	struct symbol_table_function found;
	struct symbol_file *f;

	if (symbol_file_open(e, &opt, &f, NULL))
		return;
	for (uint64_t at = 0; at < 0x40000; at += 0x3d1) {
		symbol_file_find(f, at, &found);
		for (size_t i = symbol_file_places(f, at, places, 16); i--;)
			assert_true(strlen(places[i].function) + strlen(places[i].file) < 1u << 24);
	}
	symbol_file_close(f);
}

/* Some bytes of the headers at its beginning, of its end, or of anywhere. */
static void mutate(struct buf *b, unsigned *seed)
{
	int nr = 1 + rand_r(seed) % 8, where = rand_r(seed) % 3;

	for (int i = 0; i < nr; i++) {
		size_t span = where == 2 ? b->len : b->len < 4096 ? b->len : 4096;
		size_t at = ((size_t)rand_r(seed) << 15 ^ (size_t)rand_r(seed)) % span;

		if (where == 1)
			at += b->len - span;
		b->p[at] = (uint8_t)(rand_r(seed) % 3 ? rand_r(seed) : rand_r(seed) % 2 ? 0xff : 0);
	}
	if (rand_r(seed) % 16 == 0)
		b->len = (size_t)rand_r(seed) % b->len;
}

static void one_mutant(const struct buf *whole, unsigned seed)
{
	struct buf b = {0};
	struct elf *e;

	assert_int_equal(buf_put(&b, whole->p, whole->len), 0);
	mutate(&b, &seed);
	if (!elf_open_memory(&b, "mutant", &e, NULL))
		look_up_all(e);
}

/* Each in a process of its own, as where it matters: libelf and libdw may fall over what they do
 * not expect, and then that is all that does. What is ours must not. */
static void test_mutants(void **state)
{
	struct buf whole = read_self();
	unsigned nr_fallen = 0;
	int status;

	for (unsigned i = 0; i < NR_MUTANTS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			alarm(20);
			one_mutant(&whole, i);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFSIGNALED(status)) {
			nr_fallen++;
			print_message("mutant %u: signal %d\n", i, WTERMSIG(status));
		} else if (WEXITSTATUS(status)) {
			fail_msg("mutant %u: exit %d", i, WEXITSTATUS(status));
		}
	}
	print_message("%u of %u mutants ended the process\n", nr_fallen, NR_MUTANTS);
	assert_true(nr_fallen <= NR_MUTANTS / 50);
	buf_free(&whole);
}

static void test_xz(void **state)
{
	/* The head of what `xz` makes, cut. */
	static const uint8_t packed[] = {
		0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
	};
	struct buf out = {0};

	assert_int_equal(xz_unpack((struct bytes){packed, sizeof(packed)}, 100, &out), -EBADMSG);
	assert_int_equal(xz_unpack((struct bytes){(const uint8_t *)"no xz", 5}, 100, &out),
			 -EBADMSG);
	buf_free(&out);
	assert_int_equal(xz_crc32((struct bytes){(const uint8_t *)"123456789", 9}, 0), 0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),	 cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_segments), cmocka_unit_test(test_names),
		cmocka_unit_test(test_kallsyms), cmocka_unit_test(test_xz),
		cmocka_unit_test(test_mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
