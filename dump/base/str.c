// SPDX-License-Identifier: MIT
/* Sizes, times and safe text; see str.h. */
#include "dump/base/str.h"

#include "dump/base/err.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct scale_unit {
	const char *name;
	uint64_t scale;
};

static const struct scale_unit size_units[] = {
	{"", 1},
	{"B", 1},
	{"K", 1ull << 10},
	{"KB", 1ull << 10},
	{"KiB", 1ull << 10},
	{"M", 1ull << 20},
	{"MB", 1ull << 20},
	{"MiB", 1ull << 20},
	{"G", 1ull << 30},
	{"GB", 1ull << 30},
	{"GiB", 1ull << 30},
	{"T", 1ull << 40},
	{"TB", 1ull << 40},
	{"TiB", 1ull << 40},
};

static const struct scale_unit time_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60ull * 1000000000},
	{"min", 60ull * 1000000000},
	{"h", 3600ull * 1000000000},
	{"d", 86400ull * 1000000000},
};

static const struct scale_unit *unit_find(const struct scale_unit *u, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(u[i].name, name))
			return &u[i];
	return NULL;
}

int str_u64(const char *text, uint64_t *v, struct err *err)
{
	char *end;
	unsigned long long got;

	if (!isdigit((unsigned char)text[0]))
		return err_set(err, -EINVAL, "'%s' is not a number", text);
	errno = 0;
	got = strtoull(text, &end, 10);
	if (errno)
		return err_set(err, -ERANGE, "'%s' is too large", text);
	if (*end)
		return err_set(err, -EINVAL, "'%s' is not a number", text);
	*v = got;
	return 0;
}

/* A decimal number with an optional fraction, scaled by a unit; exact for whole numbers. */
static int scaled(const char *text, const struct scale_unit *units, size_t nr, uint64_t *out)
{
	const struct scale_unit *u;
	uint64_t whole;
	double frac = 0;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	whole = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end == '.') {
		char *from = end;

		if (!isdigit((unsigned char)from[1]))
			return -EINVAL;
		double scale = 0.1;

		for (end = from + 1; isdigit((unsigned char)*end); end++, scale /= 10)
			frac += (*end - '0') * scale;
	}
	u = unit_find(units, nr, end);
	if (!u) {
		if (*end || whole || frac > 0)
			return -EINVAL;
		*out = 0;
		return 0;
	}
	if (whole > INT64_MAX / u->scale)
		return -ERANGE;
	whole = whole * u->scale + (uint64_t)llround(frac * (double)u->scale);
	if (whole > INT64_MAX)
		return -ERANGE;
	*out = whole;
	return 0;
}

int str_size(const char *text, uint64_t *bytes, struct err *err)
{
	int rc = scaled(text, size_units, sizeof(size_units) / sizeof(size_units[0]), bytes);

	if (rc == -EINVAL) {
		err_set(err, rc, "'%s' is not a size", text);
		err_hint(err, "write a number with K, M or G, such as 512K or 8M");
	} else if (rc) {
		err_set(err, rc, "size '%s' is too large", text);
	}
	return rc;
}

int str_time(const char *text, int64_t *ns, struct err *err)
{
	bool neg = text[0] == '-';
	const char *digits = neg || text[0] == '+' ? text + 1 : text;
	uint64_t v;
	int rc = scaled(digits, time_units, sizeof(time_units) / sizeof(time_units[0]), &v);

	if (rc == -EINVAL) {
		err_set(err, rc, "'%s' is not a time", text);
		err_hint(err, "write a number with ns, us, ms, s, m, h or d, such as 250us or 2s");
		return rc;
	}
	if (rc)
		return err_set(err, rc, "time '%s' is too large", text);
	*ns = neg ? -(int64_t)v : (int64_t)v;
	return 0;
}

char *str_fmt_size(char *out, size_t n, uint64_t bytes)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes;
	size_t i = 0;

	while (v >= 1024 && i < 4) {
		v /= 1024;
		i++;
	}
	if (i == 0 || v == floor(v))
		snprintf(out, n, "%.0f %s", v, names[i]);
	else
		snprintf(out, n, v < 100 ? "%.1f %s" : "%.0f %s", v, names[i]);
	return out;
}

char *str_fmt_time(char *out, size_t n, int64_t ns)
{
	const char *sign = ns < 0 ? "-" : "";
	double v = fabs((double)ns);

	if (v < 1e3)
		snprintf(out, n, "%s%.0f ns", sign, v);
	else if (v < 1e6)
		snprintf(out, n, "%s%.4g us", sign, v / 1e3);
	else if (v < 1e9)
		snprintf(out, n, "%s%.4g ms", sign, v / 1e6);
	else if (v < 120e9)
		snprintf(out, n, "%s%.4g s", sign, v / 1e9);
	else if (v < 7200e9)
		snprintf(out, n, "%s%.1f min", sign, v / 60e9);
	else if (v < 48 * 3600e9)
		snprintf(out, n, "%s%.1f h", sign, v / 3600e9);
	else
		snprintf(out, n, "%s%.1f d", sign, v / 86400e9);
	return out;
}

char *str_fmt_count(char *out, size_t n, uint64_t v)
{
	char raw[24];
	int len = snprintf(raw, sizeof(raw), "%" PRIu64, v);
	size_t o = 0;

	for (int i = 0; i < len && o + 2 < n; i++) {
		if (i && (len - i) % 3 == 0)
			out[o++] = ',';
		out[o++] = raw[i];
	}
	if (n)
		out[o] = '\0';
	return out;
}

char *str_fmt_utc(char *out, size_t n, uint64_t real_ns)
{
	time_t sec = (time_t)(real_ns / 1000000000);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&sec, &tm)) {
		snprintf(out, n, "?");
		return out;
	}
	len = strftime(out, n, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + len, n - len, ".%03uZ", (unsigned)(real_ns / 1000000 % 1000));
	return out;
}

/* Length of the well-formed UTF-8 sequence at `p` (no overlong form, no surrogate), or 0. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80	 ? 1
		   : p[0] < 0xc2 ? 0
		   : p[0] < 0xe0 ? 2
		   : p[0] < 0xf0 ? 3
		   : p[0] < 0xf5 ? 4
				 : 0;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static uint32_t code_point(const unsigned char *p, size_t len)
{
	uint32_t c = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Control characters, which a terminal may obey, and those of Unicode that are invisible or change
 * the order in which others are shown: a name could then look like another. */
static bool is_control(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {{0, 0x1f},	 {0x7f, 0x9f},	   {0xad, 0xad},     {0x61c, 0x61c},
		      {0x180e, 0x180e},	 {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		      {0xfe00, 0xfe0f},	 {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a},
		      {0xe0000, 0xe01ef}};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

char *str_safe(char *out, size_t n, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t o = 0;

	if (!n)
		return out;
	for (size_t i = 0; i < len;) {
		size_t c = utf8_len(p + i, len - i);
		bool plain = c && !is_control(code_point(p + i, c));
		size_t need = plain ? c : 4;

		if (o + need >= n)
			break;
		if (plain) {
			memcpy(out + o, p + i, c);
			o += c;
			i += c;
		} else {
			snprintf(out + o, n - o, "\\x%02x", p[i]);
			o += 4;
			i++;
		}
	}
	out[o] = '\0';
	return out;
}

/* "\\u202e"; returns the length. */
static size_t put_escape(char esc[13], uint32_t c)
{
	uint32_t high = 0xd800 | ((c - 0x10000) >> 10 & 0x3ff), low = 0xdc00 | (c & 0x3ff);

	if (c < 0x10000)
		return (size_t)snprintf(esc, 13, "\\u%04x", c);
	return (size_t)snprintf(esc, 13, "\\u%04x\\u%04x", high, low);
}

char *str_json(char *out, size_t n, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t o = 0;

	if (!n)
		return out;
	for (size_t i = 0; i < len;) {
		size_t c = utf8_len(p + i, len - i), put;
		char esc[13];
		const char *from = esc;

		if (!c) {
			from = "\xef\xbf\xbd";
			put = 3;
			c = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			esc[0] = '\\';
			esc[1] = (char)p[i];
			put = 2;
		} else if (is_control(code_point(p + i, c))) {
			put = put_escape(esc, code_point(p + i, c));
		} else {
			from = (const char *)p + i;
			put = c;
		}
		if (o + put >= n)
			break;
		memcpy(out + o, from, put);
		o += put;
		i += c;
	}
	out[o] = '\0';
	return out;
}

const char *str_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool str_glob(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}
