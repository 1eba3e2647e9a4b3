/* SPDX-License-Identifier: MIT */
/*
 * A subcommand as a table row, from which --help, the usage line and completion are made. A command
 * is one file cmd_*.c and one row in main.c.
 */
#pragma once

#include "recorder/base/exit_code.h"
#include "recorder/base/options.h"

struct command {
	const char *name;
	const char *operands; /* as in the usage line: "[DUMP]...", "BASELINE DUMP"; "": none */
	const char *help;     /* one line */
	const char *notes;    /* below the options in --help; NULL: none */
	const struct option_row *options; /* ended by an empty row; NULL: a hidden command */
	/* argv[0] is the command's name. Returns an exit code, after printing its errors. */
	int (*run)(int argc, char **argv);
};

/* The commands, ended by NULL; hidden ones come last. */
extern const struct command *const command_table[];

extern const struct command cmd_record, cmd_trigger, cmd_status, cmd_info, cmd_script, cmd_report,
	cmd_diff, cmd_why, cmd_show, cmd_export, cmd_symbols, cmd_check, cmd_doctor, cmd_list,
	cmd_pin, cmd_keep, cmd_complete, cmd_crash_handler, cmd_on_dump;

const struct command *cmd_find(const char *name);

/* Stores the options of argv in the fields of `base`. *operands: the rest of argv, ended by NULL,
 * as many as c->operands allows; LAST in place of a DUMP is replaced by the newest. EXIT_FINE, or EXIT_USAGE after the error was printed. */
int cmd_parse(const struct command *c, void *base, int argc, char **argv, char ***operands);

/* Prints usage and options. */
void cmd_usage(const struct command *c, FILE *out);
/* Prints an error in the arguments, the usage line and a reference to the help. EXIT_USAGE. */
int cmd_misuse(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
