// SPDX-License-Identifier: MIT
/* `ringback report`: what happened, for people; as text, or as a page for a browser. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/html/html.h"
#include "dump/view/report/report.h"
#include "recorder/base/option_list.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <stdlib.h>

/* What was asked for, as typed: times get their meaning from the dump's trigger. */
struct request {
	struct report_options opt;
	struct cmd_joined history;
	const char *page_path; /* NULL: text on stdout */
	bool force;
	struct cmd_span span;
};

static void options(FILE *out)
{
	fputs("  --focus T         only the time just before the trigger: 50ms\n"
	      "  --from T          from this moment on, relative to the trigger: -200ms, -1.5s\n"
	      "  --to T            up to this moment\n"
	      "  --tid N,..        only these threads\n"
	      "  --comm NAME,..    only threads of this name (* and ? match)\n"
	      "  --html FILE       instead a page for a browser: verdict, timeline, flame graphs, "
	      "threads;\n"
	      "                    one file, mode 0600, that needs no network\n"
	      "  --force           replaces FILE when it is there\n" CMD_HISTORY_HELP "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is reported).\n",
	      out);
}

static const struct option longs[] = {
	{"focus", required_argument, NULL, 'F'},
	{"from", required_argument, NULL, 'f'},
	{"to", required_argument, NULL, 't'},
	{"tid", required_argument, NULL, 'T'},
	{"comm", required_argument, NULL, 'c'},
	{"html", required_argument, NULL, 'h'},
	{"force", no_argument, NULL, 'o'},
	CMD_HISTORY_ROWS,
	{0},
};

static int take_focus(struct request *q, const char *arg, struct err *err)
{
	int64_t ns;
	int rc = str_time(arg, &ns, err);

	if (!rc && ns == 0)
		rc = err_set(err, -EINVAL, "a focus of no time shows nothing");
	if (rc)
		return rc;
	q->span = (struct cmd_span){true, true, ns < 0 ? ns : -ns, 0};
	return 0;
}

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct request *q = ctx;
	struct report_options *o = &q->opt;

	if (cmd_joined_take(&q->history, c))
		return 0;
	switch (c) {
	case 'F':
		return take_focus(q, arg, err);
	case 'f':
		return cmd_span_from(&q->span, arg, err);
	case 't':
		return cmd_span_to(&q->span, arg, err);
	case 'h':
		q->page_path = arg;
		return 0;
	case 'o':
		q->force = true;
		return 0;
	case 'T':
		return option_list_numbers(arg, &o->tids, &o->nr_tids, err);
	default:
		return option_list_texts(arg, &o->comms, &o->nr_comms, err);
	}
}

static const struct cmd_args args = {.longs = longs, .take = take};

static int parse(struct request *q, int argc, char **argv)
{
	int code = cmd_args_take(&cmd_report, &args, q, argc, argv);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_report, argc, argv);

	if (code)
		return code;
	if (q->force && !q->page_path)
		return cmd_misuse(&cmd_report, "--force goes with --html");
	if (q->page_path && (q->opt.nr_tids || q->opt.nr_comms))
		return cmd_misuse(&cmd_report, "a page has all threads: look for some in it");
	return cmd_span_check(&cmd_report, &q->span);
}

static int print(struct request *q, const struct cmd_dump *d)
{
	struct cmd_progress progress = {.what = "report"};
	struct report_options *o = &q->opt;
	struct report_result res = {0};
	struct err err = ERR_INIT;
	int rc;

	rc = cmd_span_of(&q->span, d, &o->from_ns, &o->to_ns);
	if (rc)
		return rc;
	pager_start();
	o->color = cmd_dump_color();
	o->width = cmd_dump_width();
	o->progress = cmd_dump_progress;
	o->ctx = &progress;
	rc = report_print(d->r, d->m, o, stdout, &res, &err);
	log_status(NULL);
	return cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad);
}

struct page {
	struct request *q;
	const struct cmd_dump *d;
};

static int write_page(void *ctx, FILE *out)
{
	const struct page *p = ctx;
	struct cmd_progress progress = {.what = "report"};
	struct html_options o = {.progress = cmd_dump_progress, .ctx = &progress};
	struct html_result res = {0};
	struct err err = ERR_INIT;
	int rc;

	rc = cmd_span_of(&p->q->span, p->d, &o.from_ns, &o.to_ns);
	if (rc)
		return rc;
	rc = html_write(p->d->r, p->d->m, &o, out, &res, &err);
	log_status(NULL);
	return cmd_dump_exit(p->q->history.path, p->d, rc, &err, res.nr_bad + p->d->m->nr_broken);
}

static int make_page(struct request *q, const struct cmd_dump *d)
{
	struct page p = {q, d};

	return cmd_dump_to_file(q->page_path, q->force, write_page, &p);
}

static int run(int argc, char **argv)
{
	struct request q = {0};
	struct cmd_dump d;
	int code = parse(&q, argc, argv);

	if (!code)
		code = cmd_joined_open(&q.history, &d);
	if (!code) {
		code = q.page_path ? make_page(&q, &d) : print(&q, &d);
		cmd_dump_close(&d);
	}
	free((void *)q.opt.comms);
	free((void *)q.opt.tids);
	return code;
}

const struct command cmd_report = {
	.name = "report",
	.args = "[DUMP]... [--focus T] [--from T] [--to T] [--tid N,..] [--comm NAME,..]"
		" [--html FILE [--force]]",
	.help = "what happened: what ran, what waited and why",
	.run = run,
	.options = options,
};
