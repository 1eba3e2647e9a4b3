/* SPDX-License-Identifier: MIT */
/*
 * Opens a dump together with earlier ones of the same recorder (dump/file/join.h), for why, report
 * and script: those given on the command line, or the one that the dump names as its predecessor.
 */
#pragma once

#include "recorder/cli/cmd_dump.h"
#include "recorder/cli/cmd_span.h"

/* The dumps as given, and how far to go back. */
struct cmd_joined {
	char **paths; /* none: the newest */
	int nr;
	bool always, never;
	const char *path; /* set by cmd_joined_open(): the newest, whose trigger is time 0 */
};

/* The rows of --history and --no-history, for a struct cmd_joined in the field `joined` of `type`.
 */
#define CMD_HISTORY_ROWS(type, joined)                                                             \
	{"history",                                                                                \
	 0,                                                                                        \
	 NULL,                                                                                     \
	 OPTION_FLAG,                                                                              \
	 offsetof(type, joined.always),                                                            \
	 .help = "read it together with the previous dump in the same directory"},                 \
	{                                                                                          \
		"no-history", 0, NULL, OPTION_FLAG, offsetof(type, joined.never),                  \
			.help = "read it alone, even if what met the rule began before the dump "  \
				"does"                                                             \
	}

/* The operands: one dump or several of one recorder; none: the newest. EXIT_FINE, EXIT_USAGE. */
int cmd_joined_args(struct cmd_joined *h, const struct command *c, char **operands);

/*
 * Confines this process as cmd_dump_begin() does, and opens the dumps as one. If a single dump was given, adds the available earlier ones that are
 * needed to reach the start of the rule's condition. EXIT_FINE, or the exit code after the error
 * was printed.
 */
int cmd_joined_open(struct cmd_joined *h, const struct command *c, const char *also,
		    struct cmd_dump *d);
