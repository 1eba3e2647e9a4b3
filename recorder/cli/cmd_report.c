// SPDX-License-Identifier: MIT
/* `ringback report`: what happened; as text, or as a page for a browser. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/html/html.h"
#include "dump/view/report/report.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <stdlib.h>

/* Options as given; times are relative to the dump's trigger. */
struct report_args {
	struct report_options opt;
	struct cmd_joined history;
	const char *page_path; /* NULL: text on stdout */
	bool force;
	struct cmd_span span;
};

static int set_focus(void *field, const char *arg, struct err *err)
{
	int64_t ns;
	int rc = str_time(arg, &ns, err);

	if (!rc && ns == 0)
		rc = err_set(err, -EINVAL, "it is 0");
	if (!rc)
		*(struct cmd_span *)field = (struct cmd_span){true, true, ns < 0 ? ns : -ns, 0};
	return rc;
}

#define ARG(field) offsetof(struct report_args, field)

static const struct option_row options[] = {
	{"focus", 0, "T", OPTION_OWN, ARG(span), .set = set_focus,
	 .help = "only this long before the trigger: 50ms"},
	CMD_SPAN_ROWS(struct report_args, span),
	{"tid", 0, "N,..", OPTION_NUMBERS, ARG(opt.tids), ARG(opt.nr_tids),
	 .help = "only these threads"},
	{"comm", 0, "NAME,..", OPTION_WORDS, ARG(opt.comms), ARG(opt.nr_comms),
	 .help = "only threads with one of these names (* and ? match)"},
	{"html", 0, "FILE", OPTION_WORD, ARG(page_path), .values = VALUES_FILE,
	 .help = "write a page for a browser instead: verdict, timeline, flame graphs, threads; "
		 "one "
		 "file, mode 0600, that needs no network"},
	{"force", 0, NULL, OPTION_FLAG, ARG(force), .help = "replace an existing FILE"},
	CMD_HISTORY_ROWS(struct report_args, history),
	{.name = NULL},
};

static int parse(struct report_args *q, int argc, char **argv)
{
	char **operands;
	int code = cmd_parse(&cmd_report, q, argc, argv, &operands);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_report, operands);
	if (code)
		return code;
	if (q->force && !q->page_path)
		return cmd_misuse(&cmd_report, "--force requires --html");
	if (q->page_path && (q->opt.nr_tids || q->opt.nr_comms))
		return cmd_misuse(&cmd_report, "--html can't be limited to threads; search for "
					       "them in the page");
	return cmd_span_check(&cmd_report, &q->span);
}

static int print(struct report_args *q, const struct cmd_dump *d)
{
	struct cmd_progress progress = {.what = "report"};
	struct report_options *o = &q->opt;
	struct report_result res = {0};
	struct err err = ERR_INIT;
	int rc;

	rc = cmd_span_of(&q->span, d, &o->from_ns, &o->to_ns);
	if (rc)
		return rc;
	o->color = cmd_dump_color();
	o->width = cmd_dump_width();
	o->progress = cmd_dump_progress;
	o->ctx = &progress;
	rc = report_print(d->r, d->m, o, stdout, &res, &err);
	log_status(NULL);
	return cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad);
}

static int open_and_print(struct report_args *q)
{
	struct cmd_dump d;
	int code;

	pager_start();
	code = cmd_joined_open(&q->history, &cmd_report, NULL, &d);
	if (code)
		return code;
	code = print(q, &d);
	cmd_dump_close(&d);
	return code;
}

static int print_page(struct report_args *q, const struct cmd_dump *d, FILE *out)
{
	struct cmd_progress progress = {.what = "report"};
	struct html_options o = {.progress = cmd_dump_progress, .ctx = &progress};
	struct html_result res = {0};
	struct err err = ERR_INIT;
	int rc;

	rc = cmd_span_of(&q->span, d, &o.from_ns, &o.to_ns);
	if (rc)
		return rc;
	rc = html_write(d->r, d->m, &o, out, &res, &err);
	log_status(NULL);
	return cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad + d->m->nr_broken);
}

static int write_page(void *ctx, FILE *out)
{
	struct report_args *q = ctx;
	struct cmd_dump d;
	int code = cmd_joined_open(&q->history, &cmd_report, NULL, &d);

	if (code)
		return code;
	code = print_page(q, &d, out);
	cmd_dump_close(&d);
	return code;
}

static int run(int argc, char **argv)
{
	struct report_args q = {0};
	const struct cmd_dump_job page = {.command = &cmd_report, .write = write_page, .ctx = &q};
	int code = parse(&q, argc, argv);

	if (!code)
		code = q.page_path ? cmd_dump_to_file(q.page_path, q.force, &page)
				   : open_and_print(&q);
	free((void *)q.opt.comms);
	free((void *)q.opt.tids);
	return code;
}

const struct command cmd_report = {
	.name = "report",
	.operands = "[DUMP]...",
	.help = "what happened: what ran, what waited and why",
	.notes = CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
