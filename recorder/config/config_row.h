/* SPDX-License-Identifier: MIT */
/*
 * The rows of the options table, for the files that read it: config.c holds the table,
 * config_load.c makes getopt_long's from it, config_file.c looks keys up in it. Nobody else needs
 * them.
 */
#pragma once

#include "recorder/config/config.h"

#define CONFIG_DEFAULT_PATH RINGBACK_CONF

enum row_kind {
	ROW_FLAG,  /* bool; a configuration file writes yes or no */
	ROW_TEXT,  /* char *, owned */
	ROW_SIZE,  /* uint64_t bytes */
	ROW_TIME,  /* int64_t ns */
	ROW_COUNT, /* uint64_t */
	ROW_UINT,  /* unsigned */
	ROW_OWN,   /* set() parses */
	ROW_HELP,  /* no value: prints the help */
};

/* What the command line replaces as a whole: naming one target there drops all of the file's. */
enum row_group { GROUP_NONE, GROUP_TARGET, GROUP_WHAT, GROUP_RULES, GROUP_END };

struct config_row {
	const char *name; /* long option and key */
	char letter;	  /* short option or 0 */
	const char *arg;  /* as help shows it; NULL: takes none; "[=...]": may be left out */
	enum row_kind kind;
	size_t offset; /* in struct config; unused by ROW_OWN and ROW_HELP */
	int (*set)(struct config *c, const char *text, struct err *err);
	const char *def;   /* its value when nobody gives one, as text; NULL: none */
	uint64_t min, max; /* of numbers, inclusive; max 0: no bound */
	const char *help;
	bool repeat;  /* each adds to those before */
	bool in_file; /* [record] may have it */
	enum row_group group;
};

/* All options, ended by a row without name. */
extern const struct config_row config_rows[];

const struct config_row *config_row_find(const char *name);
bool config_row_optional_arg(const struct config_row *row);
/* Sets the row's field from `text` (NULL: given without a value). 0, -EINVAL, -ERANGE, -ENOMEM. */
int config_row_set(const struct config_row *row, struct config *c, const char *text,
		   struct err *err);

/* Sets the hint to the nearest of `names` (ended by NULL) to what was typed, or to `otherwise`. */
void config_hint_names(struct err *err, const char *typed, const char *const *names,
		       const char *otherwise);
/* As config_hint_names over the options: as keys where `in_file`, else with their dashes. */
void config_hint_rows(struct err *err, const char *typed, bool in_file, const char *otherwise);

/* Forgets all of one group. */
void config_drop_group(struct config *c, enum row_group group);

int config_no_memory(struct err *err);
/* Appends ("a,b" from "a" and "b") or adds to an owned array; 0 or -ENOMEM with `err` set. */
int config_join(char **list, const char *more, struct err *err);
int config_add_channel(struct config *c, const char *text, struct err *err);
/* "NAME=SIZE" */
int config_add_size(struct config *c, const char *text, struct err *err);

/* "none", "fp", "dwarf", "dwarf:SIZE". */
int config_stack_parse(const char *text, enum stack_kind *stack, uint32_t *bytes, struct err *err);
/* True for 1 to 31 letters, digits, '-' and '_'. */
bool config_name_ok(const char *name);

/*
 * Reads the configuration file into `c`. `path` NULL: /etc/ringback/ringback.conf, where it is
 * there and readable. Errors name file and line.
 */
int config_file_read(struct config *c, const char *path, struct err *err);
