// SPDX-License-Identifier: MIT
/*
 * Sources "uprobe:PATH:SYMBOL" and "uretprobe:PATH:SYMBOL": a function of a program or library is
 * called, or returns. In any process, also those that start later; nothing is changed in the file.
 */
#include "trigger/source.h"

#include "dump/base/err.h"
#include "trigger/need.h"
#include "trigger/taps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	struct taps *taps;
};

static int check(const struct rule *r, struct err *err)
{
	char example[64];
	int rc;

	snprintf(example, sizeof(example), "%s:/bin/bash:readline", r->source);
	rc = need_arg(r, "a file, ':' and a function", example, err);
	if (!rc && r->op != RULE_OP_NONE)
		rc = rule_err(r->text, r->op_at, err,
			      "%s: takes no comparison; for how long a call takes there is "
			      "latency:PATH:SYMBOL>10ms",
			      r->source);
	if (!rc)
		rc = need_moment(r, "a call", err);
	return rc ? rc : need_no_call(r, err);
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
	const struct taps_options o = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER,
				       .rule = r};
	struct event_list list = {0};
	struct source *s;
	int rc = parse(r, env, &list, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s) {
		event_list_free(&list);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	rc = taps_open(&list, &o, env, &s->taps, err);
	if (rc)
		free(s);
	else
		*out = s;
	return rc;
}

static int uprobe_fd(const struct source *s, uint32_t *events)
{
	return taps_fd(s->taps);
}

static int uprobe_ready(struct source *s, struct sighting *what, struct err *err)
{
	return taps_ready(s->taps, what, err);
}

static uint64_t uprobe_skip(struct source *s)
{
	return taps_skip(s->taps);
}

static int uprobe_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return taps_cpu(s->taps, cpu, online, err);
}

static void uprobe_plan(const struct source *s, struct source_plan *out)
{
	const struct event *e = taps_events(s->taps)->v[0];
	char rings[96];

	snprintf(out->watches, sizeof(out->watches), "a %.*s on %s, in all processes",
		 (int)strcspn(e->name, ":"), e->name, e->target);
	taps_plan(s->taps, rings, sizeof(rings));
	snprintf(out->costs, sizeof(out->costs),
		 "%s; nothing until the function is called, which takes the caller a trap into the "
		 "kernel each time",
		 rings);
}

static void uprobe_close(struct source *s)
{
	if (!s)
		return;
	taps_close(s->taps);
	free(s);
}

const struct source_ops source_uprobe = {
	.name = "uprobe",
	.stacks = true,
	.syntax = "uprobe:PATH:SYMBOL[+OFF]",
	.help = "a function of a program or library is called",
	.example = "uprobe:/bin/bash:readline",
	.in_file = true,
	.open = uprobe_open,
	.fd = uprobe_fd,
	.ready = uprobe_ready,
	.skip = uprobe_skip,
	.cpu = uprobe_cpu,
	.plan = uprobe_plan,
	.close = uprobe_close,
};

const struct source_ops source_uretprobe = {
	.name = "uretprobe",
	.stacks = true,
	.syntax = "uretprobe:PATH:SYMBOL",
	.help = "a function of a program or library returns",
	.example = "uretprobe:/bin/bash:readline",
	.in_file = true,
	.open = uprobe_open,
	.fd = uprobe_fd,
	.ready = uprobe_ready,
	.skip = uprobe_skip,
	.cpu = uprobe_cpu,
	.plan = uprobe_plan,
	.close = uprobe_close,
};
