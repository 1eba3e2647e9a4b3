// SPDX-License-Identifier: MIT
/* `ringback diff`: what grew from one dump to another. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/report/report.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <stdlib.h>

#define OPT(field) offsetof(struct report_options, field)

static const struct option_row options[] = {
	{"tid", 0, "N,..", OPTION_NUMBERS, OPT(tids), OPT(nr_tids), .help = "only these threads"},
	{"comm", 0, "NAME,..", OPTION_WORDS, OPT(comms), OPT(nr_comms),
	 .help = "only threads with one of these names (* and ? match)"},
	{.name = NULL},
};

static int print(struct report_options *o, const struct cmd_dump *base, const char *path,
		 const struct cmd_dump *d)
{
	struct cmd_progress progress = {.what = "diff"};
	struct report_result res = {0};
	struct err err = ERR_INIT;
	int rc, code;

	o->to_ns = UINT64_MAX;
	o->color = cmd_dump_color();
	o->width = cmd_dump_width();
	o->progress = cmd_dump_progress;
	o->ctx = &progress;
	rc = report_diff(base->r, base->m, d->r, d->m, o, stdout, &res, &err);
	log_status(NULL);
	code = cmd_dump_exit(path, d, rc, &err, res.nr_bad);
	return code == EXIT_FINE && base->damaged ? EXIT_DAMAGED : code;
}

static int run(int argc, char **argv)
{
	struct report_options opt = {0};
	struct cmd_dump base = {0}, d = {0};
	const char *base_path;
	char **operands;
	int code = cmd_parse(&cmd_diff, &opt, argc, argv, &operands);

	if (!code) {
		pager_start();
		code = cmd_dump_begin(&cmd_diff, operands, NULL, false, &base_path);
	}
	if (!code)
		code = cmd_dump_open(base_path, &base);
	if (!code)
		code = cmd_dump_open(operands[1], &d);
	if (!code)
		code = print(&opt, &base, operands[1], &d);
	cmd_dump_close(&d);
	cmd_dump_close(&base);
	free((void *)opt.comms);
	free((void *)opt.tids);
	return code;
}

const struct command cmd_diff = {
	.name = "diff",
	.operands = "BASELINE DUMP",
	.help = "what grew significantly from one dump to another",
	.notes = "Exit status: 0 success, also when nothing grew; 3 a dump is damaged: the intact "
		 "blocks are compared.\n",
	.run = run,
	.options = options,
};
