/* SPDX-License-Identifier: MIT */
/*
 * The options of a command as a table. Parsing, --help, the usage line, completion and, for
 * `record`, the configuration file all read it. Adding an option is one row here and one paragraph
 * in the man page. Every command also takes -h and --help, which are in no table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum option_kind {
	OPTION_FLAG,	/* bool; with an argument, or in a file: yes or no */
	OPTION_WORD,	/* const char *, borrowed from argv */
	OPTION_TEXT,	/* char *, owned, not empty */
	OPTION_SIZE,	/* uint64_t, bytes */
	OPTION_TIME,	/* int64_t, ns, not negative */
	OPTION_COUNT,	/* uint64_t */
	OPTION_UINT,	/* unsigned */
	OPTION_CHOICE,	/* an enum: the index of the word in `arg`, such as "fast|high" */
	OPTION_WORDS,	/* const char **, owned, pointing into argv; comma-separated */
	OPTION_NUMBERS, /* uint32_t *, owned; comma-separated */
	OPTION_OWN,	/* set() stores it */
};

/* What completion offers for the argument, besides `choices` and words such as "fast|high". */
enum option_values {
	VALUES_NONE,
	VALUES_FILE,
	VALUES_DIRECTORY,
	VALUES_EVENT,
	VALUES_RULE,
	VALUES_PID,
	VALUES_CGROUP,
	VALUES_RECORDER,
};

struct option_row {
	const char *name; /* long option, and key in a file; NULL ends the table */
	char letter;	  /* short option or 0 */
	const char *arg;  /* as shown by --help; NULL: no argument; "[=...]": optional */
	enum option_kind kind;
	size_t offset;	  /* of the field */
	size_t nr_offset; /* WORDS, NUMBERS: of the count, a size_t */
	int (*set)(void *field, const char *text, struct err *err);
	const char *def;   /* default, as text; NULL: none */
	uint64_t min, max; /* of numbers, inclusive; max 0: no bound */
	const char *help;
	bool required;
	enum option_values values;
	/* The possible values, each with a line of help; false past the last. NULL: no list. */
	bool (*choices)(size_t i, const char **name, const char **help);
	/* For configuration files only. */
	bool repeat;  /* a further one adds to the earlier ones */
	bool in_file; /* allowed in [record] */
	int group;    /* enum row_group of config_row.h */
};

/* An option as typed. */
struct option_given {
	const struct option_row *row;
	const char *text; /* NULL: without a value */
	bool is_short;
};

struct options_given {
	struct option_given *v; /* in the order typed */
	size_t nr;
	char **operands;   /* the rest of argv, ended by NULL */
	bool after_dashes; /* in_order: "--" precedes the operands */
};

/* Parses argv[1..] and reorders it; `in_order` stops at the first operand. Does not check the
 * values. 0, -EINVAL, -ENOMEM; on success the caller must call options_free(). */
int options_read(const struct option_row *rows, bool in_order, int argc, char **argv,
		 struct options_given *out, struct err *err);
void options_free(struct options_given *given);

/* Stores `text` (NULL: given without a value) in the row's field of `base`. 0, -EINVAL, -ERANGE,
 * -ENOMEM. */
int option_set(const struct option_row *row, void *base, const char *text, struct err *err);
/* Stores the defaults. */
int options_defaults(const struct option_row *rows, void *base, struct err *err);
/* Stores all given options; an error begins with the option's name. */
int options_set(const struct options_given *given, void *base, struct err *err);

const struct option_row *option_find(const struct option_row *rows, const char *name);
bool option_takes_optional(const struct option_row *row);
/* "-e" or "--event", as it was typed. */
const char *option_spelled(const struct option_given *given, char *out, size_t n);
/* Word `i` of an argument such as "fast|high"; false past the last. */
bool option_choice(const struct option_row *row, size_t i, char *out, size_t n);

/* The usage line's options, each after a space; " [OPTION]..." if they do not fit into `n` bytes. */
void options_usage(const struct option_row *rows, char *out, size_t n);
/* The lines of --help. */
void options_help(const struct option_row *rows, FILE *out);
