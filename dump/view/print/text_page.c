// SPDX-License-Identifier: MIT
/* Tables and wrapped text as wide as the terminal; see text_page.h. */
#include "dump/view/print/text_page.h"

#include "dump/base/str.h"

#include <stdarg.h>
#include <string.h>

static const char *const colors[] = {
	[PAGE_PLAIN] = "",	  [PAGE_BOLD] = "\x1b[1m",   [PAGE_DIM] = "\x1b[2m",
	[PAGE_GOOD] = "\x1b[32m", [PAGE_BAD] = "\x1b[1;31m", [PAGE_WARM] = "\x1b[33m",
	[PAGE_COOL] = "\x1b[36m",
};

void page_color(struct page *p, enum page_color color)
{
	if (p->color)
		text_str(p->t, colors[color]);
}

void page_end_color(struct page *p)
{
	if (p->color)
		text_str(p->t, "\x1b[0m");
}

/* One column per character: wide characters are rare in names of programs and functions. */
size_t page_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void page_title(struct page *p, const char *title, const char *right)
{
	size_t used = page_columns(title), more = page_columns(right);

	text_char(p->t, '\n');
	page_color(p, PAGE_BOLD);
	text_str(p->t, title);
	page_end_color(p);
	if (more) {
		int fill = (int)p->width - (int)(used + more);

		text_fill(p->t, ' ', fill > 2 ? fill : 2);
		page_color(p, PAGE_DIM);
		text_str(p->t, right);
		page_end_color(p);
	}
	text_char(p->t, '\n');
}

/* ---- cells ---- */

/* The byte offset of column `n`. */
static size_t byte_of(const char *s, size_t n)
{
	size_t at = 0;

	for (; s[at]; at++)
		if (((unsigned char)s[at] & 0xc0) != 0x80 && !n--)
			break;
	return at;
}

/* Returns the number of columns written. */
static size_t put_cut(struct page *p, const char *s, size_t width)
{
	size_t n = page_columns(s), head, tail;

	if (n <= width) {
		text_str(p->t, s);
		return n;
	}
	if (width < 5) {
		text_put(p->t, s, byte_of(s, width));
		return width;
	}
	tail = (width - 2) / 2;
	head = width - 2 - tail;
	text_put(p->t, s, byte_of(s, head));
	text_str(p->t, "..");
	text_str(p->t, s + byte_of(s, n - tail));
	return width;
}

void page_left(struct page *p, const char *s, unsigned width)
{
	char safe[1024];

	str_safe(safe, sizeof(safe), s, strlen(s));
	text_fill(p->t, ' ', (int)width - (int)put_cut(p, safe, width));
}

void page_last(struct page *p, const char *s, unsigned width)
{
	char safe[1024];

	str_safe(safe, sizeof(safe), s, strlen(s));
	put_cut(p, safe, width);
}

void page_right(struct page *p, const char *s, unsigned width)
{
	char safe[1024];

	str_safe(safe, sizeof(safe), s, strlen(s));
	text_fill(p->t, ' ', (int)width - (int)page_columns(safe));
	put_cut(p, safe, width);
}

/* Three significant digits. Without printf, since script prints millions of them. */
char *page_fmt_time(char *out, size_t n, uint64_t ns)
{
	static const struct {
		uint64_t least, unit;
		char name[4];
	} units[] = {{999500000, 1000000000, " s"},
		     {999500, 1000000, " ms"},
		     {1000, 1000, " us"},
		     {0, 1, " ns"}};
	char s[DIGITS_MAX + 8], *to;
	uint64_t unit, v;
	size_t i = 0;

	while (ns < units[i].least)
		i++;
	unit = units[i].unit;
	if (unit == 1 || ns >= 99950 * (unit / 1000)) {
		to = put_u64(s, ns / unit + (ns % unit >= (unit + 1) / 2));
	} else if (ns < 9995 * (unit / 1000)) {
		v = (ns + unit / 200) / (unit / 100);
		to = put_u64(s, v / 100);
		*to++ = '.';
		to = put_pair(to, v % 100);
	} else {
		v = (ns + unit / 20) / (unit / 10);
		to = put_u64(s, v / 10);
		*to++ = '.';
		*to++ = (char)('0' + v % 10);
	}
	memcpy(to, units[i].name, sizeof(units[i].name));
	i = strlen(s);
	i = i < n ? i : n - 1;
	memcpy(out, s, i);
	out[i] = '\0';
	return out;
}

char *page_fmt_moment(char *out, size_t n, uint64_t ns, uint64_t zero_ns)
{
	out[0] = ns < zero_ns ? '-' : '+';
	page_fmt_time(out + 1, n - 1, ns < zero_ns ? zero_ns - ns : ns - zero_ns);
	return out;
}

void page_time(struct page *p, uint64_t ns, unsigned width)
{
	char s[32];

	page_right(p, page_fmt_time(s, sizeof(s), ns), width);
}

void page_count(struct page *p, uint64_t n, unsigned width)
{
	char s[32];

	str_fmt_count(s, sizeof(s), n);
	if (strlen(s) >= width)
		snprintf(s, sizeof(s), n < 10000000 ? "%.1fM" : "%.0fM", (double)n / 1e6);
	page_right(p, s, width);
}

void page_part(struct page *p, uint64_t part, uint64_t of, unsigned width)
{
	double v = of ? 100.0 * (double)part / (double)of : 0;
	char s[32];

	snprintf(s, sizeof(s), "%.*f%%", v > 0 && v < 9.95 ? 1 : 0, v);
	page_right(p, s, width);
}

void page_bar(struct page *p, uint64_t part, uint64_t of, unsigned width)
{
	double v = of ? (double)part / (double)of * width + 0.5 : 0;
	unsigned n = v >= width ? width : (unsigned)v;

	page_color(p, PAGE_COOL);
	text_fill(p->t, '=', (int)n);
	page_end_color(p);
	text_fill(p->t, ' ', (int)(width - n));
}

/* ---- text ---- */

/* Number of bytes of `s` that fit on a line of `room` columns, up to a space if there is one. */
static size_t break_at(const char *s, size_t room)
{
	size_t limit = byte_of(s, room), at = limit;

	if (!s[limit])
		return limit;
	while (at && s[at] != ' ')
		at--;
	return at ? at : limit;
}

void page_hang(struct page *p, unsigned first, unsigned indent, const char *s)
{
	size_t room = p->width > first + 10 ? p->width - first : 10;
	size_t n = break_at(s, room);

	text_put(p->t, s, n);
	text_char(p->t, '\n');
	s += n;
	s += *s == ' ';
	if (*s)
		page_wrap(p, indent, s);
}

void page_labelled(struct page *p, const char *label, unsigned indent, const char *s)
{
	size_t room = p->width > indent + 10 ? p->width - indent : 10, n;

	do {
		n = break_at(s, room);
		page_color(p, PAGE_DIM);
		text_str(p->t, label);
		page_end_color(p);
		text_fill(p->t, ' ', (int)indent - (int)page_columns(label));
		text_put(p->t, s, n);
		text_char(p->t, '\n');
		s += n;
		s += *s == ' ';
		label = "";
	} while (*s && n);
}

void page_wrap(struct page *p, unsigned indent, const char *s)
{
	page_labelled(p, "", indent, s);
}

void page_line(struct page *p, unsigned indent, const char *fmt, ...)
{
	char s[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	page_wrap(p, indent, s);
}
