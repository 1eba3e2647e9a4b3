/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Tracepoint records as text and JSON: as the kernel's print fmt makes it, held to libtraceevent
 * where that can be trusted, and safe with formats and records that mean ill.
 */
#include "dump/view/print/fields.h"
#include "dump/view/print/print_format.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TP 300

#define COMMON                                                                                     \
	"name: demo\nID: 300\nformat:\n"                                                           \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define FIELDS                                                                                     \
	COMMON                                                                                     \
	"\tfield:int num;\toffset:8;\tsize:4;\tsigned:1;\n"                                        \
	"\tfield:unsigned int flags;\toffset:12;\tsize:4;\tsigned:0;\n"                            \
	"\tfield:u64 big;\toffset:16;\tsize:8;\tsigned:0;\n"                                       \
	"\tfield:void * ptr;\toffset:24;\tsize:8;\tsigned:0;\n"                                    \
	"\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"                                \
	"\tfield:__data_loc char[] path;\toffset:48;\tsize:4;\tsigned:0;\n"                        \
	"\tfield:u8 addr[4];\toffset:52;\tsize:4;\tsigned:0;\n"                                    \
	"\tfield:__data_loc u16[] list;\toffset:56;\tsize:4;\tsigned:0;\n"                         \
	"\tfield:short small;\toffset:60;\tsize:2;\tsigned:1;\n"                                   \
	"\tfield:bool yes;\toffset:62;\tsize:1;\tsigned:0;\n\n"

struct demo {
	uint16_t type;
	uint8_t common_flags, preempt;
	int32_t pid;
	int32_t num;
	uint32_t flags;
	uint64_t big, ptr;
	char comm[16];
	uint32_t path_at;
	uint8_t addr[4];
	uint32_t list_at;
	int16_t small;
	uint8_t yes, pad;
	char path[16];
	uint16_t list[4];
};

static struct demo demo(void)
{
	struct demo d = {
		.type = TP,
		.pid = 5,
		.num = -3,
		.flags = 0x25,
		.big = 1ull << 60,
		.ptr = 0xffff888000000000,
		.comm = "worker",
		.path_at = offsetof(struct demo, path) | 16u << 16,
		.addr = {192, 168, 1, 20},
		.list_at = offsetof(struct demo, list) | 8u << 16,
		.small = -2,
		.yes = 1,
		.path = "/bin/true",
		.list = {1, 2, 65535, 4},
	};

	return d;
}

/* A fields of one tracepoint with this format, and what goes with it. */
struct world {
	struct meta_tracepoint tp;
	struct meta m;
	struct fields *f;
};

static void open_world(struct world *w, const char *format, size_t len)
{
	*w = (struct world){.tp = {TP, "sys", {(const uint8_t *)format, len}}};
	w->m.tracepoints = &w->tp;
	w->m.nr_tracepoints = 1;
	assert_int_equal(fields_new(&w->m, &w->f, NULL), 0);
}

static char *text_of(const char *format, const void *raw, size_t n)
{
	static char out[4096];
	struct text t = TEXT_INIT(NULL);
	struct world w;

	open_world(&w, format, strlen(format));
	fields_text(w.f, (struct bytes){raw, n}, &t);
	assert_int_equal(t.rc, 0);
	assert_true(t.b.len < sizeof(out));
	if (t.b.len)
		memcpy(out, t.b.p, t.b.len);
	out[t.b.len] = '\0';
	text_free(&t);
	fields_free(w.f);
	return out;
}

static char *demo_text(const char *format)
{
	struct demo d = demo();

	return text_of(format, &d, sizeof(d));
}

struct expect {
	const char *print; /* what follows "print fmt: " */
	const char *text;
};

static void check_texts(const struct expect *e, size_t nr)
{
	char format[8192];

	for (size_t i = 0; i < nr; i++) {
		snprintf(format, sizeof(format), FIELDS "print fmt: %s\n", e[i].print);
		assert_string_equal(demo_text(format), e[i].text);
	}
}

#define CHECK(list) check_texts(list, sizeof(list) / sizeof((list)[0]))

static void test_numbers(void **state)
{
	static const struct expect list[] = {
		{"\"plain\"", "plain"},
		{"\"100%% a\\tb\\n\"", "100% a b "},
		{"\"%d %u %x\", REC->num, REC->num, REC->num", "-3 4294967293 fffffffd"},
		{"\"%ld %llu\", REC->num, REC->big", "-3 1152921504606846976"},
		{"\"%5d|%-5d|%05d|%.4d\", REC->num, REC->num, REC->num, REC->flags",
		 "   -3|-3   |-0003|0037"},
		{"\"%#x %08lx %#010x %X %o\", REC->flags, REC->flags, REC->flags, 255, 8",
		 "0x25 00000025 0x00000025 FF 10"},
		{"\"%hd %hhu %zu\", REC->small, 511, sizeof(u64)", "-2 255 8"},
		{"\"%c%c\", 'o', 107", "ok"},
		{"\"%p %pS %px\", REC->ptr, (void *)REC->ptr, REC->ptr",
		 "0xffff888000000000 0xffff888000000000 0xffff888000000000"},
	};

	CHECK(list);
}

static void test_expressions(void **state)
{
	static const struct expect list[] = {
		{"\"%d\", 1 + 2 * 3 - 4 / 2", "5"},
		{"\"%d\", (1 + 2) * 3 % 5", "4"},
		{"\"%d\", 10 - 3 - 2", "5"},
		{"\"%d %d\", 1 << 4 | 1, 0xf0 >> 4 & 3", "17 3"},
		{"\"%d\", REC->num < 0 ? -REC->num : REC->num", "3"},
		{"\"%d %d\", REC->num >= -3 && REC->small != -2, !REC->num || ~0 == -1", "0 1"},
		{"\"%u %d\", (u8)REC->num, (s8)(0xff)", "253 -1"},
		{"\"%lx\", (unsigned long)-1", "ffffffffffffffff"},
		{"\"%llu\", 1ULL << 63", "9223372036854775808"},
		{"\"%d\", REC->num / 0", "0"},
		{"\"%d %d\", REC->addr[0], ((u16 *)__get_dynamic_array(list))[2]", "192 65535"},
		{"\"%d\", REC->addr[9]", "0"},
		{"\"%d\", __get_dynamic_array_len(list) / sizeof(u16)", "4"},
		{"\"%d\", __builtin_expect(!!(REC->num), 1)", "1"},
		/* Signed as in C; libtraceevent takes all for unsigned here. */
		{"\"%d\", REC->num / 2", "-1"},
		{"\"%d\", REC->num > 0 ? 1 : 2", "2"},
	};

	CHECK(list);
}

static void test_strings(void **state)
{
	static const struct expect list[] = {
		{"\"%s %s\", REC->comm, __get_str(path)", "worker /bin/true"},
		{"\"%8s|%-8s|%.3s\", REC->comm, REC->comm, REC->comm", "  worker|worker  |wor"},
		{"\"%.*s\", 4, REC->comm", "work"},
		{"\"%s\", REC->yes ? \"yes\" : \"no\"", "yes"},
		{"\"%s\", REC->yes ? \"\" : \"no\"", ""},
		{"\"a\" \"b%d\" \"c\", 1", "ab1c"},
		{"\"%s\", __print_flags(REC->flags, \"|\", {1, \"ONE\"}, {4, \"FOUR\"})",
		 "ONE|FOUR|0x20"},
		{"\"%s\", __print_symbolic(REC->num, {-3, \"MINUS\" \"THREE\"}, {1, \"ONE\"})",
		 "MINUSTHREE"},
		{"\"%s\", __print_symbolic(REC->num, {1, \"ONE\"}, {-1, ((void *)0)})",
		 "0xfffffffd"},
		{"\"%s\", __print_flags(REC->flags, \"|\", {SOME_NAME, \"X\"}, {0x20, \"Y\"})",
		 "Y|0x5"},
		{"\"%s %s\", __print_hex(REC->addr, 4), __print_hex_str(REC->addr, 99)",
		 "c0 a8 01 14 c0a80114"},
		{"\"%s\", __print_array(__get_dynamic_array(list), 4, 2)", "{0x1,0x2,0xffff,0x4}"},
		{"\"%s\", __get_bitmask(list)", "0004ffff,00020001"},
		{"\"%pI4 %pi4\", REC->addr, REC->addr", "192.168.1.20 192.168.1.20"},
		{"\"%*phC\", 3, __get_dynamic_array(list)", "01:00:02"},
		/* What only the kernel knows. */
		{"\"page=%p n=%d\", ((struct page *)vmemmap_base) + REC->num, REC->num",
		 "page=? n=-3"},
	};

	CHECK(list);
}

/* Not understood: the fields one by one, so that nothing is lost. */
static void test_unknown_print(void **state)
{
	static const char *const prints[] = {
		"\"%d\", some_kernel_function(REC->num)",
		"\"%d\"",
		"\"%d\", REC->num, REC->num",
		"\"%d\", REC->missing",
		"\"%d\", REC->comm",
		"\"%q\", REC->num",
		"\"%n\", REC->num",
		"\"%*d\", 99999, REC->num",
		"\"%99999d\", REC->num",
		"\"%*pbl\", 10, REC->addr",
		"\"%d\", ({ int x = 1; x; })",
		"\"%d\", 1 +",
		"\"%d\", (REC->num",
		"\"unterminated",
		"\"%s\", __print_symbolic(REC->num, {1, ",
		"",
	};
	static const char want[] =
		"num=-3 flags=37 big=1152921504606846976 ptr=0xffff888000000000 comm=worker "
		"path=/bin/true addr=c0a80114 list=01000200ffff0400 small=-2 yes=1";
	char format[8192];

	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]); i++) {
		snprintf(format, sizeof(format), FIELDS "print fmt: %s", prints[i]);
		assert_string_equal(demo_text(format), want);
	}
	assert_string_equal(demo_text(FIELDS), want);
}

/* Expressions that are as deep as the text is long. */
static void test_deep_print(void **state)
{
	static const char *const repeated[] = {"(",  "!",    "-",	   "REC->yes+",
					       "1?", "1?1:", "REC->addr[", "(int)"};
	char *format = malloc(70000);

	for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
		size_t len = (size_t)sprintf(format, "%s", FIELDS "print fmt: \"%d\", ");

		while (len < 60000)
			len += (size_t)sprintf(format + len, "%s", repeated[i]);
		strcpy(format + len, "1");
		assert_non_null(strstr(demo_text(format), "num=-3"));
	}
	free(format);
}

static void test_record_that_does_not_fit(void **state)
{
	static const char format[] = FIELDS "print fmt: \"%s\", __get_str(path)\n";
	struct demo d = demo();
	uint32_t good = d.path_at;

	/* Cut anywhere: the fields, then what they point to. */
	for (size_t n = 0; n < sizeof(d); n++)
		assert_int_equal(strncmp(text_of(format, &d, n), "raw ", 4), 0);
	assert_string_equal(text_of(format, &d, sizeof(d)), "/bin/true");
	d.path_at = ((uint32_t)sizeof(d) - 2) | 3u << 16;
	assert_int_equal(strncmp(text_of(format, &d, sizeof(d)), "raw ", 4), 0);
	d.path_at = 0xffffffff;
	assert_int_equal(strncmp(text_of(format, &d, sizeof(d)), "raw ", 4), 0);
	d.path_at = good;
	d.type = TP + 1; /* no format of that one */
	assert_int_equal(strncmp(text_of(format, &d, sizeof(d)), "raw 2d01", 8), 0);
}

/* Strings end with the field even where no NUL does. */
static void test_string_without_end(void **state)
{
	struct demo d = demo();

	memset(d.comm, 'x', sizeof(d.comm));
	memset(d.path, 'y', sizeof(d.path));
	assert_string_equal(
		text_of(FIELDS "print fmt: \"%s %s\", REC->comm, __get_str(path)\n", &d, sizeof(d)),
		"xxxxxxxxxxxxxxxx yyyyyyyyyyyyyyyy");
}

static void test_escapes(void **state)
{
	struct demo d = demo();

	memcpy(d.comm, "\x1b[31mred\n", 9);
	assert_string_equal(
		text_of(FIELDS "print fmt: \"%s \\033[1m\", REC->comm\n", &d, sizeof(d)),
		"\\x1b[31mred\\x0a 033[1m");
}

static void test_formats_that_are_none(void **state)
{
	static const char *const formats[] = {
		"",
		"name: x",
		"name: \nformat:\n",
		COMMON "\tfield:int;\toffset:8;\tsize:4;\n",
		COMMON "\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
		COMMON "\tfield:int a;\toffset:99999999;\tsize:4;\tsigned:1;\n",
		COMMON "\tfield:int a;\toffset:8;\tsize:99999;\tsigned:1;\n",
		COMMON "\tfield:__data_loc char[] a;\toffset:8;\tsize:8;\tsigned:1;\n",
		COMMON "what is this\n",
	};
	struct demo d = demo();

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_int_equal(strncmp(text_of(formats[i], &d, 12), "raw 2c01", 8), 0);
}

/* ---- JSON ---- */

static json_t *json_of(const char *format, const void *raw, size_t n)
{
	struct text t = TEXT_INIT(NULL);
	struct json j = {.t = &t};
	struct world w;
	json_t *got;

	open_world(&w, format, strlen(format));
	json_open(&j, NULL, '{');
	fields_json(w.f, (struct bytes){raw, n}, &j);
	json_close(&j, '}');
	got = json_loadb((const char *)t.b.p, t.b.len, 0, NULL);
	assert_non_null(got);
	text_free(&t);
	fields_free(w.f);
	return got;
}

static void test_json(void **state)
{
	struct demo d = demo();
	json_t *j = json_of(FIELDS, &d, sizeof(d)), *f = json_object_get(j, "fields"), *list;

	assert_int_equal(json_object_size(f), 10); /* without the common ones */
	assert_int_equal(json_integer_value(json_object_get(f, "num")), -3);
	assert_int_equal(json_integer_value(json_object_get(f, "flags")), 37);
	assert_string_equal(json_string_value(json_object_get(f, "big")), "1152921504606846976");
	assert_string_equal(json_string_value(json_object_get(f, "ptr")), "0xffff888000000000");
	assert_string_equal(json_string_value(json_object_get(f, "comm")), "worker");
	assert_string_equal(json_string_value(json_object_get(f, "path")), "/bin/true");
	assert_int_equal(json_integer_value(json_object_get(f, "small")), -2);
	list = json_object_get(f, "list");
	assert_int_equal(json_array_size(list), 4);
	assert_int_equal(json_integer_value(json_array_get(list, 2)), 65535);
	assert_int_equal(json_array_size(json_object_get(f, "addr")), 4);
	json_decref(j);
}

static void test_json_large_numbers(void **state)
{
	struct demo d = demo();
	json_t *j, *f;

	d.big = 1ull << 53;
	j = json_of(FIELDS, &d, sizeof(d));
	f = json_object_get(j, "fields");
	assert_int_equal(json_integer_value(json_object_get(f, "big")), 1ll << 53);
	json_decref(j);
	d.big++;
	j = json_of(FIELDS, &d, sizeof(d));
	f = json_object_get(j, "fields");
	assert_string_equal(json_string_value(json_object_get(f, "big")), "9007199254740993");
	json_decref(j);
}

static void test_json_hostile(void **state)
{
	struct demo d = demo();
	json_t *j;

	memcpy(d.comm, "\"\x1b\xff\\", 5);
	j = json_of(FIELDS, &d, sizeof(d));
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(j, "fields"), "comm")),
		"\"\x1b\xef\xbf\xbd\\");
	json_decref(j);
	j = json_of(FIELDS, &d, 20);
	assert_null(json_object_get(j, "fields"));
	assert_int_equal(strlen(json_string_value(json_object_get(j, "raw"))), 40);
	json_decref(j);
}

/* ---- libtraceevent ---- */

static const char *const well_formed[] = {
	"\"num=%d flags=%u big=%llu\", REC->num, REC->flags, REC->big",
	"\"comm=%s path=%s\", REC->comm, __get_str(path)",
	"\"[%16s] [%-16s] [%.2s]\", REC->comm, REC->comm, REC->comm",
	"\"%08lx %#x %5u %-5u|\", REC->flags, REC->flags, REC->flags, REC->flags",
	"\"%s\", __print_symbolic(REC->flags, {1, \"one\"}, {37, \"thirty-seven\"})",
	"\"%s\", __print_flags(REC->flags, \"|\", {1, \"A\"}, {4, \"B\"}, {8, \"C\"})",
	"\"%s\", REC->flags & 4 ? \"four\" : \"other\"",
	"\"%s%s\", REC->flags ? __print_flags(REC->flags & (((1 | 4) << 1) - 1), \"+\","
	" {1, \"S\"}, {4, \"D\"}) : \"R\", REC->flags & 0x40 ? \"+\" : \"\"",
	"\"%d,%d\", ((unsigned int)((REC->big) >> 20)), ((unsigned int)((REC->big) & ((1U << 20) - "
	"1)))",
	"\"%pI4\", REC->addr",
	"\"%s\", __print_hex(REC->addr, 4)",
	"\"%d %d\", (REC->flags + 3) * 2, REC->flags == 37 && REC->yes",
};

static void test_same_as_libtraceevent(void **state)
{
	struct demo d = demo();
	char format[8192];

	tep_set_loglevel(TEP_LOG_NONE);
	for (size_t i = 0; i < sizeof(well_formed) / sizeof(well_formed[0]); i++) {
		struct tep_record rec = {.data = &d, .size = sizeof(d)};
		struct tep_handle *tep = tep_alloc();
		struct trace_seq s;
		int n = snprintf(format, sizeof(format), FIELDS "print fmt: %s\n", well_formed[i]);

		assert_non_null(tep);
		tep_set_long_size(tep, 8);
		assert_int_equal(tep_parse_event(tep, format, (size_t)n, "sys"), 0);
		trace_seq_init(&s);
		tep_print_event(tep, &s, &rec, "%s", TEP_PRINT_INFO);
		trace_seq_terminate(&s);
		assert_string_equal(demo_text(format), s.buffer);
		trace_seq_destroy(&s);
		tep_free(tep);
	}
}

/* ---- bytes changed at random ---- */

static void test_changed_formats(void **state)
{
	static const char tokens[] = "()[]{}?:,\"\\%*-+/<>&|!~'0a ";
	struct demo d = demo();
	uint64_t seed = 99;
	char format[8192];

	for (int run = 0; run < 4000; run++) {
		size_t which = (size_t)run % (sizeof(well_formed) / sizeof(well_formed[0]));
		int len = snprintf(format, sizeof(format), FIELDS "print fmt: %s\n",
				   well_formed[which]);
		size_t from = run % 4 ? sizeof(FIELDS) : 0;

		for (int k = 0; k < 3; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			format[from + (seed >> 33) % ((size_t)len - from)] =
				tokens[(seed >> 20) % (sizeof(tokens) - 1)];
		}
		/* Whatever comes out: no crash, and one line that is safe to print. */
		for (const char *c = text_of(format, &d, sizeof(d)); *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_unknown_print),
		cmocka_unit_test(test_deep_print),
		cmocka_unit_test(test_record_that_does_not_fit),
		cmocka_unit_test(test_string_without_end),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_formats_that_are_none),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_large_numbers),
		cmocka_unit_test(test_json_hostile),
		cmocka_unit_test(test_same_as_libtraceevent),
		cmocka_unit_test(test_changed_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
