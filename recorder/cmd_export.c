// SPDX-License-Identifier: MIT
/* `ringback export`: a dump in a format that other tools read. */
#include "recorder/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/meta.h"
#include "dump/view/export.h"
#include "trigger/kernel/clock.h"
#include "recorder/cmd_dump.h"
#include "recorder/log.h"
#include "recorder/outfile.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS 200000000u

/* What was asked for, as typed. */
struct request {
	const struct exporter *format;
	const char *path, *out_path; /* out_path NULL or "-": stdout */
	bool force, schema;
	const char *event;
	bool has_from, has_to;
	int64_t from_ns, to_ns; /* relative to the trigger */
	/* When progress was told last. */
	uint64_t told_ns;
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

static int take(struct request *q, int c, char *arg, struct err *err)
{
	switch (c) {
	case 'f':
		q->format = exporter_find(arg, err);
		return q->format ? 0 : -EINVAL;
	case 'o':
		q->out_path = strcmp(arg, "-") ? arg : NULL;
		return 0;
	case 'a':
		q->has_from = true;
		return str_time(arg, &q->from_ns, err);
	case 'b':
		q->has_to = true;
		return str_time(arg, &q->to_ns, err);
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

static int parse(struct request *q, int argc, char **argv)
{
	struct err err = ERR_INIT;
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":f:o:", longs, NULL)) != -1) {
		if (c == ':')
			return cmd_misuse(&cmd_export, "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return cmd_misuse(&cmd_export, "there is no option '%s'", argv[optind - 1]);
		if (take(q, c, optarg, &err))
			return cmd_misuse(&cmd_export, "%s%s%s", err.what, *err.hint ? ": " : "",
					  err.hint);
	}
	if (!q->format)
		return cmd_misuse(&cmd_export, "which format? say -f FORMAT");
	if (q->schema && q->format != &export_ndjson)
		return cmd_misuse(&cmd_export, "--schema is of -f ndjson");
	if (q->schema && optind == argc)
		return EXIT_FINE;
	if (optind != argc - 1)
		return cmd_misuse(&cmd_export, "%s",
				  optind == argc ? "which dump?" : "one dump at a time");
	q->path = argv[optind];
	if (q->has_from && q->has_to && q->from_ns > q->to_ns)
		return cmd_misuse(&cmd_export, "--from is after --to");
	return EXIT_FINE;
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

static void tell_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct request *q = ctx;
	uint64_t now = clock_ns();

	if (now - q->told_ns < PROGRESS_NS)
		return;
	q->told_ns = now;
	log_status("export: %" PRIu64 " %% of %" PRIu64 " records",
		   total ? done * 100 / total : 100, total);
}

static void tell_missing(const struct export_result *res, const char *format)
{
	if (res->nr_left_out)
		log_warn("%" PRIu64 " records were left out: %s has no way to say them",
			 res->nr_left_out, format);
	if (res->nr_cut)
		log_warn("%" PRIu64 " records were shortened to fit into %s", res->nr_cut, format);
}

static int export_to(struct request *q, const struct cmd_dump *d, FILE *out)
{
	uint64_t zero_ns = d->m->trigger.hit_ns;
	/* Lines on a terminal are progress enough. */
	bool quiet = out == stdout && isatty(STDOUT_FILENO);
	struct export_options opt = {
		.from_ns = q->has_from ? cmd_dump_moment(zero_ns, q->from_ns) : 0,
		.to_ns = q->has_to ? cmd_dump_moment(zero_ns, q->to_ns) : UINT64_MAX,
		.path = q->path,
		.event = q->event,
		.progress = quiet ? NULL : tell_progress,
		.ctx = q,
	};
	struct export_result res;
	struct err err = ERR_INIT;
	int rc = export_run(d->r, d->m, q->format, &opt, out, &res, &err);

	if (!quiet)
		log_status(NULL);
	if (!rc)
		tell_missing(&res, q->format->name);
	return cmd_dump_exit(q->path, d, rc, &err, res.nr_bad + d->m->nr_broken);
}

static int to_file(struct request *q, const struct cmd_dump *d)
{
	struct err err = ERR_INIT;
	struct outfile *o = NULL;
	int code;

	if (outfile_open(q->out_path, q->force, &o, &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	code = export_to(q, d, outfile_stream(o));
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
	code = q.out_path ? to_file(&q, &d) : export_to(&q, &d, stdout);
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
