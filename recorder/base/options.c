// SPDX-License-Identifier: MIT
/*
 * Option tables; see options.h. Called by cmd.c for most commands, by config_load.c for `record`.
 */
#include "recorder/base/options.h"

#include "dump/base/array.h"
#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define LONG_BASE   256 /* getopt_long() returns LONG_BASE + i for row i */
#define ROWS_MAX    64
#define HELP_COLUMN 26
#define HELP_WIDTH  100

const struct option_row *option_find(const struct option_row *rows, const char *name)
{
	for (; rows->name; rows++)
		if (!strcmp(rows->name, name))
			return rows;
	return NULL;
}

bool option_takes_optional(const struct option_row *row)
{
	return row->arg && row->arg[0] == '[';
}

const char *option_spelled(const struct option_given *given, char *out, size_t n)
{
	if (given->is_short)
		snprintf(out, n, "-%c", given->row->letter);
	else
		snprintf(out, n, "--%s", given->row->name);
	return out;
}

/* "fast|high", "[=fp|dwarf[:SIZE]]" */
bool option_choice(const struct option_row *row, size_t i, char *out, size_t n)
{
	const char *p = row->arg ? row->arg + (option_takes_optional(row) ? 2 : 0) : NULL;

	if (!p || !strchr(p, '|'))
		return false;
	for (; i; i--) {
		p = strchr(p, '|');
		if (!p)
			return false;
		p++;
	}
	snprintf(out, n, "%.*s", (int)strcspn(p, "|["), p);
	return true;
}

/* ---- parsing ---- */

static void fill_getopt(const struct option_row *rows, bool in_order, struct option *longs,
			char *shorts)
{
	size_t nr = 0;

	if (in_order)
		*shorts++ = '+';
	*shorts++ = ':'; /* makes getopt distinguish a missing value from an unknown option */
	for (const struct option_row *r = rows; r->name && nr + 1 < ROWS_MAX; r++, nr++) {
		int has = !r->arg		     ? no_argument
			  : option_takes_optional(r) ? optional_argument
						     : required_argument;

		longs[nr] = (struct option){r->name, has, NULL, LONG_BASE + (int)nr};
		if (!r->letter)
			continue;
		*shorts++ = r->letter;
		for (int colons = has; colons > 0; colons--) /* one: required, two: optional */
			*shorts++ = ':';
	}
	longs[nr] = (struct option){0};
	*shorts = '\0';
}

static const struct option_row *row_of(const struct option_row *rows, int code)
{
	if (code >= LONG_BASE)
		return &rows[code - LONG_BASE];
	for (; code && rows->name; rows++)
		if (rows->letter == code)
			return rows;
	return NULL;
}

/* getopt said '?': an unknown or ambiguous option, or a value where none belongs. */
static int bad_option(const struct option_row *rows, const char *word, int code, struct err *err)
{
	struct closest near;
	char name[64], shown[64];

	if (code >= LONG_BASE)
		return err_set(err, -EINVAL, "--%s takes no value", row_of(rows, code)->name);
	if (code)
		return err_set(err, -EINVAL, "there is no option -%c", code);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	err_set(err, -EINVAL, "there is no option --%s", name);
	closest_init(&near, name);
	for (const struct option_row *r = rows; r->name; r++) {
		snprintf(shown, sizeof(shown), "--%s", r->name);
		closest_add(&near, r->name, shown);
	}
	closest_hint(&near, err, "");
	return -EINVAL;
}

static int missing_value(const struct option_row *rows, int code, struct err *err)
{
	struct option_given g = {row_of(rows, code), NULL, code < LONG_BASE};
	char name[64];

	return err_set(err, -EINVAL, "%s needs a value: %s", option_spelled(&g, name, sizeof(name)),
		       g.row->arg);
}

static int read_all(const struct option_row *rows, bool in_order, int argc, char **argv,
		    struct options_given *out, struct err *err)
{
	struct option longs[ROWS_MAX];
	char shorts[3 * ROWS_MAX + 3];
	int code, end = 1;

	fill_getopt(rows, in_order, longs, shorts);
	/* 0, not 1: makes glibc reset its state, also after a scan that stopped within a word. */
	optind = 0;
	opterr = 0;
	for (; (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1; end = optind) {
		struct option_given g = {row_of(rows, code), optarg, code < LONG_BASE};

		if (code == '?')
			return bad_option(rows, argv[optind - 1], optopt, err);
		if (code == ':')
			return missing_value(rows, optopt, err);
		/* -g=fp: getopt returns everything after the letter, with the '='. */
		if (g.is_short && option_takes_optional(g.row) && optarg && optarg[0] == '=')
			g.text++;
		if (out->nr < (size_t)argc * 2)
			out->v[out->nr++] = g;
	}
	out->operands = argv + optind;
	out->after_dashes = optind == end + 1 && !strcmp(argv[end], "--");
	return 0;
}

int options_read(const struct option_row *rows, bool in_order, int argc, char **argv,
		 struct options_given *out, struct err *err)
{
	struct options_given g = {.v = calloc((size_t)argc * 2 + 1, sizeof(*g.v))};
	int rc = g.v ? read_all(rows, in_order, argc, argv, &g, err)
		     : err_set(err, -ENOMEM, "out of memory");

	if (rc)
		options_free(&g);
	else
		*out = g;
	return rc;
}

void options_free(struct options_given *given)
{
	free(given->v);
	*given = (struct options_given){0};
}

/* ---- storing ---- */

static int set_flag(bool *flag, const char *text, struct err *err)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	if (!text) {
		*flag = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*flag = !strcasecmp(text, yes[i]);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%s' is neither yes nor no", text);
}

static int set_text(char **field, const char *text, struct err *err)
{
	char *copy;

	if (!*text)
		return err_set(err, -EINVAL, "the value is empty");
	copy = strdup(text);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	free(*field);
	*field = copy;
	return 0;
}

static int out_of_range(const struct option_row *row, const char *text, struct err *err)
{
	char min[32], max[32];

	if (row->kind == OPTION_SIZE) {
		str_fmt_size(min, sizeof(min), row->min);
		str_fmt_size(max, sizeof(max), row->max);
	} else {
		str_fmt_count(min, sizeof(min), row->min);
		str_fmt_count(max, sizeof(max), row->max);
	}
	err_set(err, -ERANGE, "%s is out of range", text);
	err_hint(err, "from %s to %s is possible", min, max);
	return -ERANGE;
}

static int set_number(const struct option_row *row, void *field, const char *text, struct err *err)
{
	uint64_t v;
	int rc;

	rc = row->kind == OPTION_SIZE ? str_size(text, &v, err) : str_u64(text, &v, err);
	if (rc)
		return rc;
	if (v < row->min || (row->max && v > row->max))
		return out_of_range(row, text, err);
	if (row->kind == OPTION_UINT)
		*(unsigned *)field = (unsigned)v;
	else
		*(uint64_t *)field = v;
	return 0;
}

static int set_time(int64_t *field, const char *text, struct err *err)
{
	int64_t v;
	int rc = str_time(text, &v, err);

	if (rc)
		return rc;
	if (v < 0)
		return err_set(err, -ERANGE, "%s is negative", text);
	*field = v;
	return 0;
}

static int set_choice(const struct option_row *row, unsigned *field, const char *text,
		      struct err *err)
{
	struct closest near;
	char word[64];

	closest_init(&near, text);
	for (unsigned i = 0; option_choice(row, i, word, sizeof(word)); i++) {
		if (!strcmp(text, word)) {
			*field = i;
			return 0;
		}
		closest_add(&near, word, NULL);
	}
	err_set(err, -EINVAL, "'%s' is not one of %s", text, row->arg);
	closest_hint(&near, err, "");
	return -EINVAL;
}

/* Splits `text`, which belongs to argv, in place. */
static int add_words(const char ***list, size_t *nr, const char *text, struct err *err)
{
	char *save = NULL;

	for (char *s = strtok_r((char *)text, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		if (!array_room(*list, *nr))
			return err_set(err, -ENOMEM, "out of memory");
		(*list)[(*nr)++] = s;
	}
	return 0;
}

static int add_numbers(uint32_t **list, size_t *nr, const char *text, struct err *err)
{
	const char **words = NULL;
	size_t nr_words = 0;
	int rc = add_words(&words, &nr_words, text, err);

	for (size_t i = 0; i < nr_words && !rc; i++) {
		uint64_t v;

		rc = str_u64(words[i], &v, err);
		if (!rc && v >= UINT32_MAX)
			rc = err_set(err, -ERANGE, "'%s' is too large", words[i]);
		if (!rc && !array_room(*list, *nr))
			rc = err_set(err, -ENOMEM, "out of memory");
		if (!rc)
			(*list)[(*nr)++] = (uint32_t)v;
	}
	free(words);
	return rc;
}

int option_set(const struct option_row *row, void *base, const char *text, struct err *err)
{
	void *field = (char *)base + row->offset;
	size_t *nr = (size_t *)((char *)base + row->nr_offset);

	switch (row->kind) {
	case OPTION_FLAG:
		return set_flag(field, text, err);
	case OPTION_WORD:
		*(const char **)field = text;
		return 0;
	case OPTION_TEXT:
		return set_text(field, text, err);
	case OPTION_SIZE:
	case OPTION_COUNT:
	case OPTION_UINT:
		return set_number(row, field, text, err);
	case OPTION_TIME:
		return set_time(field, text, err);
	case OPTION_CHOICE:
		return set_choice(row, field, text, err);
	case OPTION_WORDS:
		return add_words(field, nr, text, err);
	case OPTION_NUMBERS:
		return add_numbers(field, nr, text, err);
	case OPTION_OWN:
		break;
	}
	return row->set(field, text, err);
}

int options_defaults(const struct option_row *rows, void *base, struct err *err)
{
	int rc = 0;

	for (; rows->name && !rc; rows++)
		rc = rows->def ? option_set(rows, base, rows->def, err) : 0;
	return rc;
}

int options_set(const struct options_given *given, void *base, struct err *err)
{
	char name[64];

	for (size_t i = 0; i < given->nr; i++) {
		int rc = option_set(given->v[i].row, base, given->v[i].text, err);

		if (rc) {
			err_prefix(err, "%s", option_spelled(&given->v[i], name, sizeof(name)));
			return rc;
		}
	}
	return 0;
}

/* ---- help ---- */

void options_usage(const struct option_row *rows, char *out, size_t n)
{
	char rest[128] = "";
	size_t used = 0;

	*out = '\0';
	for (const struct option_row *r = rows; r->name; r++) {
		char dash[64];

		option_spelled(&(struct option_given){r, NULL, r->letter}, dash, sizeof(dash));
		if (r->required)
			snprintf(rest, sizeof(rest), " %s %s", dash, r->arg);
		used += (size_t)snprintf(out + used, used < n ? n - used : 0, " %s%s%s%s%s",
					 r->required ? "" : "[", dash, r->arg ? " " : "",
					 r->arg ? r->arg : "", r->required ? "" : "]");
	}
	if (used >= n)
		snprintf(out, n, "%s [OPTION]...", rest);
}

/* Words of `text` from HELP_COLUMN on, in lines of at most HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text)
{
	size_t column = HELP_COLUMN;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + word > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, word, out);
		column += word;
		text += word + strspn(text + word, " ");
	}
	fputc('\n', out);
}

static void print_row(FILE *out, const struct option_row *r)
{
	char head[128], text[512];
	const char *arg = r->arg ? r->arg : "";
	const char *gap = r->arg && !option_takes_optional(r) ? " " : "";
	int n;

	if (r->letter)
		n = snprintf(head, sizeof(head), "  -%c, --%s%s%s", r->letter, r->name, gap, arg);
	else
		n = snprintf(head, sizeof(head), "      --%s%s%s", r->name, gap, arg);
	snprintf(text, sizeof(text), "%s%s%s%s", r->help, r->def ? " (default: " : "",
		 r->def ? r->def : "", r->def ? ")" : "");
	if (n < HELP_COLUMN)
		fprintf(out, "%-*s", HELP_COLUMN, head);
	else
		fprintf(out, "%s\n%*s", head, HELP_COLUMN, "");
	print_wrapped(out, text);
}

void options_help(const struct option_row *rows, FILE *out)
{
	static const struct option_row help_row = {"help", 'h', .help = "show this help"};
	const char *name, *help;

	for (const struct option_row *r = rows; r->name; r++)
		print_row(out, r);
	print_row(out, &help_row);
	for (const struct option_row *r = rows; r->name; r++) {
		if (r->choices)
			fprintf(out, "\n%s is one of:\n", r->arg);
		for (size_t i = 0; r->choices && r->choices(i, &name, &help); i++) {
			fprintf(out, "  %-*s", HELP_COLUMN - 2, name);
			print_wrapped(out, help);
		}
	}
}
