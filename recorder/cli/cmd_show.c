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

	if (!code)
		code = cmd_dump_named(&cmd_show, operands, &path);
	if (code)
		return code;
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
