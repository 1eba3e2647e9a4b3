// SPDX-License-Identifier: MIT
/*
 * Source "event:EVENT": an event comes; EVENT is as for --event. The kernel applies a tracepoint's
 * filter, so other events do not wake the recorder. Events that come all the time are refused,
 * since each would be a hit.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"
#include "trigger/events/event_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The shortest period of frequent software events such as page faults; below it use rate:. */
#define MIN_PERIOD 1000

/* Tracepoints that come thousands of times a second on any busy machine. */
static const char *const floods[] = {
	"sched:sched_switch",
	"sched:sched_wak*",
	"sched:sched_stat_*",
	"sched:sched_migrate_task",
	"raw_syscalls:*",
	"irq:*",
	"irq_vectors:*",
	"timer:*",
	"kmem:*",
	"rcu:*",
	"tlb:*",
	"exceptions:*",
	"power:*",
	"workqueue:*",
	"ipi:*",
	"csd:*",
	"msr:*",
	"x86_fpu:*",
	"rseq:*",
	"maple_tree:*",
	"mmap_lock:*",
	"lock:*",
	"napi:*",
	"skb:*",
	"filemap:*",
	"cgroup:*rstat*",
	"percpu:*",
	"timer_migration:*",
};

static const char *const frequent[] = {"page-faults",	   "faults", "minor-faults",
				       "context-switches", "cs",     "cpu-migrations",
				       "migrations"};

static bool is_flood(const struct event *e)
{
	if (e->kind == EVENT_TRACEPOINT && !e->filter && e->attr.sample_period == 1)
		for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
			if (str_glob(floods[i], e->name))
				return true;
	if (e->kind == EVENT_SOFTWARE && e->attr.sample_period < MIN_PERIOD)
		for (size_t i = 0; i < sizeof(frequent) / sizeof(frequent[0]); i++)
			if (!strncmp(e->name, frequent[i], strlen(frequent[i])) &&
			    strchr("/:", e->name[strlen(frequent[i])]))
				return true;
	return false;
}

static int refuse(const struct rule *r, const struct event *e, struct err *err)
{
	if (e->has_aux || e->attr.freq)
		return rule_err(r->text, r->arg_at, err,
				"%s is a clock or a trace, not something that happens; count it "
				"with rate:, or give period=N",
				e->name);
	if (!is_flood(e))
		return 0;
	err_set(err, -EINVAL, "%s comes all the time: every one would be a hit", e->name);
	if (e->kind == EVENT_TRACEPOINT)
		err_hint(
			err,
			"give it a filter, as in event:sched:sched_switch[prev_state==2], or count "
			"it: rate:%s>100000/s",
			e->name);
	else
		err_hint(err, "count it: rate:%s>100000/s", e->name);
	return -EINVAL;
}

static int check(const struct rule *r, struct err *err)
{
	int rc = rule_check_arg(r, "an event", "event:oom:mark_victim", err);

	if (!rc && r->op != RULE_OP_NONE)
		rc = rule_err(r->text, r->op_at, err,
			      "event: takes no comparison; fields are compared in brackets, as in "
			      "[prev_prio<100], and how often it comes is rate:%s",
			      r->arg);
	if (!rc)
		rc = rule_check_moment(r, "an event", err);
	return rc;
}

static int source_event_open(const struct rule *r, const struct source_env *env,
			     struct source **out, struct err *err)
{
	struct event_source_options o = {.sample_type = PERF_SAMPLE_IP, .rule = r};
	struct event_list list = {0};
	int rc = check(r, err);

	if (!rc)
		rc = event_parse(r->arg, env ? env->caps : NULL, &list, err);
	for (size_t i = 0; i < list.nr && !rc; i++) {
		rc = refuse(r, list.v[i], err);
		if (list.v[i]->sample_addr)
			o.sample_type |= PERF_SAMPLE_ADDR;
		if (list.v[i]->kind == EVENT_UPROBE)
			o.sample_type |= PERF_SAMPLE_REGS_USER;
	}
	if (rc) {
		event_list_free(&list);
		return rc;
	}
	return event_source_open(&list, &o, env, out, err);
}

static void event_plan(const struct source *s, struct source_plan *out)
{
	const struct event_list *l = event_source_events(s);
	const struct event *e = l->v[0];

	snprintf(out->watches, sizeof(out->watches), "%s%s%s%s", e->name, e->filter ? "[" : "",
		 e->filter ? e->filter : "", e->filter ? "]" : "");
	if (l->nr > 1)
		snprintf(out->watches + strlen(out->watches),
			 sizeof(out->watches) - strlen(out->watches), " and %zu more, to %s",
			 l->nr - 1, l->v[l->nr - 1]->name);
	event_source_plan(s,
			  e->filter
				  ? "the kernel looks at its filter each time the event comes, and "
				    "wakes the recorder for what passes"
				  : "nothing until the event comes",
			  out);
}

const struct source_ops source_event = {
	.name = "event",
	.stacks = true,
	.syntax = "event:EVENT[FILTER]",
	.help = "an event comes, such as a tracepoint that the kernel's filter lets through",
	.example = "event:oom:mark_victim",
	.open = source_event_open,
	.plan = event_plan,
	EVENT_SOURCE_OPS,
};
