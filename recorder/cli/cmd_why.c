// SPDX-License-Identifier: MIT
/* `ringback why`: the verdict on a dump. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/why/why.h"
#include "recorder/cli/pager.h"

#include <errno.h>

struct request {
	struct why_options opt;
	struct cmd_joined history;
	struct cmd_span span;
};

static void options(FILE *out)
{
	fputs("  --tid N      what this thread lost its time to\n"
	      "  --comm NAME  the same of the thread with this name (* and ? match)\n"
	      "  --from T     explain the time from this moment on, relative to the trigger: "
	      "-200ms\n"
	      "  --to T       up to this moment\n"
	      "  --json       one JSON object, described in SCHEMA.md\n" CMD_HISTORY_HELP "\n"
	      "Without --tid and --comm: the thread that asked for the dump, or the one worst "
	      "off.\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is considered).\n",
	      out);
}

static const struct option longs[] = {
	{"tid", required_argument, NULL, 'T'},
	{"comm", required_argument, NULL, 'c'},
	{"from", required_argument, NULL, 'f'},
	{"to", required_argument, NULL, 't'},
	{"json", no_argument, NULL, 'j'},
	CMD_HISTORY_ROWS,
	{0},
};

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct request *q = ctx;
	uint64_t v;
	int rc;

	if (cmd_joined_take(&q->history, c))
		return 0;
	switch (c) {
	case 'T':
		rc = str_u64(arg, &v, err);
		if (!rc && (!v || v >= UINT32_MAX))
			rc = err_set(err, -ERANGE, "'%s' is no thread's number", arg);
		q->opt.tid = rc ? 0 : (uint32_t)v;
		return rc;
	case 'c':
		q->opt.comm = arg;
		return 0;
	case 'f':
		return cmd_span_from(&q->span, arg, err);
	case 't':
		return cmd_span_to(&q->span, arg, err);
	default:
		q->opt.json = true;
		return 0;
	}
}

static const struct cmd_args args = {.longs = longs, .take = take};

static int parse(struct request *q, int argc, char **argv)
{
	int code = cmd_args_take(&cmd_why, &args, q, argc, argv);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_why, argc, argv);

	if (code)
		return code;
	if (q->opt.tid && q->opt.comm)
		return cmd_misuse(&cmd_why, "--tid and --comm are two ways to say one thing");
	if (q->span.has_from && q->span.has_to && q->span.from_ns == q->span.to_ns)
		return cmd_misuse(&cmd_why, "--from is not before --to");
	return cmd_span_check(&cmd_why, &q->span);
}

static int run(int argc, char **argv)
{
	struct request q = {.opt.color = cmd_dump_color()};
	struct why_result res = {0};
	struct err err = ERR_INIT;
	struct cmd_dump d;
	int rc, code = parse(&q, argc, argv);

	if (!code)
		code = cmd_joined_open(&q.history, &d);
	if (code)
		return code;
	if (q.span.has_from || q.span.has_to)
		code = cmd_span_of(&q.span, &d, &q.opt.from_ns, &q.opt.to_ns);
	if (code) {
		cmd_dump_close(&d);
		return code;
	}
	pager_start();
	rc = why_print(d.r, d.m, &q.opt, stdout, &res, &err);
	code = cmd_dump_exit(q.history.path, &d, rc, &err, res.nr_bad_blocks + d.m->nr_broken);
	cmd_dump_close(&d);
	return code;
}

const struct command cmd_why = {
	.name = "why",
	.args = "[DUMP]... [--tid N | --comm NAME] [--from T] [--to T] [--json]",
	.help = "the verdict: what the time was lost to",
	.run = run,
	.options = options,
};
