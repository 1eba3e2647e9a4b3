// SPDX-License-Identifier: MIT
/*
 * Sources "program" and "program:PATTERN": a program has called ringback_trigger() of ringback.h
 * with a reason that matches the pattern (* and ?). Every recorder has the rule "program" unless it
 * has one of its own. It costs nothing until a program sends a message.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"
#include "trigger/client/ringback.h"
#include "trigger/client/app_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	struct app_socket *tell;
	char *pattern; /* "": any */
};

static int program_open(const struct rule *r, const struct source_env *env, struct source **out,
			struct err *err)
{
	struct source *s;

	if (r->op != RULE_OP_NONE)
		return rule_err(r->text, r->op_at, err, "program:PATTERN takes no comparison");
	if (rule_check_moment(r, "what a program tells", err))
		return -EINVAL;
	if (!env || !env->tell)
		return err_set(err, -ENOTSUP, "this recorder has no socket for programs");
	s = calloc(1, sizeof(*s));
	if (!s || !(s->pattern = strdup(r->arg))) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	s->tell = env->tell;
	*out = s;
	return 0;
}

static int program_fd(const struct source *s, uint32_t *events)
{
	return -1;
}

static bool wants(void *ctx, const struct app_socket_message *m)
{
	const struct source *s = ctx;

	return !*s->pattern || str_glob(s->pattern, m->text);
}

static int program_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct app_socket_message m;

	if (!app_socket_take(s->tell, RINGBACK_TRIGGER, wants, s, &m))
		return 0;
	what->ns = m.ns;
	what->pid = m.pid;
	what->tid = m.tid;
	what->uid = m.uid;
	what->nr_hits = m.nr;
	sighting_name(what);
	snprintf(what->reason, sizeof(what->reason), "%s", m.text);
	sighting_add(what, "told_by_pid=%u", m.pid);
	sighting_add(what, "told_by_uid=%u", m.uid);
	return 1;
}

static uint64_t program_skip(struct source *s)
{
	struct app_socket_message m;
	uint64_t nr = 0;

	while (app_socket_take(s->tell, RINGBACK_TRIGGER, wants, s, &m))
		nr += m.nr;
	return nr;
}

static void program_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "a socket that programs with ringback.h connect to%s%s",
		 *s->pattern ? ", for reasons like " : "", s->pattern);
	snprintf(out->costs, sizeof(out->costs), "nothing until a program sends a message");
}

static bool program_trouble(const struct source *s, char *out, size_t n)
{
	uint64_t nr = app_socket_nr_dropped(s->tell);

	snprintf(out, n, "%lu message%s of programs %s dropped: malformed, or no rule matched them",
		 nr, str_plural(nr), str_were(nr));
	return nr > 0;
}

static void program_close(struct source *s)
{
	if (!s)
		return;
	free(s->pattern);
	free(s);
}

const struct source_ops source_program = {
	.name = "program",
	.syntax = "program[:PATTERN]",
	.help = "a program calls ringback_trigger() with such a reason",
	.example = "program:checkout*",
	.open = program_open,
	.fd = program_fd,
	.ready = program_ready,
	.skip = program_skip,
	.plan = program_plan,
	.trouble = program_trouble,
	.close = program_close,
};
