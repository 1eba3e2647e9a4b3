// SPDX-License-Identifier: MIT
/* `ringback diff`: what grew from one dump to another. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/report/report.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/base/option_list.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <stdlib.h>

struct request {
	struct report_options opt;
	const char *base_path, *path;
};

static void options(FILE *out)
{
	fputs("  --tid N,..        only these threads\n"
	      "  --comm NAME,..    only threads of this name (* and ? match)\n"
	      "\n"
	      "Exit: 0 fine, also when nothing grew; 3 a dump is damaged (what is whole is "
	      "compared).\n",
	      out);
}

static const struct option longs[] = {
	{"tid", required_argument, NULL, 'T'},
	{"comm", required_argument, NULL, 'c'},
	{0},
};

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct report_options *o = ctx;

	if (c == 'T')
		return option_list_numbers(arg, &o->tids, &o->nr_tids, err);
	return option_list_texts(arg, &o->comms, &o->nr_comms, err);
}

static int parse(struct request *q, int argc, char **argv)
{
	static const struct cmd_args args = {.longs = longs, .take = take};
	int code = cmd_args_take(&cmd_diff, &args, &q->opt, argc, argv);

	if (code)
		return code;
	if (optind != argc - 2)
		return cmd_misuse(&cmd_diff, "two dumps: the one to compare with, then the other");
	q->base_path = argv[optind];
	q->path = argv[optind + 1];
	return EXIT_FINE;
}

static int print(struct request *q, const struct cmd_dump *base, const struct cmd_dump *d)
{
	struct cmd_progress progress = {.what = "diff"};
	struct report_options *o = &q->opt;
	struct report_result res = {0};
	struct err err = ERR_INIT;
	int rc, code;

	pager_start();
	o->to_ns = UINT64_MAX;
	o->color = cmd_dump_color();
	o->width = cmd_dump_width();
	o->progress = cmd_dump_progress;
	o->ctx = &progress;
	rc = report_diff(base->r, base->m, d->r, d->m, o, stdout, &res, &err);
	log_status(NULL);
	code = cmd_dump_exit(q->path, d, rc, &err, res.nr_bad);
	return code == EXIT_FINE && base->damaged ? EXIT_DAMAGED : code;
}

static int run(int argc, char **argv)
{
	struct request q = {0};
	struct cmd_dump base = {0}, d = {0};
	int code = parse(&q, argc, argv);

	if (!code)
		code = cmd_dump_open(q.base_path, &base);
	if (!code)
		code = cmd_dump_open(q.path, &d);
	if (!code)
		code = print(&q, &base, &d);
	cmd_dump_close(&d);
	cmd_dump_close(&base);
	free((void *)q.opt.comms);
	free((void *)q.opt.tids);
	return code;
}

const struct command cmd_diff = {
	.name = "diff",
	.args = "BASELINE DUMP [--tid N,..] [--comm NAME,..]",
	.help = "what grew from one dump to another, significant things only",
	.run = run,
	.options = options,
};
