// SPDX-License-Identifier: MIT
/* Sources "uprobe:PATH:SYMBOL" and "uretprobe:PATH:SYMBOL": a function of a program or library is
 * called, or returns, in any process, including ones started later. The file is not modified. */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"
#include "trigger/events/event_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(const struct rule *r, struct err *err)
{
	char example[64];
	int rc;

	snprintf(example, sizeof(example), "%s:/bin/bash:readline", r->source);
	rc = rule_check_arg(r, "a file, ':' and a function", example, err);
	if (!rc && r->op != RULE_OP_NONE)
		rc = rule_err(r->text, r->op_at, err,
			      "%s: takes no comparison; for how long a call takes there is "
			      "latency:PATH:SYMBOL>10ms",
			      r->source);
	if (!rc)
		rc = rule_check_moment(r, "a call", err);
	return rc;
}

static int parse(const struct rule *r, const struct source_env *env, struct event_list *list,
		 struct err *err)
{
	char *text;
	int rc = check(r, err);

	if (rc)
		return rc;
	if (asprintf(&text, "%s:%s", r->source, r->arg) < 0)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = event_parse(text, env ? env->caps : NULL, list, err);
	free(text);
	return rc;
}

static int uprobe_open(const struct rule *r, const struct source_env *env, struct source **out,
		       struct err *err)
{
	const struct event_source_options o = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER, .rule = r};
	struct event_list list = {0};
	int rc = parse(r, env, &list, err);

	return rc ? rc : event_source_open(&list, &o, env, out, err);
}

static void uprobe_plan(const struct source *s, struct source_plan *out)
{
	const struct event *e = event_source_events(s)->v[0];

	snprintf(out->watches, sizeof(out->watches), "a %.*s on %s, in all processes",
		 (int)strcspn(e->name, ":"), e->name, e->target);
	event_source_plan(
		s,
		"nothing until the function is called, which takes the caller a trap into "
		"the kernel each time",
		out);
}

const struct source_ops source_uprobe = {
	.name = "uprobe",
	.stacks = true,
	.syntax = "uprobe:PATH:SYMBOL[+OFF]",
	.help = "a function of a program or library is called",
	.example = "uprobe:/bin/bash:readline",
	.in_file = true,
	.open = uprobe_open,
	.plan = uprobe_plan,
	EVENT_SOURCE_OPS,
};

const struct source_ops source_uretprobe = {
	.name = "uretprobe",
	.stacks = true,
	.syntax = "uretprobe:PATH:SYMBOL",
	.help = "a function of a program or library returns",
	.example = "uretprobe:/bin/bash:readline",
	.in_file = true,
	.open = uprobe_open,
	.plan = uprobe_plan,
	EVENT_SOURCE_OPS,
};
