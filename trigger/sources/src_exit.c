// SPDX-License-Identifier: MIT
/* Source "exit": the end of a process (exit:PID), or of the recorded command (exit!=0, exit>N). A
 * pidfd reports the former, the recorder itself the latter (command_ended). */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct source {
	struct process process; /* for exit:PID */
	int event_fd;		/* for the command; else -1 */
	int command_pid;
	enum rule_op op;
	double threshold;
	bool met;  /* the command's end met the rule */
	bool over; /* the end was handled */
	int status;
};

static int check(const struct rule *r, const struct source_env *env, double *threshold,
		 struct err *err)
{
	int rc = rule_check_moment(r, "the end of a process", err);

	if (rc)
		return rc;
	if (!*r->arg && r->op == RULE_OP_NONE)
		return rule_err(r->text, strlen(r->source), err,
				"expected ':' and the pid of a process, or a comparison for the "
				"recorded command: exit:812, exit!=0");
	if (r->op != RULE_OP_NONE && (rc = rule_check_op(r, "!>", "exit!=0", err)))
		return rc;
	*threshold = 0;
	if (r->op != RULE_OP_NONE && (rc = rule_check_number(r, threshold, err)))
		return rc;
	if (r->op == RULE_OP_ABOVE && *threshold >= 255)
		return rule_err(r->text, r->threshold_at, err,
				"no exit status is above 255, so the rule can't be met");
	if (!*r->arg && (!env || !env->command_pid)) {
		rule_err(r->text, r->op_at, err,
			 "there is no command whose exit status could be looked at");
		err_hint(err, "write it after '--', or name a process: exit:PID");
		return -EINVAL;
	}
	return 0;
}

static void exit_close(struct source *s)
{
	if (!s)
		return;
	process_close(&s->process);
	if (s->event_fd >= 0)
		close(s->event_fd);
	free(s);
}

static int exit_open(const struct rule *r, const struct source_env *env, struct source **out,
		     struct err *err)
{
	struct source *s;
	double threshold = 0;
	int rc = check(r, env, &threshold, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->process.pidfd = s->process.dir_fd = s->event_fd = -1;
	s->op = r->op;
	s->threshold = threshold;
	if (*r->arg && strcmp(r->arg, "command") != 0) {
		rc = process_open(r, env, &s->process, err);
	} else if (!env || !env->command_pid) {
		rc = rule_err(r->text, r->arg_at, err, "there is no command: write it after '--'");
	} else {
		s->command_pid = env->command_pid;
		s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (s->event_fd < 0)
			rc = err_sys(err, -errno, "can't make an eventfd");
	}
	if (rc) {
		exit_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

static int exit_fd(const struct source *s, uint32_t *events)
{
	return s->event_fd >= 0 ? s->event_fd : s->process.pidfd;
}

static bool is_met(const struct source *s, int status)
{
	switch (s->op) {
	case RULE_OP_NOT_EQUAL:
		return status != s->threshold;
	case RULE_OP_ABOVE:
		return status > s->threshold;
	default:
		return true;
	}
}

static void add_status(struct sighting *what, int status)
{
	const char *name = status > 128 ? sigabbrev_np(status - 128) : NULL;

	sighting_add(what, "status=%d", status);
	if (name)
		sighting_add(what, "signal=SIG%s", name);
}

static int command_ready(struct source *s, struct sighting *what)
{
	uint64_t n;

	if (!s->met)
		return 0;
	s->met = false;
	while (read(s->event_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	what->pid = what->tid = (uint32_t)s->command_pid;
	add_status(what, s->status);
	sighting_add(what, "pid=%d", s->command_pid);
	return 1;
}

/* An unknown status meets any comparison: a needless dump is better than a missing one. */
static int process_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct process_end end;
	int status;

	if (s->over)
		return process_gone(&s->process, err);
	if (!process_ended(&s->process))
		return 0;
	s->over = true;
	process_how_ended(&s->process, &end);
	status = end.sig ? 128 + end.sig : end.code;
	if (end.known && !is_met(s, status))
		return process_gone(&s->process, err);
	if (end.known)
		add_status(what, status);
	else
		sighting_add(what, "status=unknown");
	if (end.core)
		sighting_add(what, "core=dumped");
	process_who(&s->process, what);
	return 1;
}

static int exit_ready(struct source *s, struct sighting *what, struct err *err)
{
	return s->event_fd >= 0 ? command_ready(s, what) : process_ready(s, what, err);
}

static void exit_command_ended(struct source *s, int status)
{
	uint64_t one = 1;

	if (s->event_fd < 0 || s->over || !is_met(s, status))
		return;
	s->over = s->met = true;
	s->status = status;
	while (write(s->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void exit_plan(const struct source *s, struct source_plan *out)
{
	if (s->event_fd >= 0)
		snprintf(out->watches, sizeof(out->watches), "the end of the command, process %d",
			 s->command_pid);
	else
		snprintf(out->watches, sizeof(out->watches), "a pidfd of process %d (%s)",
			 s->process.pid, s->process.comm);
	snprintf(out->costs, sizeof(out->costs), "nothing until it ends");
}

const struct source_ops source_exit = {
	.name = "exit",
	.syntax = "exit:PID, exit!=N, exit>N",
	.help = "a process ends; the recorded command ends with such a status",
	.example = "exit!=0",
	.owners = true,
	.open = exit_open,
	.fd = exit_fd,
	.ready = exit_ready,
	.command_ended = exit_command_ended,
	.plan = exit_plan,
	.close = exit_close,
};
