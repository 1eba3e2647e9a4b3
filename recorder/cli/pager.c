// SPDX-License-Identifier: MIT
/* The pager; see pager.h. Commands start it, main.c ends it. */
#include "recorder/cli/pager.h"

#include "recorder/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Static: there is one terminal. */
static struct {
	bool off;
	pid_t pid;    /* 0: not running */
	int out, err; /* the original stdout and stderr; err -1: not replaced */
} pager;

void pager_off(void)
{
	pager.off = true;
}

int pager_terminal(void)
{
	return pager.pid ? pager.out : STDOUT_FILENO;
}

/* True if the first word of the command is a program. Shell syntax is assumed to work. */
static bool is_there(const char *command)
{
	const char *path = getenv("PATH");
	size_t n = strcspn(command, " \t");
	char file[4096];

	if (strcspn(command, "|&;<>()$`\\\"'*?[#~=%\n") < n)
		return true;
	if (memchr(command, '/', n) || !path)
		path = "";
	for (;; path++) {
		size_t dir = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s%s%.*s", (int)dir, path, dir ? "/" : "", (int)n,
			 command);
		if (!access(file, X_OK))
			return true;
		path += dir;
		if (!*path)
			return false;
	}
}

/* NULL: use no pager. */
static const char *command_of(void)
{
	const char *own = getenv("RINGBACK_PAGER"), *any = getenv("PAGER"), *term = getenv("TERM");
	const char *command = own ? own : any ? any : "less";

	command += strspn(command, " \t");
	if (pager.off || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb") || !*command ||
	    !strcmp(command, "cat"))
		return NULL;
	if (is_there(command))
		return command;
	if (own || any)
		log_warn("there is no pager '%s'; %s selects another", command,
			 own ? "RINGBACK_PAGER" : "PAGER");
	return NULL;
}

/* Waits for the pager before dying of a signal, since the pager still uses the terminal. */
static void die(int sig)
{
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run(const char *command, int from)
{
	dup2(from, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int keep(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

void pager_start(void)
{
	static const int deaths[] = {SIGINT, SIGHUP, SIGTERM, SIGQUIT};
	const char *command = pager.pid ? NULL : command_of();
	int ends[2];

	if (!command || pipe2(ends, O_CLOEXEC))
		return;
	fflush(stdout);
	pager.out = keep(STDOUT_FILENO);
	pager.err = isatty(STDERR_FILENO) ? keep(STDERR_FILENO) : -1;
	pager.pid = pager.out < 0 ? -1 : fork();
	if (!pager.pid)
		run(command, ends[0]);
	if (pager.pid > 0) {
		dup2(ends[1], STDOUT_FILENO);
		if (pager.err >= 0)
			dup2(ends[1], STDERR_FILENO);
		signal(SIGPIPE, SIG_IGN);
		for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
			signal(deaths[i], die);
	} else {
		pager.pid = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

bool pager_end(void)
{
	if (!pager.pid)
		return false;
	fflush(stdout);
	dup2(pager.out, STDOUT_FILENO);
	if (pager.err >= 0)
		dup2(pager.err, STDERR_FILENO);
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
	return true;
}
