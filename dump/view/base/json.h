/* SPDX-License-Identifier: MIT */
/*
 * A streaming JSON writer into a text, without allocation. Adds commas; the caller balances objects
 * and arrays. `key` is NULL inside an array; it is not escaped.
 */
#pragma once

#include "dump/view/base/text.h"

struct json {
	struct text *t;
	bool more; /* a comma is due before the next item */
};

void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

/* Numbers beyond +-2^53 become decimal strings: most readers have only doubles. */
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
/* Addresses: always a string "0x...". */
void json_hex(struct json *j, const char *key, uint64_t v);
void json_str(struct json *j, const char *key, const char *s, size_t n);
/* NULL is written as null. */
void json_cstr(struct json *j, const char *key, const char *s);
/* Bytes as a string of hexadecimal digits. */
void json_bytes(struct json *j, const char *key, struct bytes b);
/* A value that already is JSON. */
void json_made(struct json *j, const char *key, struct bytes value);
/* A time: always a decimal string, since 2^53 ns are only 104 days. */
void json_ns(struct json *j, const char *key, uint64_t ns);
