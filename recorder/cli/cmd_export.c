// SPDX-License-Identifier: MIT
/* `ringback export`: a dump in a format that other tools read. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/export/export.h"
#include "recorder/cli/cmd_dump.h"
#include "recorder/base/log.h"

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
	struct export_area area;
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
	      "  --cpu N              aux: the area of this CPU\n"
	      "  --tid N              aux: the area of this thread, where threads have some\n"
	      "  --channel NAME       aux: an area of this channel, where several have some\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is written).\n",
	      out);
}

/* ---- options ---- */

static const struct option longs[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'F'},
	{"from", required_argument, NULL, 'a'},
	{"to", required_argument, NULL, 'b'},
	{"event", required_argument, NULL, 'e'},
	{"schema", no_argument, NULL, 's'},
	{"cpu", required_argument, NULL, 'c'},
	{"tid", required_argument, NULL, 't'},
	{"channel", required_argument, NULL, 'C'},
	{0},
};

/* A CPU's or thread's number. */
static int take_number(const char *arg, int32_t *out, bool *has, struct err *err)
{
	uint64_t v = 0;
	int rc = str_u64(arg, &v, err);

	if (!rc && v > INT32_MAX)
		rc = err_set(err, -ERANGE, "there is no such number: %s", arg);
	if (rc)
		return rc;
	*out = (int32_t)v;
	*has = true;
	return 0;
}

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
	case 'c':
		return take_number(arg, &q->area.cpu, &q->area.has_cpu, err);
	case 't':
		return take_number(arg, &q->area.tid, &q->area.has_tid, err);
	case 'C':
		q->area.channel = arg;
		return 0;
	default:
		q->force = true;
		return 0;
	}
}

static const struct cmd_args args = {.shorts = "f:o:", .longs = longs, .take = take};

/* Areas are exported whole, and nothing else is one. */
static int check_area(const struct request *q)
{
	bool names_one = q->area.has_cpu || q->area.has_tid || q->area.channel;

	if (q->format != &export_aux)
		return names_one
			       ? cmd_misuse(&cmd_export, "--cpu, --tid and --channel are of -f aux")
			       : EXIT_FINE;
	if (q->event || q->span.has_from || q->span.has_to)
		return cmd_misuse(&cmd_export, "--event, --from and --to are not of -f aux");
	return EXIT_FINE;
}

static int parse(struct request *q, int argc, char **argv)
{
	int code = cmd_args_take(&cmd_export, &args, q, argc, argv);

	if (code)
		return code;
	if (!q->format)
		return cmd_misuse(&cmd_export, "which format? say -f FORMAT");
	code = check_area(q);
	if (code)
		return code;
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
	char cpu[24] = "", tid[24] = "";
	int len;

	name = name ? name + 1 : q->path;
	len = (int)strlen(name);
	if (len > 4 && !strcmp(name + len - 4, ".rbd"))
		len -= 4;
	err_set(&err, -EINVAL, "%s is nothing for a terminal", q->format->name);
	if (q->area.has_cpu)
		snprintf(cpu, sizeof(cpu), " --cpu %d", q->area.cpu);
	if (q->area.has_tid)
		snprintf(tid, sizeof(tid), " --tid %d", q->area.tid);
	err_hint(&err, "ringback export -f %s%s%s -o %.*s%s %s", q->format->name, cpu, tid, len,
		 name, q->format->suffix, q->path);
	log_err(&err);
	return EXIT_FAILED;
}

/* ---- the work ---- */

static void tell_missing(const struct export_result *res, const char *format)
{
	if (res->nr_left_out)
		log_warn("%" PRIu64 " record%s left out: %s has no way to say them",
			 res->nr_left_out, str_plural(res->nr_left_out), format);
	if (res->nr_areas_left_out)
		log_warn("%" PRIu64 " AUX area%s left out of %s: %s", res->nr_areas_left_out,
			 str_plural(res->nr_areas_left_out), format, res->why_area);
	if (res->nr_calls_left_out)
		log_warn("%" PRIu64 " call%s left out, the oldest: %s has the newest that fit; "
			 "--from and --to choose others",
			 res->nr_calls_left_out, str_plural(res->nr_calls_left_out), format);
	if (res->nr_cut)
		log_warn("%" PRIu64 " record%s shortened to fit into %s", res->nr_cut,
			 str_plural(res->nr_cut), format);
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
		.area = q->area,
		.progress = quiet ? NULL : cmd_dump_progress,
		.ctx = &progress,
	};
	struct export_result res;
	struct err err = ERR_INIT;
	int rc;

	rc = cmd_span_of(&q->span, w->d, &opt.from_ns, &opt.to_ns);
	if (rc)
		return rc;
	rc = export_run(w->d->r, w->d->m, q->format, &opt, out, &res, &err);
	if (!quiet)
		log_status(NULL);
	if (!rc)
		tell_missing(&res, q->format->name);
	if (rc == -EBADMSG) {
		log_warn_err(&err);
		res.nr_bad++;
		rc = 0;
	}
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
	.args = "-f FORMAT [-o FILE] [--from T] [--to T] [--cpu N] DUMP",
	.help = "a dump in a format that other tools read",
	.run = run,
	.options = options,
};
