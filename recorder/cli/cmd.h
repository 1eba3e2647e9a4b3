/* SPDX-License-Identifier: MIT */
/*
 * A subcommand as a table row. main.c holds the table, prints the usage and turns results into exit
 * codes; a command is one file cmd_*.c and one row.
 */
#pragma once

#include "recorder/base/exit_code.h"

#include <stdio.h>

struct command {
	const char *name;
	const char *args; /* "DUMP [--json]" */
	const char *help; /* one line */
	/* argv[0] is the command's name. Returns an exit code; has printed its errors with
	 * log_err(). */
	int (*run)(int argc, char **argv);
	/* The options, for `ringback COMMAND --help`; one option a line; NULL: none. */
	void (*options)(FILE *out);
};

extern const struct command cmd_record, cmd_trigger, cmd_status, cmd_info, cmd_script, cmd_report,
	cmd_crash_handler, cmd_diff, cmd_why, cmd_export, cmd_symbols, cmd_check, cmd_doctor,
	cmd_list;

/* Prints usage and options of a command. */
void cmd_usage(const struct command *c, FILE *out);
/* For a command's argument errors: the error, the usage line and where to read more; EXIT_USAGE. */
int cmd_misuse(const struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
