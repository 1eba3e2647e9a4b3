// SPDX-License-Identifier: MIT
/*
 * Source "signal:NAME": the recorder gets a signal. It reads a signalfd, which also names the
 * sender. The engine blocks the signal while the source is open (ops->signals), so that it stays
 * pending for the descriptor instead of being delivered.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct source {
	int fd;
	int signo;
	char name[16]; /* "SIGUSR1", "SIGRTMIN+3" */
};

struct refused {
	int signo;
	const char *why;
};

static const char fault[] = "it says that the recorder itself has a fault";

static const struct refused refused[] = {
	{SIGINT, "it stops the recorder"},
	{SIGTERM, "it stops the recorder"},
	{SIGHUP, "it makes the recorder read its configuration again"},
	{SIGKILL, "no program can wait for it"},
	{SIGSTOP, "no program can wait for it"},
	{SIGCHLD, "it tells the recorder that the command it started has ended"},
	{SIGPIPE, "the recorder gets it when the reader of its output goes away"},
	{SIGSEGV, fault},
	{SIGBUS, fault},
	{SIGFPE, fault},
	{SIGILL, fault},
	{SIGTRAP, fault},
	{SIGSYS, fault},
	{SIGABRT, fault},
};

/* The number of RTMIN+n or RTMAX-n; 0: neither, or no such signal. */
static int realtime(const char *name)
{
	bool from_min = !strncasecmp(name, "RTMIN", 5);
	uint64_t n = 0;
	int signo;

	if (!from_min && strncasecmp(name, "RTMAX", 5))
		return 0;
	if (name[5] && (name[5] != (from_min ? '+' : '-') || str_u64(name + 6, &n, NULL) || n > 64))
		return 0;
	signo = from_min ? SIGRTMIN + (int)n : SIGRTMAX - (int)n;
	return signo >= SIGRTMIN && signo <= SIGRTMAX ? signo : 0;
}

static int signal_number(const char *arg)
{
	const char *name = strncasecmp(arg, "SIG", 3) ? arg : arg + 3;

	for (int i = 1; i < 32; i++) {
		const char *abbrev = sigabbrev_np(i);

		if (abbrev && !strcasecmp(abbrev, name))
			return i;
	}
	return realtime(name);
}

static void signal_name(int signo, char *out, size_t n)
{
	if (signo >= SIGRTMIN)
		snprintf(out, n, "SIGRTMIN+%d", signo - SIGRTMIN);
	else
		snprintf(out, n, "SIG%s", sigabbrev_np(signo));
}

static int check(const struct rule *r, int *signo, struct err *err)
{
	if (!*r->arg)
		return rule_err(r->text, strlen(r->source), err,
				"expected ':' and the name of a signal, such as signal:USR1");
	if (r->op != RULE_OP_NONE)
		return rule_err(r->text, r->op_at, err, "signal:NAME takes no comparison");
	if (rule_check_moment(r, "a signal", err))
		return -EINVAL;
	*signo = signal_number(r->arg);
	if (!*signo)
		return rule_err(r->text, r->arg_at, err,
				"expected the name of a signal (USR1, SIGUSR1, QUIT, RTMIN+3, "
				"...), found '%s'",
				r->arg);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (*signo == refused[i].signo)
			return rule_err(r->text, r->arg_at, err,
					"SIG%s can't be a trigger: %s; take USR1 or RTMIN+n",
					sigabbrev_np(*signo), refused[i].why);
	return 0;
}

static int signal_open(const struct rule *r, const struct source_env *env, struct source **out,
		       struct err *err)
{
	struct source *s;
	sigset_t set;
	int signo = 0, rc = check(r, &signo, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->signo = signo;
	signal_name(signo, s->name, sizeof(s->name));
	sigemptyset(&set);
	sigaddset(&set, signo);
	s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->fd < 0) {
		rc = err_sys(err, -errno, "can't wait for %s with signalfd", s->name);
		free(s);
		return rc;
	}
	*out = s;
	return 0;
}

static int signal_fd(const struct source *s, uint32_t *events)
{
	return s->fd;
}

static void signal_signals(const struct source *s, sigset_t *set)
{
	sigaddset(set, s->signo);
}

/* Adds the sender's name, if it still exists and /proc shows it. */
static void add_sender_comm(struct sighting *what, uint32_t pid)
{
	char comm[16], safe[64];

	source_comm(pid, comm);
	if (*comm)
		sighting_add(what, "sender_comm=%s",
			     str_safe(safe, sizeof(safe), comm, strlen(comm)));
}

/*
 * Only kill, tgkill and sigqueue set a sender; the fields mean something else for a timer's signal.
 */
static void add_sender(struct sighting *what, const struct signalfd_siginfo *si)
{
	if (si->ssi_code != SI_USER && si->ssi_code != SI_TKILL && si->ssi_code != SI_QUEUE)
		return;
	what->pid = si->ssi_pid;
	what->uid = si->ssi_uid;
	sighting_add(what, "sender_pid=%u", si->ssi_pid);
	sighting_add(what, "sender_uid=%u", si->ssi_uid);
	if (si->ssi_pid)
		add_sender_comm(what, si->ssi_pid);
	if (si->ssi_code == SI_QUEUE)
		sighting_add(what, "sender_value=%d", si->ssi_int);
}

static int signal_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct signalfd_siginfo si[16];
	ssize_t n = read(s->fd, si, sizeof(si));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return err_sys(err, -errno, "can't read %s from its signalfd", s->name);
	what->nr_hits = (uint32_t)((size_t)n / sizeof(si[0]));
	if (!what->nr_hits)
		return 0;
	sighting_add(what, "signal=%s", s->name);
	add_sender(what, &si[0]);
	return 1;
}

static void signal_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "a signalfd for %s", s->name);
	snprintf(out->costs, sizeof(out->costs), "nothing until the signal comes");
}

static void signal_close(struct source *s)
{
	if (!s)
		return;
	close(s->fd);
	free(s);
}

const struct source_ops source_signal = {
	.name = "signal",
	.syntax = "signal:NAME",
	.help = "the recorder gets this signal (USR1, SIGQUIT, RTMIN+3, ...)",
	.example = "signal:USR1",
	.owners = true,
	.open = signal_open,
	.fd = signal_fd,
	.ready = signal_ready,
	.signals = signal_signals,
	.plan = signal_plan,
	.close = signal_close,
};
