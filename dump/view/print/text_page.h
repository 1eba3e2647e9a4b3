/* SPDX-License-Identifier: MIT */
/*
 * Formats a page for the terminal: titles, aligned tables, wrapped text. Adapts to the terminal's
 * width and colours and makes all text safe for it. Used by report and diff.
 */
#pragma once

#include "dump/view/base/text.h"

struct page {
	struct text *t;
	unsigned width; /* columns, at least 80 */
	bool color;
};

enum page_color { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM, PAGE_GOOD, PAGE_BAD, PAGE_WARM, PAGE_COOL };

/* Text between the two is coloured if the terminal has colours. */
void page_color(struct page *p, enum page_color color);
void page_end_color(struct page *p);

/* An empty line, then a heading with `right` (may be "") at the right edge. */
void page_title(struct page *p, const char *title, const char *right);

/*
 * A cell of `width` columns; text that is too long is shortened in the middle ("very-lo..l-name").
 * No space follows. `s` need not be safe.
 */
void page_left(struct page *p, const char *s, unsigned width);
/* The last cell of a line: not padded. */
void page_last(struct page *p, const char *s, unsigned width);
void page_right(struct page *p, const char *s, unsigned width);
/* Right-aligned cells: a time, "12.3 ms"; a count, "12,345"; a percentage, "45%". */
void page_time(struct page *p, uint64_t ns, unsigned width);
void page_count(struct page *p, uint64_t n, unsigned width);
void page_part(struct page *p, uint64_t part, uint64_t of, unsigned width);
/* `part` of `of` as a bar of at most `width` columns, padded with spaces. */
void page_bar(struct page *p, uint64_t part, uint64_t of, unsigned width);

/* Wraps at spaces, indents every line by `indent` columns, ends the last line. Safe text. */
void page_wrap(struct page *p, unsigned indent, const char *s);
/* The same, the first line with a label in the indent. */
void page_labelled(struct page *p, const char *label, unsigned indent, const char *s);
/* The same, when the first line already has `first` columns; indents the others by `indent`. */
void page_hang(struct page *p, unsigned first, unsigned indent, const char *s);
void page_line(struct page *p, unsigned indent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Number of columns of safe text. */
size_t page_columns(const char *s);
/* A time with three significant digits: "12.3 ms". Returns `out`. */
char *page_fmt_time(char *out, size_t n, uint64_t ns);
/* A time relative to `zero_ns`, with a sign: "-120 ms". */
char *page_fmt_moment(char *out, size_t n, uint64_t ns, uint64_t zero_ns);
