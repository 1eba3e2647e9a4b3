// SPDX-License-Identifier: MIT
/* `ringback export`: a dump in a format that other tools read. */
#include "recorder/cli/cmd_span.h"

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

/* Options as given. */
struct export_args {
	const struct exporter *format;
	const char *path, *out_path; /* out_path NULL: stdout */
	bool force, schema;
	const char *event;
	struct cmd_span span;
	struct export_area area;
};

/* ---- options ---- */

/* Parses a CPU or thread number. */
static int set_number(const char *arg, int32_t *out, bool *has, struct err *err)
{
	uint64_t v = 0;
	int rc = str_u64(arg, &v, err);

	if (!rc && v > INT32_MAX)
		rc = err_set(err, -ERANGE, "%s is too large", arg);
	if (rc)
		return rc;
	*out = (int32_t)v;
	*has = true;
	return 0;
}

static int set_cpu(void *area, const char *arg, struct err *err)
{
	struct export_area *a = area;

	return set_number(arg, &a->cpu, &a->has_cpu, err);
}

static int set_tid(void *area, const char *arg, struct err *err)
{
	struct export_area *a = area;

	return set_number(arg, &a->tid, &a->has_tid, err);
}

static int set_format(void *field, const char *arg, struct err *err)
{
	const struct exporter *e = exporter_find(arg, err);

	*(const struct exporter **)field = e;
	return e ? 0 : -EINVAL;
}

static bool format_nth(size_t i, const char **name, const char **help)
{
	const struct exporter *e = exporter_nth(i);

	if (!e)
		return false;
	*name = e->name;
	*help = e->help;
	return true;
}

#define ARG(field) offsetof(struct export_args, field)

static const struct option_row options[] = {
	{"format", 'f', "FORMAT", OPTION_OWN, ARG(format), .set = set_format, .required = true,
	 .choices = format_nth, .help = "see below"},
	{"output", 'o', "FILE", OPTION_WORD, ARG(out_path), .values = VALUES_FILE,
	 .help = "write to FILE, mode 0600 (default, or '-': stdout)"},
	{"force", 0, NULL, OPTION_FLAG, ARG(force), .help = "replace an existing FILE"},
	CMD_SPAN_ROWS(struct export_args, span),
	{"event", 0, "GLOB", OPTION_WORD, ARG(event),
	 .help = "folded: samples of these events (default: those that sample the CPU); ndjson: "
		 "these events (default: all)"},
	{"schema", 0, NULL, OPTION_FLAG, ARG(schema),
	 .help = "ndjson: print the JSON Schema of a line; needs no DUMP"},
	{"cpu", 0, "N", OPTION_OWN, ARG(area), .set = set_cpu, .help = "aux: the area of this CPU"},
	{"tid", 0, "N", OPTION_OWN, ARG(area), .set = set_tid,
	 .help = "aux: the area of this thread, if threads have areas"},
	{"channel", 0, "NAME", OPTION_WORD, ARG(area.channel),
	 .help = "aux: the area of this channel, if several have areas"},
	{.name = NULL},
};

/* Checks the options of -f aux, and those of other formats. */
static int check_area(const struct export_args *q)
{
	bool names_one = q->area.has_cpu || q->area.has_tid || q->area.channel;

	if (q->format != &export_aux)
		return names_one ? cmd_misuse(&cmd_export,
					      "--cpu, --tid and --channel require -f aux")
				 : EXIT_FINE;
	if (q->event || q->span.has_from || q->span.has_to)
		return cmd_misuse(&cmd_export, "-f aux does not take --event, --from and --to");
	return EXIT_FINE;
}

static int parse(struct export_args *q, int argc, char **argv)
{
	char **operands;
	int code = cmd_parse(&cmd_export, q, argc, argv, &operands);

	if (!code)
		code = check_area(q);
	if (code)
		return code;
	if (q->schema && q->format != &export_ndjson)
		return cmd_misuse(&cmd_export, "--schema requires -f ndjson");
	q->path = operands[0];
	if (!q->path && !q->schema)
		return cmd_misuse(&cmd_export, "DUMP is missing");
	if (q->out_path && !strcmp(q->out_path, "-"))
		q->out_path = NULL;
	return cmd_span_check(&cmd_export, &q->span);
}

/* Binary data garbles a terminal: prints a command that writes to a file instead. */
static int refuse_terminal(const struct export_args *q)
{
	struct err err = ERR_INIT;
	const char *name = strrchr(q->path, '/');
	char cpu[24] = "", tid[24] = "";
	int len;

	name = name ? name + 1 : q->path;
	len = (int)strlen(name);
	if (len > 4 && !strcmp(name + len - 4, ".rbd"))
		len -= 4;
	err_set(&err, -EINVAL, "not writing %s to a terminal", q->format->name);
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
		log_warn("%" PRIu64 " record%s left out: %s cannot represent them",
			 res->nr_left_out, str_plural(res->nr_left_out), format);
	if (res->nr_areas_left_out)
		log_warn("%" PRIu64 " AUX area%s left out of %s: %s", res->nr_areas_left_out,
			 str_plural(res->nr_areas_left_out), format, res->why_area);
	if (res->nr_calls_left_out)
		log_warn("%" PRIu64 " call%s left out, the oldest: %s holds the newest that fit; "
			 "select others with --from and --to",
			 res->nr_calls_left_out, str_plural(res->nr_calls_left_out), format);
	if (res->nr_cut)
		log_warn("%" PRIu64 " record%s shortened to fit into %s", res->nr_cut,
			 str_plural(res->nr_cut), format);
}

static int export_to(const struct export_args *q, const struct cmd_dump *d, FILE *out)
{
	/* On a terminal the printed lines already show progress. */
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

	rc = cmd_span_of(&q->span, d, &opt.from_ns, &opt.to_ns);
	if (rc)
		return rc;
	rc = export_run(d->r, d->m, q->format, &opt, out, &res, &err);
	if (!quiet)
		log_status(NULL);
	if (!rc)
		tell_missing(&res, q->format->name);
	if (rc == -EBADMSG) {
		log_warn_err(&err);
		res.nr_bad++;
		rc = 0;
	}
	return cmd_dump_exit(q->path, d, rc, &err, res.nr_bad + d->m->nr_broken);
}

static int open_and_export(void *ctx, FILE *out)
{
	struct export_args *q = ctx;
	char *dumps[] = {(char *)q->path, NULL};
	struct cmd_dump d;
	int code = cmd_dump_begin(&cmd_export, dumps, NULL, false, &q->path);

	if (!code)
		code = cmd_dump_open(q->path, &d);
	if (code)
		return code;
	code = export_to(q, &d, out);
	cmd_dump_close(&d);
	return code;
}

static int run(int argc, char **argv)
{
	struct export_args q = {0};
	const struct cmd_dump_job job = {
		.command = &cmd_export, .write = open_and_export, .ctx = &q};
	int code = parse(&q, argc, argv);

	if (code)
		return code;
	if (q.schema) {
		fputs(export_ndjson_schema, stdout);
		return EXIT_FINE;
	}
	if (!q.out_path && q.format->binary && isatty(STDOUT_FILENO))
		return refuse_terminal(&q);
	return q.out_path ? cmd_dump_to_file(q.out_path, q.force, &job)
			  : open_and_export(&q, stdout);
}

const struct command cmd_export = {
	.name = "export",
	.operands = "[DUMP]",
	.help = "convert a dump into another tool's format",
	.notes = CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
