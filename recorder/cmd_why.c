// SPDX-License-Identifier: MIT
/* `ringback why`: the verdict on a dump. */
#include "recorder/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/meta.h"
#include "dump/view/why.h"
#include "recorder/cmd_dump.h"

#include <errno.h>
#include <getopt.h>

/* Times as typed get their meaning from the dump's trigger. */
struct request {
	struct why_options opt;
	const char *path;
	bool has_from, has_to;
	int64_t from_ns, to_ns;
};

static void options(FILE *out)
{
	fputs("  --tid N      what this thread lost its time to\n"
	      "  --comm NAME  the same of the thread with this name (* and ? match)\n"
	      "  --from T     explain the time from this moment on, relative to the trigger: "
	      "-200ms\n"
	      "  --to T       up to this moment\n"
	      "  --json       one JSON object, as dump/view/SCHEMA.md says\n"
	      "\n"
	      "Without --tid and --comm: the thread that asked for the dump, or the one worst "
	      "off.\n"
	      "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is considered).\n",
	      out);
}

static const struct option longs[] = {
	{"tid", required_argument, NULL, 'T'},	{"comm", required_argument, NULL, 'c'},
	{"from", required_argument, NULL, 'f'}, {"to", required_argument, NULL, 't'},
	{"json", no_argument, NULL, 'j'},	{0},
};

static int take(struct request *q, int c, const char *arg, struct err *err)
{
	uint64_t v;
	int rc;

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
		q->has_from = true;
		return str_time(arg, &q->from_ns, err);
	case 't':
		q->has_to = true;
		return str_time(arg, &q->to_ns, err);
	default:
		q->opt.json = true;
		return 0;
	}
}

static int parse(struct request *q, int argc, char **argv)
{
	struct err err = ERR_INIT;
	int c, index = 0;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", longs, &index)) != -1) {
		if (c == ':')
			return cmd_misuse(&cmd_why, "%s needs a value", argv[optind - 1]);
		if (c == '?')
			return cmd_misuse(&cmd_why, "there is no option '%s'", argv[optind - 1]);
		if (take(q, c, optarg, &err))
			return cmd_misuse(&cmd_why, "--%s: %s", longs[index].name, err.what);
	}
	if (optind != argc - 1)
		return cmd_misuse(&cmd_why, "%s",
				  optind == argc ? "which dump?" : "one dump at a time");
	if (q->opt.tid && q->opt.comm)
		return cmd_misuse(&cmd_why, "--tid and --comm are two ways to say one thing");
	if (q->has_from && q->has_to && q->from_ns >= q->to_ns)
		return cmd_misuse(&cmd_why, "--from is not before --to");
	q->path = argv[optind];
	return EXIT_FINE;
}

/* A moment of the dump's clock; never 0, which is none. */
static uint64_t moment(uint64_t zero_ns, int64_t rel_ns)
{
	uint64_t back = -(uint64_t)rel_ns;

	if (rel_ns < 0)
		return zero_ns > back ? zero_ns - back : 1;
	return (uint64_t)rel_ns > UINT64_MAX - zero_ns ? UINT64_MAX : zero_ns + (uint64_t)rel_ns;
}

static int run(int argc, char **argv)
{
	struct request q = {.opt.color = cmd_dump_color()};
	struct why_result res = {0};
	struct err err = ERR_INIT;
	struct cmd_dump d;
	int rc, code = parse(&q, argc, argv);

	if (!code)
		code = cmd_dump_open(q.path, &d);
	if (code)
		return code;
	if (q.has_from)
		q.opt.from_ns = moment(d.m->trigger.hit_ns, q.from_ns);
	if (q.has_to)
		q.opt.to_ns = moment(d.m->trigger.hit_ns, q.to_ns);
	rc = why_print(d.r, d.m, &q.opt, stdout, &res, &err);
	code = cmd_dump_exit(q.path, &d, rc, &err, res.nr_bad_blocks + d.m->nr_broken);
	cmd_dump_close(&d);
	return code;
}

const struct command cmd_why = {
	.name = "why",
	.args = "DUMP [--tid N | --comm NAME] [--from T] [--to T] [--json]",
	.help = "the verdict: what the time was lost to",
	.run = run,
	.options = options,
};
