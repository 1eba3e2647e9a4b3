// SPDX-License-Identifier: MIT
/* `ringback report`: what happened, for people; as text, or as a page for a browser. */
#include "recorder/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/meta.h"
#include "dump/view/html.h"
#include "dump/view/report.h"
#include "recorder/cmd_dump.h"
#include "recorder/lists.h"
#include "recorder/log.h"
#include "recorder/outfile.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

/* What was asked for, as typed: times get their meaning from the dump's trigger. */
struct request {
	struct report_options opt;
	const char *path, *page_path; /* page_path NULL: text on stdout */
	bool force;
	bool has_from, has_to;
	int64_t from_ns, to_ns; /* relative to the trigger */
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
	      "  --force           replaces FILE when it is there\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is reported).\n",
	      out);
}

static const struct option longs[] = {
	{"focus", required_argument, NULL, 'F'}, {"from", required_argument, NULL, 'f'},
	{"to", required_argument, NULL, 't'},	 {"tid", required_argument, NULL, 'T'},
	{"comm", required_argument, NULL, 'c'},	 {"html", required_argument, NULL, 'h'},
	{"force", no_argument, NULL, 'o'},	 {0},
};

static int take_focus(struct request *q, const char *arg, struct err *err)
{
	int64_t ns;
	int rc = str_time(arg, &ns, err);

	if (!rc && ns == 0)
		rc = err_set(err, -EINVAL, "a focus of no time shows nothing");
	if (rc)
		return rc;
	q->has_from = q->has_to = true;
	q->from_ns = ns < 0 ? ns : -ns;
	q->to_ns = 0;
	return 0;
}

static int take(struct request *q, int c, char *arg, struct err *err)
{
	struct report_options *o = &q->opt;

	switch (c) {
	case 'F':
		return take_focus(q, arg, err);
	case 'f':
		q->has_from = true;
		return str_time(arg, &q->from_ns, err);
	case 't':
		q->has_to = true;
		return str_time(arg, &q->to_ns, err);
	case 'h':
		q->page_path = arg;
		return 0;
	case 'o':
		q->force = true;
		return 0;
	case 'T':
		return lists_numbers(arg, &o->tids, &o->nr_tids, err);
	default:
		return lists_texts(arg, &o->comms, &o->nr_comms, err);
	}
}

/* -200ms after --from is an argument, not an option: getopt takes what follows as it is. */
static int parse(struct request *q, int argc, char **argv)
{
	struct err err = ERR_INIT;
	int c, index = 0;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", longs, &index)) != -1) {
		if (c == ':')
			return cmd_misuse(&cmd_report, "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return cmd_misuse(&cmd_report, "there is no option '%s'", argv[optind - 1]);
		if (take(q, c, optarg, &err))
			return cmd_misuse(&cmd_report, "--%s: %s", longs[index].name, err.what);
	}
	if (optind != argc - 1)
		return cmd_misuse(&cmd_report, "%s",
				  optind == argc ? "which dump?" : "one dump at a time");
	q->path = argv[optind];
	if (q->has_from && q->has_to && q->from_ns > q->to_ns)
		return cmd_misuse(&cmd_report, "--from is after --to");
	if (q->force && !q->page_path)
		return cmd_misuse(&cmd_report, "--force goes with --html");
	if (q->page_path && (q->opt.nr_tids || q->opt.nr_comms))
		return cmd_misuse(&cmd_report, "a page has all threads: look for some in it");
	return EXIT_FINE;
}

static int print(struct request *q, const struct cmd_dump *d)
{
	struct cmd_progress progress = {.what = "report"};
	struct report_options *o = &q->opt;
	struct report_result res = {0};
	struct err err = ERR_INIT;
	int rc;

	o->from_ns = q->has_from ? cmd_dump_moment(d->m->trigger.hit_ns, q->from_ns) : 0;
	o->to_ns = q->has_to ? cmd_dump_moment(d->m->trigger.hit_ns, q->to_ns) : UINT64_MAX;
	o->color = cmd_dump_color();
	o->width = cmd_dump_width();
	o->progress = cmd_dump_progress;
	o->ctx = &progress;
	rc = report_print(d->r, d->m, o, stdout, &res, &err);
	log_status(NULL);
	return cmd_dump_exit(q->path, d, rc, &err, res.nr_bad);
}

static int write_page(struct request *q, const struct cmd_dump *d, FILE *out)
{
	struct cmd_progress progress = {.what = "report"};
	struct html_options o = {
		.from_ns = q->has_from ? cmd_dump_moment(d->m->trigger.hit_ns, q->from_ns) : 0,
		.to_ns = q->has_to ? cmd_dump_moment(d->m->trigger.hit_ns, q->to_ns) : UINT64_MAX,
		.progress = cmd_dump_progress,
		.ctx = &progress,
	};
	struct html_result res = {0};
	struct err err = ERR_INIT;
	int rc = html_write(d->r, d->m, &o, out, &res, &err);

	log_status(NULL);
	return cmd_dump_exit(q->path, d, rc, &err, res.nr_bad + d->m->nr_broken);
}

static int make_page(struct request *q, const struct cmd_dump *d)
{
	struct err err = ERR_INIT;
	struct outfile *o = NULL;
	int code;

	if (outfile_open(q->page_path, q->force, &o, &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	code = write_page(q, d, outfile_stream(o));
	if ((code == EXIT_FINE || code == EXIT_DAMAGED) && outfile_commit(o, &err)) {
		log_err(&err);
		code = EXIT_FAILED;
	}
	outfile_close(o);
	return code;
}

static int run(int argc, char **argv)
{
	struct request q = {0};
	struct cmd_dump d;
	int code = parse(&q, argc, argv);

	if (!code)
		code = cmd_dump_open(q.path, &d);
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
	.args = "DUMP [--focus T] [--from T] [--to T] [--tid N,..] [--comm NAME,..]"
		" [--html FILE [--force]]",
	.help = "what happened: what ran, what waited and why",
	.run = run,
	.options = options,
};
