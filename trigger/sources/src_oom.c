// SPDX-License-Identifier: MIT
/*
 * Source "oom": the kernel is out of memory, or a cgroup is at its limit, and picks a process to
 * kill. The tap is on oom:mark_victim, which comes before the victim ends, in the thread that
 * requested memory.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/base/tpfields.h"
#include "trigger/engine/rule_check.h"
#include "trigger/events/event_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field *field(const struct tpfields *tp, const char *name)
{
	return tpfields_find(tp, name, strlen(name));
}

/* The fields are in KiB; before Linux 6.8 the tracepoint has only the pid. */
static void add_sizes(const struct tpfields *tp, struct bytes raw, struct sighting *what)
{
	static const char *const sizes[] = {"total_vm", "anon_rss", "file_rss", "shmem_rss",
					    "pgtables"};
	char text[32];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct field *f = field(tp, sizes[i]);

		if (f)
			sighting_add(what, "%s=%s", sizes[i],
				     value_fmt_size(text, sizeof(text),
						    1024.0 * (double)field_number(f, raw)));
	}
}

/* The hit is about the victim; a line names the thread that requested memory. */
static void about_victim(const struct tpfields *tp, struct bytes raw, struct sighting *what)
{
	const struct field *pid = field(tp, "pid"), *comm = field(tp, "comm"),
			   *uid = field(tp, "uid"), *adj = field(tp, "oom_score_adj");
	char asked[64], victim[64] = "";
	struct bytes name;

	str_safe(asked, sizeof(asked), what->comm, strlen(what->comm));
	sighting_add(what, "asked_for_memory=%s, pid %u", *asked ? asked : "?", what->pid);
	if (pid)
		what->pid = what->tid = (uint32_t)field_number(pid, raw);
	if (uid)
		what->uid = (uint32_t)field_number(uid, raw);
	memset(what->comm, 0, sizeof(what->comm));
	if (comm && field_string(comm, raw, &name)) {
		memcpy(what->comm, name.p,
		       name.len < sizeof(what->comm) ? name.len : sizeof(what->comm) - 1);
		str_safe(victim, sizeof(victim), (const char *)name.p, name.len);
	}
	sighting_add(what, "killed=%s, pid %u", *victim ? victim : "?", what->pid);
	add_sizes(tp, raw, what);
	if (adj)
		sighting_add(what, "oom_score_adj=%" PRId64, (int64_t)field_number(adj, raw));
}

static int oom_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	const struct event_source_options o = {
		.sample_type = PERF_SAMPLE_IP, .rule = r, .about = about_victim};
	struct event_list list = {0};
	int rc = rule_check_no_arg(r, "oom", err);

	if (!rc)
		rc = rule_check_no_op(r, err);
	if (!rc)
		rc = rule_check_moment(r, "a kill", err);
	if (!rc)
		rc = event_parse("oom:mark_victim", env ? env->caps : NULL, &list, err);
	return rc ? rc : event_source_open(&list, &o, env, out, err);
}

static void oom_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "oom:mark_victim");
	event_source_plan(s, "nothing until the kernel picks a victim", out);
}

const struct source_ops source_oom = {
	.name = "oom",
	.stacks = true,
	.syntax = "oom",
	.help = "the kernel runs out of memory and picks a process to kill",
	.example = "oom",
	.open = oom_open,
	.plan = oom_plan,
	EVENT_SOURCE_OPS,
};
