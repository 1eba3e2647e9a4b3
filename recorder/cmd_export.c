// SPDX-License-Identifier: MIT
/* `ringback export`: a dump in a format that other tools read. */
#include "recorder/cmd_args.h"

#include "dump/base/err.h"
#include "dump/meta.h"
#include "dump/view/export.h"
#include "recorder/cmd_dump.h"
#include "recorder/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* What was asked for, as typed. */
struct request {
	const struct exporter *format;
	const char *path, *out_path; /* out_path NULL or "-": stdout */
	bool force, schema;
	const char *event;
	struct cmd_span span;
};

/* What export_to() needs. */
struct work {
	const struct request *q;
	const struct cmd_dump *d;
};

static void options(FILE *out)
{
	const struct exporter *e;

	fputs("  -f, --format FORMAT  one of:\n", out);
	for (size_t i = 0; (e = exporter_nth(i)); i++)
		fprintf(out, "      %-9s %s\n", e->name, e->help);
	fputs("  -o, --output FILE    where to, mode 0600; without it, or '-': stdout\n"
	      "  --force              replaces FILE when it is there\n"
	      "  --from T             from this moment on, relative to the trigger: -200ms, +50us\n"
	      "  --to T               up to this moment\n"
	      "  --event GLOB         folded: samples of these events, without it of those that\n"
	      "                       sample the CPU; ndjson: these events, without it all\n"
	      "  --schema             prints what a line of ndjson is, as a JSON Schema\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is written).\n",
	      out);
}

/* ---- options ---- */

static const struct option longs[] = {
	{"format", required_argument, NULL, 'f'}, {"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'F'},	  {"from", required_argument, NULL, 'a'},
	{"to", required_argument, NULL, 'b'},	  {"event", required_argument, NULL, 'e'},
	{"schema", no_argument, NULL, 's'},	  {0},
};

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct request *q = ctx;

	switch (c) {
	case 'f':
		q->format = exporter_find(arg, err);
		return q->format ? 0 : -EINVAL;
	case 'o':
		q->out_path = strcmp(arg, "-") ? arg : NULL;
		return 0;
	case 'a':
		return cmd_span_from(&q->span, arg, err);
	case 'b':
		return cmd_span_to(&q->span, arg, err);
	case 'e':
		q->event = arg;
		return 0;
	case 's':
		q->schema = true;
		return 0;
	default:
		q->force = true;
		return 0;
	}
}

static const struct cmd_args args = {.shorts = "f:o:", .longs = longs, .take = take};

static int parse(struct request *q, int argc, char **argv)
{
	int code = cmd_args_take(&cmd_export, &args, q, argc, argv);

	if (code)
		return code;
	if (!q->format)
		return cmd_misuse(&cmd_export, "which format? say -f FORMAT");
	if (q->schema && q->format != &export_ndjson)
		return cmd_misuse(&cmd_export, "--schema is of -f ndjson");
	if (q->schema && optind == argc)
		return EXIT_FINE;
	code = cmd_args_path(&cmd_export, argc, argv, &q->path);
	return code ? code : cmd_span_check(&cmd_export, &q->span);
}

/* Bytes on a terminal help nobody: says what to type instead. */
static int refuse_terminal(const struct request *q)
{
	struct err err = ERR_INIT;
	const char *name = strrchr(q->path, '/');
	int len;

	name = name ? name + 1 : q->path;
	len = (int)strlen(name);
	if (len > 4 && !strcmp(name + len - 4, ".rbd"))
		len -= 4;
	err_set(&err, -EINVAL, "%s is nothing for a terminal", q->format->name);
	err_hint(&err, "ringback export -f %s -o %.*s%s %s", q->format->name, len, name,
		 q->format->suffix, q->path);
	log_err(&err);
	return EXIT_FAILED;
}

/* ---- the work ---- */

static void tell_missing(const struct export_result *res, const char *format)
{
	if (res->nr_left_out)
		log_warn("%" PRIu64 " records were left out: %s has no way to say them",
			 res->nr_left_out, format);
	if (res->nr_cut)
		log_warn("%" PRIu64 " records were shortened to fit into %s", res->nr_cut, format);
}

static int export_to(void *ctx, FILE *out)
{
	struct work *w = ctx;
	const struct request *q = w->q;
	/* Lines on a terminal are progress enough. */
	bool quiet = out == stdout && isatty(STDOUT_FILENO);
	struct cmd_progress progress = {.what = "export"};
	struct export_options opt = {
		.path = q->path,
		.event = q->event,
		.progress = quiet ? NULL : cmd_dump_progress,
		.ctx = &progress,
	};
	struct export_result res;
	struct err err = ERR_INIT;
	int rc;

	cmd_span_of(&q->span, w->d, &opt.from_ns, &opt.to_ns);
	rc = export_run(w->d->r, w->d->m, q->format, &opt, out, &res, &err);
	if (!quiet)
		log_status(NULL);
	if (!rc)
		tell_missing(&res, q->format->name);
	return cmd_dump_exit(q->path, w->d, rc, &err, res.nr_bad + w->d->m->nr_broken);
}

static int run(int argc, char **argv)
{
	struct request q = {0};
	struct cmd_dump d;
	struct work w = {&q, &d};
	int code = parse(&q, argc, argv);

	if (code)
		return code;
	if (q.schema) {
		fputs(export_ndjson_schema, stdout);
		return EXIT_FINE;
	}
	if (!q.out_path && q.format->binary && isatty(STDOUT_FILENO))
		return refuse_terminal(&q);
	code = cmd_dump_open(q.path, &d);
	if (code)
		return code;
	code = q.out_path ? cmd_dump_to_file(q.out_path, q.force, export_to, &w)
			  : export_to(&w, stdout);
	cmd_dump_close(&d);
	return code;
}

const struct command cmd_export = {
	.name = "export",
	.args = "-f FORMAT [-o FILE] [--from T] [--to T] DUMP",
	.help = "a dump in a format that other tools read",
	.run = run,
	.options = options,
};
