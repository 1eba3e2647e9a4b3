// SPDX-License-Identifier: MIT
/* `ringback show`: the first look at a dump: why, then report. */
#include "recorder/cli/cmd_dump.h"

#include "recorder/cli/cmd.h"

#include <stdio.h>

static const struct option_row options[] = {{.name = NULL}};

static int run(int argc, char **argv)
{
	const char *path;
	char **operands;
	int code = cmd_parse(&cmd_show, NULL, argc, argv, &operands), report;

	path = code ? NULL : operands[0];
	if (!code && !path)
		code = cmd_dump_newest(&cmd_show, &path);
	if (code)
		return code;
	/* The second finds this process confined to the same dump. */
	argv = (char *[]){argv[0], "--", (char *)path, NULL};
	code = cmd_why.run(3, argv);
	if (code != EXIT_FINE && code != EXIT_DAMAGED)
		return code;
	putchar('\n');
	report = cmd_report.run(3, argv);
	return report ? report : code;
}

const struct command cmd_show = {
	.name = "show",
	.operands = "[DUMP]",
	.help = "a first look: why, then report",
	.notes = CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
