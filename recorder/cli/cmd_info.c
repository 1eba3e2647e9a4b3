// SPDX-License-Identifier: MIT
/* `ringback info`: trigger, channels, losses, host and waiting threads of a dump. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/view/info/info.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/cli/pager.h"

static const struct option_row options[] = {
	{"json", 0, NULL, OPTION_FLAG, offsetof(struct info_options, json),
	 .help = "one JSON object, described in SCHEMA.md"},
	{"all", 0, NULL, OPTION_FLAG, offsetof(struct info_options, all),
	 .help = "one line for each ring and each waiting thread"},
	{.name = NULL},
};

static int print(const struct info_options *opt)
{
	struct info_result res = {0};
	struct err err = ERR_INIT;
	struct cmd_dump d;
	int rc, code = cmd_dump_open(opt->path, &d);

	if (code)
		return code;
	rc = info_print(d.r, d.m, opt, stdout, &res, &err);
	code = cmd_dump_exit(opt->path, &d, rc, &err, res.nr_bad);
	cmd_dump_close(&d);
	return code;
}

static int run(int argc, char **argv)
{
	struct info_options opt = {.color = cmd_dump_color()};
	char **operands;
	int code = cmd_parse(&cmd_info, &opt, argc, argv, &operands);

	if (!code) {
		pager_start();
		code = cmd_dump_begin(&cmd_info, operands, NULL, false, &opt.path);
	}
	return code ? code : print(&opt);
}

const struct command cmd_info = {
	.name = "info",
	.operands = "[DUMP]",
	.help = "what a dump holds: trigger, windows, losses, host, waiting threads",
	.notes = CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
