/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The short cuts of a print fmt print what its trees do, whatever the field, conversion, record. */
#include "dump/view/print/print_format.h"
#include "dump/view/print/print_program.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define FIELDS                                                                                     \
	"name: demo\nID: 300\nformat:\n"                                                           \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:u8 a;\toffset:2;\tsize:1;\tsigned:0;\n"                                           \
	"\tfield:s8 b;\toffset:3;\tsize:1;\tsigned:1;\n"                                           \
	"\tfield:u16 c;\toffset:4;\tsize:2;\tsigned:0;\n"                                          \
	"\tfield:s16 d;\toffset:6;\tsize:2;\tsigned:1;\n"                                          \
	"\tfield:u32 e;\toffset:8;\tsize:4;\tsigned:0;\n"                                          \
	"\tfield:s32 f;\toffset:12;\tsize:4;\tsigned:1;\n"                                         \
	"\tfield:u64 g;\toffset:16;\tsize:8;\tsigned:0;\n"                                         \
	"\tfield:s64 h;\toffset:24;\tsize:8;\tsigned:1;\n"                                         \
	"\tfield:unsigned long args[3];\toffset:32;\tsize:24;\tsigned:0;\n"                        \
	"\tfield:int sargs[2];\toffset:56;\tsize:8;\tsigned:1;\n"                                  \
	"\tfield:char comm[16];\toffset:64;\tsize:16;\tsigned:0;\n"                                \
	"\tfield:char odd[5];\toffset:80;\tsize:5;\tsigned:0;\n"                                   \
	"\tfield:__data_loc char[] path;\toffset:88;\tsize:4;\tsigned:0;\n\n"

#define RAW_BYTES 120

static const char *const numbers[] = {
	"REC->a",
	"REC->b",
	"REC->c",
	"REC->d",
	"REC->e",
	"REC->f",
	"REC->g",
	"REC->h",
	"REC->args[0]",
	"REC->args[2]",
	"REC->args[3]",
	"REC->sargs[1]",
	"REC->args[REC->a]",
	"(int)REC->e",
	"(u8)REC->h",
	"(unsigned)REC->b",
	"(s16)REC->c",
	"(long)REC->f",
	"(u64)(u32)REC->h",
	"(s64)REC->e",
	"REC->e >> 4",
	"-REC->f",
	"REC->a ? 1 : 0",
	"REC->a + REC->c",
	"7",
};

static const char *const conversions[] = {
	"%d",  "%i",   "%u",   "%x",	"%X",	 "%o",	  "%c",	   "%ld",    "%lu", "%lx",  "%llx",
	"%hd", "%hu",  "%hx",  "%hhd",	"%hhu",	 "%03d",  "%03u",  "%016lx", "%5d", "%-5u", "%+d",
	"%#x", "%#lx", "%.3d", "%.3lu", "%8.3d", "%020d", "%021d", "%zu",    "%p",  "%px",  "%20p",
};

static const char *const strings[] = {
	"REC->comm",
	"REC->odd",
	"__get_str(path)",
	"REC->a ? \"yes\" : \"no\"",
	"REC->a == 1 ? \"one\" : REC->a == 2 ? \"two\" : \"rather many of them\"",
	"REC->c ? REC->comm : \"none\"",
	"__print_symbolic(REC->e, { 0, \"zero\" }, { 1, \"one\" }, { 300, \"many\" })",
	"__print_symbolic(REC->b, { -1, \"minus\" }, { 1, \"plus\" })",
	"__print_flags(REC->g & 0xff, \"|\", { 1, \"A\" }, { 2, \"B\" }, { 0x80, \"\\\"C\" })",
	"__print_flags(REC->g, \"|\", { 1, \"longer than\" }, { 2, \"a quick text is\" })",
	"__print_symbolic(REC->a + REC->c, { 0, \"zero\" })",
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 24;
}

/* Small numbers and large ones, text that is plain, long, or means ill. */
static void make_record(uint8_t raw[RAW_BYTES], uint64_t *seed)
{
	static const char *const texts[] = {"bash", "a name of 16 byt", "", "\x1b[31mred", "q\"t"};
	const char *text = texts[next_random(seed) % 5];
	bool small = next_random(seed) % 2;
	uint32_t path = 100 | 10u << 16;

	for (size_t i = 0; i < RAW_BYTES; i++)
		raw[i] = (uint8_t)(next_random(seed) >> 3);
	for (size_t i = 2; i < 64 && small; i++)
		raw[i] = i % 8 ? 0 : (uint8_t)(next_random(seed) % 70);
	for (size_t i = 2; i < 8 && small; i++)
		raw[i] = next_random(seed) % 4 ? 0 : (uint8_t)(next_random(seed) % 70);
	if (next_random(seed) % 8) {
		memset(raw + 64, 0, 21);
		memcpy(raw + 64, text, strlen(text));
		memcpy(raw + 80, text, strlen(text) < 5 ? strlen(text) : 5);
		memcpy(raw + 100, "/bin/true", 10);
	}
	if (next_random(seed) % 8)
		memcpy(raw + 88, &path, sizeof(path));
}

/* Counts the pieces that have a short cut. */
static unsigned check(const char *print, const char *arg, uint64_t *seed)
{
	struct text quick = TEXT_INIT(NULL), slow = TEXT_INIT(NULL);
	uint8_t raw[RAW_BYTES];
	struct program *prog;
	struct tpfields tp;
	unsigned cuts = 0;
	char *format;

	assert_true(asprintf(&format, FIELDS "print fmt: \"v=%s.\", %s\n", print, arg) > 0);
	assert_int_equal(tpfields_open((struct bytes){(uint8_t *)format, strlen(format)}, &tp), 0);
	assert_int_equal(program_new((struct bytes){(uint8_t *)format, strlen(format)}, &tp, &prog),
			 0);
	for (size_t i = 0; i < prog->nr; i++)
		cuts += prog->pieces[i].quick > QUICK_TEXT;
	for (int k = 0; k < 60; k++) {
		size_t n = k % 4 ? RAW_BYTES : next_random(seed) % RAW_BYTES;
		uint8_t *exact = malloc(n + 1); /* so that a sanitizer sees a byte too far */
		struct bytes b = {exact, n};

		make_record(raw, seed);
		memcpy(exact, raw, n);
		quick.b.len = slow.b.len = 0;
		program_run(prog, b, &quick);
		for (size_t i = 0; i < prog->nr; i++)
			program_run_piece(&prog->pieces[i], b, &slow);
		if (quick.b.len != slow.b.len || memcmp(quick.b.p, slow.b.p, slow.b.len))
			fail_msg("%s of %s: '%.*s' instead of '%.*s'", print, arg, (int)quick.b.len,
				 (char *)quick.b.p, (int)slow.b.len, (char *)slow.b.p);
		free(exact);
	}
	text_free(&quick);
	text_free(&slow);
	program_free(prog);
	tpfields_close(&tp);
	free(format);
	return cuts;
}

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void test_numbers(void **state)
{
	uint64_t seed = 1;
	unsigned cuts = 0;

	for (size_t c = 0; c < NR(conversions); c++)
		for (size_t n = 0; n < NR(numbers); n++)
			cuts += check(conversions[c], numbers[n], &seed);
	assert_true(cuts > NR(conversions) * NR(numbers) / 3);
}

static void test_strings(void **state)
{
	uint64_t seed = 2;
	unsigned cuts = 0;

	for (size_t n = 0; n < NR(strings); n++) {
		cuts += check("%s", strings[n], &seed);
		check("%20s", strings[n], &seed);
		check("%-20s", strings[n], &seed);
		check("%.3s", strings[n], &seed);
	}
	/* comm, and what depends on one number */
	assert_int_equal(cuts, 7);
}

/* What the scheduler's events are made of has a short cut, piece by piece. */
static void test_common_ones(void **state)
{
	uint64_t seed = 3;

	assert_int_equal(check("%d", "REC->f", &seed), 1);
	assert_int_equal(check("%03d", "REC->f", &seed), 1);
	assert_int_equal(check("%s", "REC->comm", &seed), 1);
	assert_int_equal(check("%lx", "REC->args[1]", &seed), 1);
	assert_int_equal(check("%s",
			       "REC->h & 255 ? __print_flags(REC->h & 255, \"|\", "
			       "{ 1, \"S\" }, { 2, \"D\" }) : \"R\"",
			       &seed),
			 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_common_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
