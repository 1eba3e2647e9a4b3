/* SPDX-License-Identifier: MIT */
/*
 * Opening a dump together with those that the recorder made before it (dump/file/join.h), for the
 * commands that read several as one (why, report, script): the ones that are named, or the one that
 * the dump itself names as its predecessor.
 */
#pragma once

#include "recorder/cli/cmd_args.h"
#include "recorder/cli/cmd_dump.h"

/* The dumps as typed, and how far to go back. */
struct cmd_joined {
	char **paths;
	int nr;
	char *newest; /* where none was typed */
	bool always, never;
	const char *path; /* set by cmd_joined_open(): the newest, whose trigger is time 0 */
};

/* --history and --no-history: rows for a command's options, what is typed, and help. */
#define CMD_HISTORY_ALWAYS 1001
#define CMD_HISTORY_NEVER  1002
#define CMD_HISTORY_ROWS                                                                           \
	{"history", no_argument, NULL, CMD_HISTORY_ALWAYS},                                        \
	{                                                                                          \
		"no-history", no_argument, NULL, CMD_HISTORY_NEVER                                 \
	}
#define CMD_HISTORY_HELP                                                                           \
	"  --history    with the dump before it, in the same directory, as one\n"                  \
	"  --no-history without it, also where the rule began to be met before this dump does\n"

/* True when `val` is one of them. */
bool cmd_joined_take(struct cmd_joined *h, int val);
/* What is left of the arguments: one dump or several of one recorder; none: the newest. EXIT_FINE,
 * EXIT_USAGE. */
int cmd_joined_args(struct cmd_joined *h, const struct command *c, int argc, char **argv);

/*
 * Opens them as one. Where one was named: with those before it that are needed to reach the moment
 * when the rule began to be met, as far as they are there. EXIT_FINE, or the exit code after the
 * error was printed.
 */
int cmd_joined_open(struct cmd_joined *h, struct cmd_dump *d);
