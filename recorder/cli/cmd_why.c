// SPDX-License-Identifier: MIT
/* `ringback why`: the verdict on a dump. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/why/why.h"
#include "recorder/cli/pager.h"

#include <errno.h>

struct why_args {
	struct why_options opt;
	const char *baseline;
	struct cmd_joined history;
	struct cmd_span span;
};

#define ARG(field) offsetof(struct why_args, field)

static const struct option_row options[] = {
	{"tid", 0, "N", OPTION_UINT, ARG(opt.tid), .min = 1, .max = UINT32_MAX - 1,
	 .help = "explain this thread"},
	{"pid", 0, "N", OPTION_UINT, ARG(opt.pid), .min = 1, .max = UINT32_MAX - 1,
	 .help = "explain this process"},
	{"comm", 0, "NAME", OPTION_WORD, ARG(opt.comm),
	 .help = "explain the thread with this name (* and ? match)"},
	{"without", 0, "WHO", OPTION_WORD, ARG(opt.without),
	 .help = "what would remain of the wait without WHO: a name (* and ? match), a process or "
		 "thread by number, or the path of a control group"},
	{"baseline", 0, "FILE", OPTION_WORD, ARG(baseline),
	 .help = "take what is usual from this dump, too: one of a better time"},
	CMD_SPAN_ROWS(struct why_args, span),
	{"json", 0, NULL, OPTION_FLAG, ARG(opt.json),
	 .help = "one JSON object, described in SCHEMA.md"},
	CMD_HISTORY_ROWS(struct why_args, history),
	{.name = NULL},
};

static int parse(struct why_args *q, int argc, char **argv)
{
	char **operands;
	int code = cmd_parse(&cmd_why, q, argc, argv, &operands);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_why, operands);
	if (code)
		return code;
	if (!!q->opt.tid + !!q->opt.pid + !!q->opt.comm > 1)
		return cmd_misuse(&cmd_why, "only one of --tid, --pid and --comm can be given");
	if (q->span.has_from && q->span.has_to && q->span.from_ns == q->span.to_ns)
		return cmd_misuse(&cmd_why, "--from is not before --to");
	return cmd_span_check(&cmd_why, &q->span);
}

static int print(struct why_args *q, const struct cmd_dump *d, const struct cmd_dump *base)
{
	struct why_result res = {0};
	struct err err = ERR_INIT;
	int rc, code;

	q->opt.baseline = base->r;
	q->opt.baseline_meta = base->m;
	rc = why_print(d->r, d->m, &q->opt, stdout, &res, &err);
	code = cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad_blocks + d->m->nr_broken);
	return code == EXIT_FINE && base->damaged ? EXIT_DAMAGED : code;
}

static int run(int argc, char **argv)
{
	struct why_args q = {.opt.color = cmd_dump_color()};
	struct cmd_dump d = {0}, base = {0};
	int code = parse(&q, argc, argv);

	if (code)
		return code;
	pager_start();
	code = cmd_joined_open(&q.history, &cmd_why, q.baseline, &d);
	if (code)
		return code;
	if (q.baseline)
		code = cmd_dump_open(q.baseline, &base);
	if (!code && (q.span.has_from || q.span.has_to))
		code = cmd_span_of(&q.span, &d, &q.opt.from_ns, &q.opt.to_ns);
	if (!code)
		code = print(&q, &d, &base);
	cmd_dump_close(&base);
	cmd_dump_close(&d);
	return code;
}

const struct command cmd_why = {
	.name = "why",
	.operands = "[DUMP]...",
	.help = "the verdict: what cost the time",
	.notes = "Without --tid and --comm: the thread that the trigger names, or the one that "
		 "lost most time.\n\n" CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
