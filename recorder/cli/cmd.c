// SPDX-License-Identifier: MIT
/* Arguments and help of a command; see cmd.h. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "recorder/cli/cmd_dump.h"

#include <stdarg.h>
#include <string.h>

#define USAGE_BYTES 76 /* so that most usage lines fit 100 columns */

static void print_usage_line(const struct command *c, FILE *out)
{
	char options[USAGE_BYTES];

	options_usage(c->options, options, sizeof(options));
	fprintf(out, "usage: ringback %s%s%s%s\n", c->name, options, *c->operands ? " " : "",
		c->operands);
}

void cmd_usage(const struct command *c, FILE *out)
{
	print_usage_line(c, out);
	fprintf(out, "\n%s\n\n", c->help);
	options_help(c->options, out);
	if (c->notes)
		fprintf(out, "\n%s", c->notes);
}

int cmd_misuse(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	fputs("ringback: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	print_usage_line(c, stderr);
	fprintf(stderr, "  hint: ringback %s --help lists the options\n", c->name);
	return EXIT_USAGE;
}

/* Compares the words of c->operands with the given operands. */
static int check_operands(const struct command *c, char **typed)
{
	const char *word = c->operands;

	while (*word) {
		size_t n = strcspn(word, " ");

		if (*word == '[' && !strncmp(word + n - 3, "...", 3))
			return EXIT_FINE;
		if (*typed)
			typed++;
		else if (*word != '[')
			return cmd_misuse(c, "%.*s is missing", (int)n, word);
		word += n + strspn(word + n, " ");
	}
	return *typed ? cmd_misuse(c, "unexpected argument '%s'", *typed) : EXIT_FINE;
}

static int check_required(const struct command *c, const struct options_given *given)
{
	for (const struct option_row *r = c->options; r->name; r++) {
		bool there = !r->required;

		for (size_t i = 0; i < given->nr; i++)
			there |= given->v[i].row == r;
		if (!there)
			return cmd_misuse(c, "--%s %s is missing", r->name, r->arg);
	}
	return EXIT_FINE;
}

/* Replaces LAST, as an operand that is a dump. ./LAST is a file. */
static int find_last(const struct command *c, char **typed)
{
	int code = EXIT_FINE;

	for (; *typed && strstr(c->operands, "DUMP") && !code; typed++)
		if (!strcmp(*typed, "LAST"))
			code = cmd_dump_newest(c, (const char **)typed);
	return code;
}

int cmd_parse(const struct command *c, void *base, int argc, char **argv, char ***operands)
{
	struct options_given given = {0};
	struct err err = ERR_INIT;
	int code, rc = options_defaults(c->options, base, &err);

	if (!rc)
		rc = options_read(c->options, false, argc, argv, &given, &err);
	if (!rc)
		rc = options_set(&given, base, &err);
	if (rc)
		code = cmd_misuse(c, "%s%s%s", err.what, *err.hint ? ": " : "", err.hint);
	else
		code = check_required(c, &given);
	if (!code)
		code = check_operands(c, given.operands);
	if (!code)
		code = find_last(c, given.operands);
	*operands = given.operands;
	options_free(&given);
	return code;
}
