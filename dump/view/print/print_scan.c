// SPDX-License-Identifier: MIT
/*
 * Scans characters, words, strings and types of a print fmt; see print_program.h. Called by
 * print_format.c and print_expr.c. Never reads past the end of the text.
 */
#include "dump/view/print/print_program.h"

#include <ctype.h>
#include <string.h>

char scanner_peek(struct scanner *s)
{
	while (s->p < s->end && isspace((unsigned char)*s->p))
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

bool scanner_skip(struct scanner *s, char c)
{
	if (scanner_peek(s) != c)
		return false;
	s->p++;
	return true;
}

bool scanner_skip_text(struct scanner *s, const char *what)
{
	size_t n = strlen(what);

	scanner_peek(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, what, n))
		return false;
	s->p += n;
	return true;
}

bool scanner_word_is(struct scanner_word w, const char *text)
{
	return strlen(text) == w.len && !memcmp(w.p, text, w.len);
}

bool scanner_word(struct scanner *s, struct scanner_word *w)
{
	char c = scanner_peek(s);

	if (!isalpha((unsigned char)c) && c != '_')
		return false;
	w->p = s->p;
	while (s->p < s->end && (isalnum((unsigned char)*s->p) || *s->p == '_'))
		s->p++;
	w->len = (size_t)(s->p - w->p);
	return true;
}

char scanner_unescape(char c)
{
	return c == 'n' || c == 't' || c == 'r' ? ' ' : c;
}

/* Line breaks become spaces: an event is one line. */
const char *scanner_string(struct scanner *s)
{
	char *start = s->prog->texts + s->prog->texts_len, *to = start;

	if (scanner_peek(s) != '"')
		return NULL;
	while (scanner_skip(s, '"')) {
		while (s->p < s->end && *s->p != '"') {
			char c = *s->p++;

			*to++ = c == '\\' && s->p < s->end ? scanner_unescape(*s->p++) : c;
		}
		if (s->p == s->end)
			return NULL;
		s->p++;
	}
	*to++ = '\0';
	s->prog->texts_len += (size_t)(to - start);
	return start;
}

static const struct scanner_type types[] = {
	{"u8", 1, false},
	{"__u8", 1, false},
	{"uint8_t", 1, false},
	{"unsigned char", 1, false},
	{"bool", 1, false},
	{"s8", 1, true},
	{"__s8", 1, true},
	{"char", 1, true},
	{"u16", 2, false},
	{"__u16", 2, false},
	{"uint16_t", 2, false},
	{"unsigned short", 2, false},
	{"s16", 2, true},
	{"__s16", 2, true},
	{"short", 2, true},
	{"u32", 4, false},
	{"__u32", 4, false},
	{"uint32_t", 4, false},
	{"unsigned int", 4, false},
	{"unsigned", 4, false},
	{"dev_t", 4, false},
	{"gfp_t", 4, false},
	{"s32", 4, true},
	{"__s32", 4, true},
	{"int", 4, true},
	{"pid_t", 4, true},
	{"u64", 8, false},
	{"__u64", 8, false},
	{"uint64_t", 8, false},
	{"unsigned long", 8, false},
	{"unsigned long long", 8, false},
	{"long unsigned int", 8, false},
	{"size_t", 8, false},
	{"s64", 8, true},
	{"__s64", 8, true},
	{"long", 8, true},
	{"long long", 8, true},
	{"ssize_t", 8, true},
	{"loff_t", 8, true},
};

bool scanner_type(struct scanner *s, struct scanner_cast *out)
{
	char name[64] = "";
	size_t len = 0, nr = 0;
	struct scanner_word w;

	*out = (struct scanner_cast){0};
	while (scanner_word(s, &w)) {
		nr++;
		if (scanner_word_is(w, "REC"))
			return false;
		if (scanner_word_is(w, "const") || scanner_word_is(w, "volatile") ||
		    len + w.len + 2 > sizeof(name))
			continue;
		if (len)
			name[len++] = ' ';
		memcpy(name + len, w.p, w.len);
		len += w.len;
		name[len] = '\0';
	}
	while (scanner_skip(s, '*'))
		out->pointer = true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].words, name))
			out->type = &types[i];
	return nr > 0;
}
