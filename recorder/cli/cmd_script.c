// SPDX-License-Identifier: MIT
/* `ringback script`: the events of a dump, one a line, oldest first. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/script/script.h"
#include "recorder/base/option_list.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for, as typed: times get their meaning from the dump's trigger. */
struct request {
	struct script_options opt;
	struct cmd_joined history;
	struct cmd_span span;
};

static void options(FILE *out)
{
	fputs("  --from T          from this moment on, relative to the trigger: -200ms, +50us, "
	      "-1.5s\n"
	      "  --to T            up to this moment\n"
	      "  --comm NAME,..    only threads of this name (* and ? match)\n"
	      "  --pid N,..        only these processes\n"
	      "  --tid N,..        only these threads\n"
	      "  --cpu N,..        only these CPUs\n"
	      "  --event GLOB,..   only these events: sched:*, sched_switch, PERF_RECORD_LOST\n"
	      "  --no-pt           without the calls and returns that Intel PT saw\n"
	      "  --limit N         at most N lines\n"
	      "  --json            one JSON object a line, described in "
	      "SCHEMA.md\n" CMD_HISTORY_HELP "\n"
	      "Exit: 0 fine, 3 DUMP is damaged (what is whole is printed).\n",
	      out);
}

static void free_lists(struct script_options *o)
{
	free((void *)o->comms);
	free((void *)o->events);
	free((void *)o->pids);
	free((void *)o->tids);
	free((void *)o->cpus);
}

/* ---- options ---- */

static const struct option longs[] = {
	{"from", required_argument, NULL, 'f'},
	{"to", required_argument, NULL, 't'},
	{"comm", required_argument, NULL, 'c'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 'T'},
	{"cpu", required_argument, NULL, 'C'},
	{"event", required_argument, NULL, 'e'},
	{"limit", required_argument, NULL, 'l'},
	{"no-pt", no_argument, NULL, 'n'},
	{"json", no_argument, NULL, 'j'},
	CMD_HISTORY_ROWS,
	{0},
};

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct request *q = ctx;
	struct script_options *o = &q->opt;

	if (cmd_joined_take(&q->history, c))
		return 0;
	switch (c) {
	case 'f':
		return cmd_span_from(&q->span, arg, err);
	case 't':
		return cmd_span_to(&q->span, arg, err);
	case 'c':
		return option_list_texts(arg, &o->comms, &o->nr_comms, err);
	case 'e':
		return option_list_texts(arg, &o->events, &o->nr_events, err);
	case 'p':
		return option_list_numbers(arg, &o->pids, &o->nr_pids, err);
	case 'T':
		return option_list_numbers(arg, &o->tids, &o->nr_tids, err);
	case 'C':
		return option_list_numbers(arg, &o->cpus, &o->nr_cpus, err);
	case 'l':
		return str_u64(arg, &o->limit, err);
	case 'n':
		o->no_pt = true;
		return 0;
	default:
		o->json = true;
		return 0;
	}
}

static const struct cmd_args args = {.longs = longs, .take = take};

static int parse(struct request *q, int argc, char **argv)
{
	int code = cmd_args_take(&cmd_script, &args, q, argc, argv);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_script, argc, argv);

	return code ? code : cmd_span_check(&cmd_script, &q->span);
}

/* ---- the dump ---- */

static int list_events(const struct meta *m, const char *pattern)
{
	struct err err = ERR_INIT;
	char names[400] = "", name[128];
	size_t len = 0;

	for (size_t i = 0; i < m->nr_events && len < sizeof(names) - sizeof(name); i++) {
		str_safe(name, sizeof(name), m->events[i].name, strlen(m->events[i].name));
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
					name);
	}
	err_set(&err, -ENOENT, "no event of this dump matches '%s'", pattern);
	err_hint(&err, "it has: %s", names);
	log_err(&err);
	return EXIT_FAILED;
}

static int print(struct request *q, const struct cmd_dump *d)
{
	struct script_options *o = &q->opt;
	struct script_result res;
	struct err err = ERR_INIT;
	int rc;

	for (size_t i = 0; i < o->nr_events; i++)
		if (!script_event_known(d->m, o->events[i]))
			return list_events(d->m, o->events[i]);
	rc = cmd_span_of(&q->span, d, &o->from_ns, &o->to_ns);
	if (rc)
		return rc;
	pager_start();
	o->color = !o->json && cmd_dump_color();
	rc = script_print(d->r, d->m, o, stdout, &res, &err);
	return cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad_blocks + d->m->nr_broken);
}

static int run(int argc, char **argv)
{
	struct request q = {0};
	struct cmd_dump d;
	int code = parse(&q, argc, argv);

	if (!code)
		code = cmd_joined_open(&q.history, &d);
	if (!code) {
		code = print(&q, &d);
		cmd_dump_close(&d);
	}
	free_lists(&q.opt);
	return code;
}

const struct command cmd_script = {
	.name = "script",
	.args = "[DUMP]... [--from T] [--to T] [--json] [FILTER]...",
	.help = "the events of a dump, one a line, oldest first",
	.run = run,
	.options = options,
};
