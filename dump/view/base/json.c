// SPDX-License-Identifier: MIT
/* JSON into a text; see json.h. Called by script, info and fields. */
#include "dump/view/base/json.h"

#include <string.h>

#define EXACT (1ull << 53) /* a double holds all integers up to this */

static void key_put(struct json *j, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	char *to = text_room(j->t, len + 4);

	if (!to)
		return;
	if (j->more)
		*to++ = ',';
	j->more = true;
	if (key) {
		*to++ = '"';
		memcpy(to, key, len);
		to += len;
		*to++ = '"';
		*to++ = ':';
	}
	text_end(j->t, to);
}

void json_open(struct json *j, const char *key, char bracket)
{
	key_put(j, key);
	text_char(j->t, bracket);
	j->more = false;
}

void json_close(struct json *j, char bracket)
{
	text_char(j->t, bracket);
	j->more = true;
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	key_put(j, key);
	if (v > EXACT)
		text_char(j->t, '"');
	text_u64(j->t, v);
	if (v > EXACT)
		text_char(j->t, '"');
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	bool quote = v > (int64_t)EXACT || v < -(int64_t)EXACT;

	key_put(j, key);
	if (quote)
		text_char(j->t, '"');
	text_i64(j->t, v);
	if (quote)
		text_char(j->t, '"');
}

void json_bool(struct json *j, const char *key, bool v)
{
	key_put(j, key);
	text_str(j->t, v ? "true" : "false");
}

void json_hex(struct json *j, const char *key, uint64_t v)
{
	key_put(j, key);
	text_put(j->t, "\"0x", 3);
	text_hex(j->t, v, 1);
	text_char(j->t, '"');
}

void json_str(struct json *j, const char *key, const char *s, size_t n)
{
	key_put(j, key);
	text_char(j->t, '"');
	text_json(j->t, s, n);
	text_char(j->t, '"');
}

void json_cstr(struct json *j, const char *key, const char *s)
{
	if (s) {
		json_str(j, key, s, strlen(s));
		return;
	}
	key_put(j, key);
	text_str(j->t, "null");
}

void json_bytes(struct json *j, const char *key, struct bytes b)
{
	key_put(j, key);
	text_char(j->t, '"');
	text_hexdump(j->t, b, '\0');
	text_char(j->t, '"');
}

void json_made(struct json *j, const char *key, struct bytes value)
{
	key_put(j, key);
	text_put(j->t, value.p, value.len);
}

void json_ns(struct json *j, const char *key, uint64_t ns)
{
	key_put(j, key);
	text_char(j->t, '"');
	text_u64(j->t, ns);
	text_char(j->t, '"');
}
