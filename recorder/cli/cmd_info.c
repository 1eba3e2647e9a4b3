// SPDX-License-Identifier: MIT
/* `ringback info`: what a dump says of itself. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/view/info/info.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/cli/pager.h"

static void options(FILE *out)
{
	fputs("  --json  one JSON object, described in SCHEMA.md\n"
	      "  --all   a line for each ring, also with many CPUs\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is printed).\n",
	      out);
}

static int print(const struct info_options *opt)
{
	struct info_result res = {0};
	struct err err = ERR_INIT;
	struct cmd_dump d;
	int rc, code = cmd_dump_open(opt->path, &d);

	if (code)
		return code;
	pager_start();
	rc = info_print(d.r, d.m, opt, stdout, &res, &err);
	code = cmd_dump_exit(opt->path, &d, rc, &err, res.nr_bad);
	cmd_dump_close(&d);
	return code;
}

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct info_options *opt = ctx;

	(void)arg, (void)err;
	if (c == 'j')
		opt->json = true;
	else
		opt->all = true;
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, 'j'},
		{"all", no_argument, NULL, 'a'},
		{0},
	};
	static const struct cmd_args args = {.longs = longs, .take = take};
	struct info_options opt = {.color = cmd_dump_color()};
	int code = cmd_args_take(&cmd_info, &args, &opt, argc, argv);

	if (!code)
		code = optind < argc ? cmd_args_path(&cmd_info, argc, argv, &opt.path)
				     : cmd_dump_newest(&cmd_info, &opt.path);

	return code ? code : print(&opt);
}

const struct command cmd_info = {
	.name = "info",
	.args = "[DUMP] [--json] [--all]",
	.help = "what a dump holds: trigger, windows, losses, host",
	.run = run,
	.options = options,
};
