// SPDX-License-Identifier: MIT
/* Lines of a tracepoint's format, and bounded access to fields; see tpfields.h. Called by
 * fields.c and print_format.c. */
#include "dump/base/tpfields.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS	256
#define MAX_FIELD_BYTES (64u << 10)

static struct bytes line_take(struct bytes *text)
{
	const uint8_t *nl = memchr(text->p, '\n', text->len);
	struct bytes line = {text->p, nl ? (size_t)(nl - text->p) : text->len};
	struct bytes skipped;

	bytes_take(text, line.len + (nl ? 1 : 0), &skipped);
	return line;
}

static bool starts(struct bytes b, const char *with)
{
	size_t n = strlen(with);

	return b.len >= n && !memcmp(b.p, with, n);
}

static bool skip(struct bytes *b, const char *what)
{
	struct bytes took;

	return starts(*b, what) && bytes_take(b, strlen(what), &took);
}

/* "offset:8;" with white space before it. */
static bool take_number(struct bytes *b, const char *key, uint32_t *out)
{
	uint64_t v = 0;
	size_t n = 0;
	struct bytes took;

	while (b->len && isspace(b->p[0]))
		bytes_take(b, 1, &took);
	if (!skip(b, key))
		return false;
	for (; n < b->len && isdigit(b->p[n]) && n < 8; n++)
		v = v * 10 + (uint64_t)(b->p[n] - '0');
	if (!n || n == b->len || b->p[n] != ';')
		return false;
	bytes_take(b, n + 1, &took);
	*out = (uint32_t)v;
	return true;
}

static bool word_char(uint8_t c)
{
	return isalnum(c) || c == '_';
}

/* True when `word` stands in the declaration as a whole word. */
static bool has_word(struct bytes decl, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= decl.len; i++)
		if (!memcmp(decl.p + i, word, n) && (!i || !word_char(decl.p[i - 1])) &&
		    (i + n == decl.len || !word_char(decl.p[i + n])))
			return true;
	return false;
}

struct type_size {
	const char *word;
	uint32_t bytes;
};

/* The order matters: "unsigned long long" contains "unsigned". */
static const struct type_size type_sizes[] = {
	{"char", 1},	{"u8", 1},	 {"__u8", 1},	  {"s8", 1},	   {"__s8", 1},
	{"uint8_t", 1}, {"bool", 1},	 {"short", 2},	  {"u16", 2},	   {"__u16", 2},
	{"s16", 2},	{"__s16", 2},	 {"uint16_t", 2}, {"__be16", 2},   {"long", 8},
	{"u64", 8},	{"__u64", 8},	 {"s64", 8},	  {"__s64", 8},	   {"size_t", 8},
	{"int", 4},	{"unsigned", 4}, {"u32", 4},	  {"__u32", 4},	   {"s32", 4},
	{"__s32", 4},	{"__be32", 4},	 {"uint32_t", 4}, {"uint64_t", 8},
};

static uint32_t elem_bytes(struct bytes type)
{
	for (size_t i = 0; i < sizeof(type_sizes) / sizeof(type_sizes[0]); i++)
		if (has_word(type, type_sizes[i].word))
			return type_sizes[i].bytes;
	return 1;
}

/* Splits "TYPE NAME" or "TYPE NAME[N]"; the name is the last word. */
static bool split_decl(struct bytes decl, struct bytes *type, struct bytes *name, bool *array)
{
	size_t end = decl.len, from;

	while (end && isspace(decl.p[end - 1]))
		end--;
	*array = end && decl.p[end - 1] == ']';
	if (*array) {
		while (end && decl.p[end - 1] != '[')
			end--;
		if (!end)
			return false;
		end--;
	}
	for (from = end; from && word_char(decl.p[from - 1]); from--)
		;
	if (from == end || !from)
		return false;
	*type = (struct bytes){decl.p, from};
	*name = (struct bytes){decl.p + from, end - from};
	return true;
}

static void set_kind(struct field *f, struct bytes type, bool array)
{
	if (has_word(type, "__data_loc"))
		f->flags |= FIELD_DYNAMIC;
	if (has_word(type, "__rel_loc"))
		f->flags |= FIELD_DYNAMIC | FIELD_RELATIVE;
	if (array || (f->flags & FIELD_DYNAMIC) || !f->size)
		f->flags |= FIELD_ARRAY;
	else if (memchr(type.p, '*', type.len))
		f->flags |= FIELD_POINTER;
	if (!f->size)
		f->flags |= FIELD_REST;
	if (f->flags & FIELD_ARRAY) {
		f->elem_bytes = elem_bytes(type);
		if (has_word(type, "char") && !has_word(type, "unsigned"))
			f->flags |= FIELD_STRING;
	}
}

/* Copies the name to *names and advances it. */
static bool field_line(struct bytes line, struct field *f, char **names)
{
	const uint8_t *semi = memchr(line.p, ';', line.len);
	struct bytes decl, type, name;
	uint32_t is_signed = 0;
	bool array;

	if (!semi || !bytes_take(&line, (size_t)(semi - line.p), &decl) || !skip(&line, ";"))
		return false;
	*f = (struct field){0};
	if (!take_number(&line, "offset:", &f->offset) || !take_number(&line, "size:", &f->size))
		return false;
	take_number(&line, "signed:", &is_signed); /* absent in very old kernels */
	if (f->offset > MAX_FIELD_BYTES || f->size > MAX_FIELD_BYTES ||
	    !split_decl(decl, &type, &name, &array))
		return false;
	f->flags = is_signed ? FIELD_SIGNED : 0;
	set_kind(f, type, array);
	if ((f->flags & FIELD_DYNAMIC) && f->size != 4)
		return false;
	f->name = *names;
	memcpy(*names, name.p, name.len);
	(*names)[name.len] = '\0';
	*names += name.len + 1;
	if (starts(name, "common_"))
		f->flags |= FIELD_COMMON;
	return true;
}

static int add_field(struct tpfields *tp, struct bytes line, char **names)
{
	struct field *f;

	if (tp->nr_fields == MAX_FIELDS || !field_line(line, &tp->fields[tp->nr_fields], names))
		return -EBADMSG;
	f = &tp->fields[tp->nr_fields++];
	tp->has_dynamic |= f->flags & FIELD_DYNAMIC;
	if (f->offset + f->size > tp->min_bytes)
		tp->min_bytes = f->offset + f->size;
	return 0;
}

static int parse(struct bytes format, struct tpfields *tp)
{
	char *names = tp->names;
	struct bytes line;
	int rc;

	if (!format.len)
		return -EBADMSG;
	line = line_take(&format);
	if (!skip(&line, "name: ") || !line.len)
		return -EBADMSG;
	tp->name = strndup((const char *)line.p, line.len);
	if (!tp->name)
		return -ENOMEM;
	while (format.len) {
		line = line_take(&format);
		if (starts(line, "print fmt:"))
			break;
		if (skip(&line, "\tfield:")) {
			rc = add_field(tp, line, &names);
			if (rc)
				return rc;
		} else if (line.len && !starts(line, "ID:") && !starts(line, "format:")) {
			return -EBADMSG;
		}
	}
	return tp->nr_fields ? 0 : -EBADMSG;
}

int tpfields_open(struct bytes format, struct tpfields *out)
{
	struct tpfields tp = {0};
	struct field *tight;
	int rc = -ENOMEM;

	tp.fields = calloc(MAX_FIELDS, sizeof(*tp.fields));
	tp.names = malloc(format.len + 1); /* a name and its NUL are shorter than its line */
	if (tp.fields && tp.names)
		rc = parse(format, &tp);
	if (rc) {
		tpfields_close(&tp);
		return rc;
	}
	tight = realloc(tp.fields, tp.nr_fields * sizeof(*tp.fields));
	if (tight)
		tp.fields = tight;
	*out = tp;
	return 0;
}

void tpfields_close(struct tpfields *tp)
{
	if (!tp)
		return;
	free(tp->name);
	free(tp->fields);
	free(tp->names);
	*tp = (struct tpfields){0};
}

const struct field *tpfields_find(const struct tpfields *tp, const char *name, size_t len)
{
	for (size_t i = 0; i < tp->nr_fields; i++)
		if (!strncmp(tp->fields[i].name, name, len) && !tp->fields[i].name[len])
			return &tp->fields[i];
	return NULL;
}

bool tpfields_fits(const struct tpfields *tp, struct bytes raw)
{
	struct bytes b;

	if (raw.len < tp->min_bytes)
		return false;
	if (!tp->has_dynamic)
		return true;
	for (size_t i = 0; i < tp->nr_fields; i++)
		if ((tp->fields[i].flags & FIELD_DYNAMIC) && !field_bytes(&tp->fields[i], raw, &b))
			return false;
	return true;
}

bool field_bytes(const struct field *f, struct bytes raw, struct bytes *out)
{
	uint64_t off = f->offset, len = f->size;
	uint32_t loc;

	if (!span_fits(off, len, raw.len))
		return false;
	if (f->flags & FIELD_DYNAMIC) {
		memcpy(&loc, raw.p + off, sizeof(loc));
		off = (loc & 0xffff) + (f->flags & FIELD_RELATIVE ? off + len : 0);
		len = loc >> 16;
		if (!span_fits(off, len, raw.len))
			return false;
	} else if (f->flags & FIELD_REST) {
		len = raw.len - off;
	}
	*out = (struct bytes){raw.p + off, len};
	return true;
}

bool field_string(const struct field *f, struct bytes raw, struct bytes *out)
{
	struct bytes b;

	if (!field_bytes(f, raw, &b))
		return false;
	*out = (struct bytes){b.p, strnlen((const char *)b.p, b.len)};
	return true;
}
