/* SPDX-License-Identifier: MIT */
/*
 * Sizes (64K) and times (-200ms) parsed and formatted, and untrusted text, such as the name of a
 * process, escaped for a terminal or JSON.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* "64K", "8M", "2G", "4096": bytes, powers of 1024. 0 or -EINVAL, -ERANGE. */
int str_size(const char *text, uint64_t *bytes, struct err *err);

/* "250us", "10ms", "2s", "1h", "5m", "3d", "1.5s", "20ns", with a sign for relative times; a unit
 * is required unless the number is 0. 0 or -EINVAL, -ERANGE. */
int str_time(const char *text, int64_t *ns, struct err *err);

/* A whole decimal number without sign. 0 or -EINVAL, -ERANGE. */
int str_u64(const char *text, uint64_t *v, struct err *err);

/* The plural ending for a count: "" or "s". */
static inline const char *str_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static inline const char *str_were(uint64_t n)
{
	return n == 1 ? "was" : "were";
}

/* "16 MiB", "3.2 KiB"; "1.204 s", "312 us", "-20.5 ms"; "12,345". Return `out`. */
char *str_fmt_size(char *out, size_t n, uint64_t bytes);
char *str_fmt_time(char *out, size_t n, int64_t ns);
char *str_fmt_count(char *out, size_t n, uint64_t v);

/* Wall-clock time as 2026-11-21T00:53:31.123Z (UTC). */
char *str_fmt_utc(char *out, size_t n, uint64_t real_ns);

/*
 * Copies `len` bytes of untrusted text into `out` (always terminated, cut at n - 1). Control
 * characters, also invisible ones and those that change the direction of writing, and invalid UTF-8
 * become \xHH, so no escape sequence reaches a terminal and no name looks like another.
 */
char *str_safe(char *out, size_t n, const char *text, size_t len);

/* As str_safe for the inside of a JSON string: quotes, backslashes and control characters are
 * escaped, invalid UTF-8 becomes U+FFFD. */
char *str_json(char *out, size_t n, const char *text, size_t len);

/* The part after the last '/'; the whole path if it ends with one. */
const char *str_base(const char *path);

/* True when the shell pattern (*, ?) matches all of `text`. */
bool str_glob(const char *pattern, const char *text);
