// SPDX-License-Identifier: MIT
/* `ringback script`: the events of a dump, one per line, oldest first. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "dump/view/script/script.h"
#include "recorder/base/log.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Options as given; times are relative to the dump's trigger. */
struct script_args {
	struct script_options opt;
	struct cmd_joined history;
	struct cmd_span span;
};

static void free_lists(struct script_options *o)
{
	free((void *)o->comms);
	free((void *)o->events);
	free((void *)o->pids);
	free((void *)o->tids);
	free((void *)o->cpus);
}

/* ---- options ---- */

#define ARG(field) offsetof(struct script_args, field)

static const struct option_row options[] = {
	CMD_SPAN_ROWS(struct script_args, span),
	{"comm", 0, "NAME,..", OPTION_WORDS, ARG(opt.comms), ARG(opt.nr_comms),
	 .help = "only threads with one of these names (* and ? match)"},
	{"pid", 0, "N,..", OPTION_NUMBERS, ARG(opt.pids), ARG(opt.nr_pids),
	 .help = "only these processes"},
	{"tid", 0, "N,..", OPTION_NUMBERS, ARG(opt.tids), ARG(opt.nr_tids),
	 .help = "only these threads"},
	{"cpu", 0, "N,..", OPTION_NUMBERS, ARG(opt.cpus), ARG(opt.nr_cpus),
	 .help = "only these CPUs"},
	{"event", 0, "GLOB,..", OPTION_WORDS, ARG(opt.events), ARG(opt.nr_events),
	 .help = "only these events: sched:*, sched_switch, PERF_RECORD_LOST"},
	{"no-pt", 0, NULL, OPTION_FLAG, ARG(opt.no_pt),
	 .help = "leave out the calls and returns that Intel PT traced"},
	{"limit", 0, "N", OPTION_COUNT, ARG(opt.limit), .help = "print at most N lines"},
	{"json", 0, NULL, OPTION_FLAG, ARG(opt.json),
	 .help = "one JSON object a line, described in SCHEMA.md"},
	CMD_HISTORY_ROWS(struct script_args, history),
	{.name = NULL},
};

static int parse(struct script_args *q, int argc, char **argv)
{
	char **operands;
	int code = cmd_parse(&cmd_script, q, argc, argv, &operands);

	if (!code)
		code = cmd_joined_args(&q->history, &cmd_script, operands);
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

static int print(struct script_args *q, const struct cmd_dump *d)
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
	o->color = !o->json && cmd_dump_color();
	rc = script_print(d->r, d->m, o, stdout, &res, &err);
	return cmd_dump_exit(q->history.path, d, rc, &err, res.nr_bad_blocks + d->m->nr_broken);
}

static int run(int argc, char **argv)
{
	struct script_args q = {0};
	struct cmd_dump d;
	int code = parse(&q, argc, argv);

	if (!code) {
		pager_start();
		code = cmd_joined_open(&q.history, &cmd_script, NULL, &d);
	}
	if (!code) {
		code = print(&q, &d);
		cmd_dump_close(&d);
	}
	free_lists(&q.opt);
	return code;
}

const struct command cmd_script = {
	.name = "script",
	.operands = "[DUMP]...",
	.help = "the events of a dump, one a line, oldest first",
	.notes = CMD_DUMP_EXIT,
	.run = run,
	.options = options,
};
