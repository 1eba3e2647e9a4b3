/* SPDX-License-Identifier: MIT */
/*
 * A page for people: titles, tables with columns that line up, wrapped text. It knows how wide the
 * terminal is and whether it has colours; all text that it takes is made safe for it. Used by
 * report and diff.
 */
#pragma once

#include "dump/view/base/text.h"

struct page {
	struct text *t;
	unsigned width; /* columns, at least 80 */
	bool color;
};

enum page_color { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM, PAGE_GOOD, PAGE_BAD, PAGE_WARM, PAGE_COOL };

/* What is between the two is coloured, where there are colours. */
void page_color(struct page *p, enum page_color color);
void page_end_color(struct page *p);

/* An empty line, then a heading with `right` (may be "") at the right edge. */
void page_title(struct page *p, const char *title, const char *right);

/*
 * A cell of `width` columns: text that is too long is cut in the middle ("very-lo..l-name"). No
 * space follows it. `s` need not be safe.
 */
void page_left(struct page *p, const char *s, unsigned width);
/* The last of a line: not filled up. */
void page_last(struct page *p, const char *s, unsigned width);
void page_right(struct page *p, const char *s, unsigned width);
/* Numbers in cells, at the right: a time, "12.3 ms"; a count, "12,345"; a part, "45%". */
void page_time(struct page *p, uint64_t ns, unsigned width);
void page_count(struct page *p, uint64_t n, unsigned width);
void page_part(struct page *p, uint64_t part, uint64_t of, unsigned width);
/* `part` of `of` as a bar of at most `width` columns, filled up with spaces. */
void page_bar(struct page *p, uint64_t part, uint64_t of, unsigned width);

/* Wrapped at spaces to the width, every line after `indent` spaces; ends the last one. Safe text.
 */
void page_wrap(struct page *p, unsigned indent, const char *s);
/* The same, the first line with a label in the indent. */
void page_labelled(struct page *p, const char *label, unsigned indent, const char *s);
/* The same where the first line was begun up to column `first` already; the others after `indent`.
 */
void page_hang(struct page *p, unsigned first, unsigned indent, const char *s);
void page_line(struct page *p, unsigned indent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Columns that safe text takes. */
size_t page_columns(const char *s);
/* A time with three digits: "12.3 ms". Returns `out`. */
char *page_fmt_time(char *out, size_t n, uint64_t ns);
/* A moment relative to `zero_ns`, with its sign: "-120 ms". */
char *page_fmt_moment(char *out, size_t n, uint64_t ns, uint64_t zero_ns);
