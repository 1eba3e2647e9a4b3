/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* Digits and text put fast: the same as printf() and a look at each byte. */
#include "dump/view/base/put_text.h"
#include "dump/view/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 8;
}

static void check_number(uint64_t v)
{
	char got[64], want[64];

	*put_u64(got, v) = '\0';
	snprintf(want, sizeof(want), "%" PRIu64, v);
	assert_string_equal(got, want);
	*put_hex(got, v) = '\0';
	snprintf(want, sizeof(want), "%" PRIx64, v);
	assert_string_equal(got, want);
	*put_hex16(got, v) = '\0';
	snprintf(want, sizeof(want), "%016" PRIx64, v);
	assert_string_equal(got, want);
	*put_nine(got, (uint32_t)(v % 1000000000)) = '\0';
	snprintf(want, sizeof(want), "%09u", (unsigned)(v % 1000000000));
	assert_string_equal(got, want);
}

static void test_numbers(void **state)
{
	uint64_t seed = 3;

	for (uint64_t v = 0; v < 20000; v++)
		check_number(v);
	for (uint64_t v = 1; v < UINT64_MAX / 10; v *= 10)
		for (int k = -2; k <= 2; k++)
			check_number(v + (uint64_t)k);
	for (unsigned bits = 0; bits < 64; bits++)
		for (int i = 0; i < 200; i++)
			check_number((next_random(&seed) << 8 ^ next_random(&seed)) >> bits);
	check_number(UINT64_MAX);
}

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* All pairs of bytes at all places, and what follows may be anything. */
static void test_plain_bytes(void **state)
{
	uint64_t seed = 5;
	uint8_t b[8];

	for (unsigned at = 0; at < 8; at++) {
		for (unsigned c = 0; c < 65536; c++) {
			uint64_t rest = next_random(&seed);
			unsigned want = 0;

			memset(b, 'a' + (int)(c % 26), sizeof(b));
			memcpy(b + at, &rest, sizeof(b) - at);
			b[at] = (uint8_t)c;
			if (at < 7)
				b[at + 1] = (uint8_t)(c >> 8);
			while (want < 8 && is_plain(b[want]))
				want++;
			assert_int_equal(plain_bytes(b), want);
		}
	}
}

static void test_put_wide(void **state)
{
	char from[64 + PUT_SLACK], to[64 + PUT_SLACK];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)('!' + i);
	for (size_t n = 0; n <= 64; n++) {
		memset(to, 0, sizeof(to));
		assert_ptr_equal(put_wide(to, from, n), to + n);
		assert_memory_equal(to, from, n);
	}
}

static void test_text(void **state)
{
	struct text t = TEXT_INIT(NULL);
	static const char want[] =
		"a 18446744073709551615 -9223372036854775808 00ff 123456789abcdef0"
		" 00:7f:ff 007fff --";
	static const uint8_t bytes[] = {0, 0x7f, 0xff};

	text_char(&t, 'a');
	text_char(&t, ' ');
	text_u64(&t, UINT64_MAX);
	text_char(&t, ' ');
	text_i64(&t, INT64_MIN);
	text_char(&t, ' ');
	text_hex(&t, 255, 4);
	text_char(&t, ' ');
	text_hex(&t, 0x123456789abcdef0, 1);
	text_char(&t, ' ');
	text_hexdump(&t, (struct bytes){bytes, 3}, ':');
	text_char(&t, ' ');
	text_hexdump(&t, (struct bytes){bytes, 3}, '\0');
	text_char(&t, ' ');
	text_fill(&t, '-', 2);
	text_fill(&t, '-', 0);
	text_fill(&t, '-', -1);
	text_put(&t, NULL, 0);
	assert_int_equal(t.rc, 0);
	assert_int_equal(t.b.len, sizeof(want) - 1);
	assert_memory_equal(t.b.p, want, sizeof(want) - 1);
	text_free(&t);
}

/* Foreign text is checked eight bytes at a time: wherever the bad one stands, it is found. */
static void test_foreign_text(void **state)
{
	struct text t = TEXT_INIT(NULL);
	char s[20], want[32];

	for (size_t at = 0; at < sizeof(s); at++) {
		memset(s, 'x', sizeof(s));
		s[at] = '\x1b';
		t.b.len = 0;
		text_safe(&t, s, sizeof(s));
		memset(want, 'x', sizeof(want));
		memcpy(want + at, "\\x1b", 4);
		assert_int_equal(t.b.len, sizeof(s) + 3);
		assert_memory_equal(t.b.p, want, t.b.len);
	}
	text_free(&t);
}

/* What would be invisible, or would change the order of what is shown, is not put as it is. */
static void test_invisible_text(void **state)
{
	static const struct {
		const char *from, *safe, *json;
	} cases[] = {
		{"a\xe2\x80\xae"
		 "b",
		 "a\\xe2\\x80\\xaeb", "a\\u202eb"},
		{"\xe2\x80\x8b", "\\xe2\\x80\\x8b", "\\u200b"},
		{"\xef\xbb\xbf", "\\xef\\xbb\\xbf", "\\ufeff"},
		{"\xc2\x9b", "\\xc2\\x9b", "\\u009b"},
		{"\xf3\xa0\x80\x81", "\\xf3\\xa0\\x80\\x81", "\\udb40\\udc01"},
		{"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text safe = TEXT_INIT(NULL), json = TEXT_INIT(NULL);

		text_safe(&safe, cases[i].from, strlen(cases[i].from));
		text_json(&json, cases[i].from, strlen(cases[i].from));
		text_char(&safe, '\0');
		text_char(&json, '\0');
		assert_string_equal((char *)safe.b.p, cases[i].safe);
		assert_string_equal((char *)json.b.p, cases[i].json);
		text_free(&safe);
		text_free(&json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_plain_bytes),
		cmocka_unit_test(test_put_wide),     cmocka_unit_test(test_text),
		cmocka_unit_test(test_foreign_text), cmocka_unit_test(test_invisible_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
