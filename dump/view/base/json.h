/* SPDX-License-Identifier: MIT */
/*
 * JSON written front to back into a text: no tree, no allocation. Commas are put where they belong;
 * the caller keeps objects and arrays balanced. `key` is NULL inside an array and is the program's
 * own text, printed as it is.
 */
#pragma once

#include "dump/view/base/text.h"

struct json {
	struct text *t;
	bool more; /* something stands before in this object or array */
};

void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);

/* Whole numbers beyond +-2^53 are written as decimal strings: most readers have only doubles. */
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
/* A value that was made before. */
void json_made(struct json *j, const char *key, struct bytes value);
/* A moment of a clock: always a string of digits, since it passes 2^53 ns after 104 days. */
void json_ns(struct json *j, const char *key, uint64_t ns);
