// SPDX-License-Identifier: MIT
/* The recorded command; see child.h. Called by session.c and daemon.c. */
#include "recorder/capture/child.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 1000

struct child {
	pid_t pid;
	int pidfd;
	int go;	    /* closing it without a byte ends the child */
	int failed; /* gets the errno of a failed exec; a successful exec closes it */
	bool reaped;
	int status;
	const char *name;
};

static void be_the_child(char **argv, const sigset_t *mask, int go, int failed)
{
	char byte;
	ssize_t n;
	int e;

	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(127);
	execvp(argv[0], argv);
	e = errno;
	while (write(failed, &e, sizeof(e)) < 0 && errno == EINTR)
		;
	_exit(e == ENOENT ? 127 : 126);
}

int child_fork(char **argv, const sigset_t *mask, struct child **out, struct err *err)
{
	struct child *c = calloc(1, sizeof(*c));
	int go[2] = {-1, -1}, failed[2] = {-1, -1}, rc = 0;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->pidfd = c->go = c->failed = -1;
	c->name = argv[0];
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		rc = err_sys(err, -errno, "can't make a pipe");
		goto fail;
	}
	c->pid = fork();
	if (c->pid < 0) {
		rc = err_sys(err, -errno, "can't fork");
		goto fail;
	}
	if (!c->pid) {
		close(go[1]);
		close(failed[0]);
		be_the_child(argv, mask, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0) {
		rc = err_sys(err, -errno,
			     "pidfd_open of the command (Linux 5.3 or newer is needed)");
		child_free(c);
		return rc;
	}
	*out = c;
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	free(c);
	return rc;
}

int child_go(struct child *c, struct err *err)
{
	int e = 0;
	ssize_t n;

	if (write(c->go, "", 1) != 1)
		return err_sys(err, -errno, "the command ended before it began");
	close(c->go);
	c->go = -1;
	while ((n = read(c->failed, &e, sizeof(e))) < 0 && errno == EINTR)
		;
	if (n != sizeof(e))
		return 0;
	err_sys(err, -e, "can't run '%s'", c->name);
	if (e == ENOENT)
		err_hint(err, "give its path, or look at PATH");
	return -e;
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

int child_fd(const struct child *c)
{
	return c->pidfd;
}

int child_status(struct child *c)
{
	int s;

	if (!c->reaped) {
		while (waitpid(c->pid, &s, 0) < 0 && errno == EINTR)
			;
		c->reaped = true;
		c->status = WIFSIGNALED(s) ? 128 + WTERMSIG(s) : WEXITSTATUS(s);
	}
	return c->status;
}

/* Sends SIGTERM, as perf record does, but waits at most END_MS for the end. */
static void end_command(struct child *c)
{
	struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

	if (!kill(c->pid, SIGTERM) && poll(&p, 1, END_MS) > 0)
		child_status(c);
}

void child_free(struct child *c)
{
	if (!c)
		return;
	if (c->go >= 0) {
		close(c->go);
		child_status(c);
	} else if (!c->reaped && c->pidfd >= 0) {
		end_command(c);
	}
	if (c->failed >= 0)
		close(c->failed);
	if (c->pidfd >= 0)
		close(c->pidfd);
	free(c);
}
