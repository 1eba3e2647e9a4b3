// SPDX-License-Identifier: MIT
/* The guard process for crashes; see core_guard.h. Called by session.c. */
#include "recorder/coredump/core_guard.h"

#include "dump/base/err.h"
#include "recorder/coredump/core_serve.h"
#include "recorder/coredump/core_state.h"
#include "recorder/base/log.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 3000
/* Room for the stacks of many threads. */
#define REPORT_BYTES (16 << 20)
#define NICE	     (-10)

struct core_guard {
	pid_t pid;
	int talk; /* the guard's answers; closing it stops the guard */
	struct core_state state;
	char pattern[CORE_PATTERN_BYTES];
};

/* The guard's answer: whether the kernel now uses it. */
struct guard_answer {
	int rc;
	struct err err;
	char pattern[CORE_PATTERN_BYTES];
	char former[CORE_PATTERN_BYTES];
};

/* ---- in the guard ---- */

/* Handler of SIGCHLD: interrupts the guard's poll. */
static void wake(int sig)
{
}

/* Detaches from the recorder: signals of its terminal, output, current directory. */
static void settle(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL ||
					    sig == SIGFPE || sig == SIGCHLD
				    ? SIG_DFL
				    : SIG_IGN);
	signal(SIGCHLD, wake);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	setsid();
	prctl(PR_SET_NAME, "ringback-crash");
	prctl(PR_SET_DUMPABLE, 0);
	setpriority(PRIO_PROCESS, 0, NICE);
	if (chdir("/"))
		return;
}

/* The kernel looks up the socket, and interprets its path, only in the mount namespace of process
 * 1. */
static int enter_first_namespace(const struct core_state *s, bool *sure, struct err *err)
{
	struct stat ours, theirs;
	int fd, rc = 0;

	/* Without permission to check, the socket can still be tried: the kernel rejects it in
	 * another namespace. */
	*sure = !stat("/proc/1/ns/mnt", &theirs);
	if (!*sure)
		return 0;
	if (theirs.st_ino == setting_ns("mnt"))
		return 0;
	fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS))
		rc = err_sys(err, -errno, "--crash-hold: can't join the first mount namespace");
	if (fd >= 0)
		close(fd);
	if (!rc && (fstat(s->dir_fd, &ours) || stat(s->dir, &theirs) ||
		    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino))
		rc = err_set(err, -ENOENT,
			     "--crash-hold: %s is another directory for the kernel than for this "
			     "recorder, which has mounts of its own",
			     s->dir);
	return rc;
}

/*
 * Whether the kernel supports the socket (Linux 6.16; core_modes lists it since 6.17). An older
 * kernel takes the pattern as a file name, and no core is written.
 */
static bool has_socket(void)
{
	char modes[128] = "";
	struct utsname u;
	int major = 0, minor = 0, fd;

	fd = open("/proc/sys/kernel/core_modes", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, modes, sizeof(modes) - 1) < 0)
			*modes = '\0';
		close(fd);
		return strstr(modes, "socket");
	}
	uname(&u);
	return sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 16));
}

/* Tries the socket with a handshake (Linux 6.17), the plain socket (6.16), then a pipe. */
static int set_pattern(struct core_state *s, bool sure, struct guard_answer *a, enum core_way *way)
{
	const char *forced = getenv("RINGBACK_CRASH_PIPE"); /* set by tests */
	char program[256];
	struct err last;
	int rc = -EINVAL;

	err_set(&last, rc,
		"--crash-hold: this kernel has no coredump socket, and whether it sees the same "
		"files as this recorder can't be told without CAP_SYS_PTRACE");
	for (*way = forced || !has_socket() ? CORE_BY_PIPE : CORE_BY_REQUEST;
	     *way <= (sure || forced ? CORE_BY_PIPE : CORE_BY_SOCKET); (*way)++) {
		int n;

		if (*way == CORE_BY_PIPE)
			n = snprintf(a->pattern, sizeof(a->pattern),
				     "|%s " CORE_HANDLER " %s %%P %%I %%s %%d",
				     setting_program(program, sizeof(program)), s->dir);
		else
			n = snprintf(a->pattern, sizeof(a->pattern), "%s%s/" CORE_SOCKET_NAME,
				     *way == CORE_BY_REQUEST ? "@@" : "@", s->dir);
		if (n >= (int)sizeof(a->pattern))
			return err_set(&a->err, -ENAMETOOLONG,
				       "--crash-hold: kernel.core_pattern has no room for the path "
				       "of this program");
		rc = core_state_set(s, a->pattern, &last);
		if (rc != -EINVAL)
			break;
	}
	if (rc)
		a->err = last;
	return rc;
}

static void be_guard(struct core_state *s, int talk, int report, int recorder)
{
	struct guard_answer a = {0};
	struct core_serve *serve = NULL;
	enum core_way way = CORE_BY_PIPE;
	bool sure = false;

	settle();
	a.rc = enter_first_namespace(s, &sure, &a.err);
	if (!a.rc)
		a.rc = core_serve_new(s, report, &serve, &a.err);
	if (!a.rc)
		a.rc = set_pattern(s, sure, &a, &way);
	memcpy(a.former, s->former, sizeof(a.former));
	if (send(talk, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) && !a.rc) {
		core_serve_run(serve, way, talk, recorder);
		a.rc = core_state_restore(s, &a.err);
		core_serve_rest(serve, way);
		(void)send(talk, &a, sizeof(a), MSG_NOSIGNAL);
	} else if (!a.rc) {
		core_state_restore(s, NULL);
	}
	core_serve_free(serve);
	_exit(0);
}

/* ---- in the recorder ---- */

static int check_former(const char *former, struct err *err)
{
	if (core_pattern_kind(former) != CORE_SOCKET)
		return 0;
	err_set(err, -EOPNOTSUPP,
		"--crash-hold: kernel.core_pattern is '%s'; a socket takes cores from the kernel "
		"only, so they could not be handed on to it",
		former);
	err_hint(err, "without --crash-hold the rule crash still records the crashing thread");
	return -EOPNOTSUPP;
}

static int check(struct err *err)
{
	char now[CORE_PATTERN_BYTES] = "", former[CORE_PATTERN_BYTES];
	enum core_left left;
	int rc;

	if (geteuid()) {
		err_set(err, -EPERM, "--crash-hold is for root: it changes kernel.core_pattern");
		err_hint(err, "without it the rule crash still records the crashing thread");
		return -EPERM;
	}
	rc = core_state_left(true, &left, former, err);
	if (!rc && left == CORE_LEFT_IN_USE)
		rc = err_set(err, -EBUSY, "another recorder has --crash-hold: there can be one");
	setting_line("/proc/sys/kernel/core_pattern", now, sizeof(now));
	return rc ? rc : check_former(now, err);
}

static int start(struct core_guard *g, int talk[2], int report[2], struct err *err)
{
	int recorder = (int)syscall(SYS_pidfd_open, getpid(), 0), size = REPORT_BYTES;
	struct guard_answer a;

	if (recorder < 0)
		return err_sys(err, -errno, "pidfd_open");
	setsockopt(report[1], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	g->pid = fork();
	if (!g->pid) {
		close(talk[0]);
		close(report[0]);
		be_guard(&g->state, talk[1], report[1], recorder);
	}
	close(recorder);
	close(talk[1]);
	close(report[1]);
	talk[1] = report[1] = -1;
	if (g->pid < 0)
		return err_sys(err, -errno, "can't fork");
	if (recv(talk[0], &a, sizeof(a), 0) != sizeof(a))
		return err_set(err, -ECHILD, "--crash-hold: its process ended");
	if (a.rc && err)
		*err = a.err;
	memcpy(g->pattern, a.pattern, sizeof(g->pattern));
	memcpy(g->state.former, a.former, sizeof(a.former));
	return a.rc;
}

int core_guard_start(struct core_guard **out, int *fd, struct err *err)
{
	struct core_guard *g = calloc(1, sizeof(*g));
	int talk[2] = {-1, -1}, report[2] = {-1, -1}, rc;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	g->state.dir_fd = g->state.lock_fd = g->talk = -1;
	rc = check(err);
	if (!rc)
		rc = core_state_open(&g->state, err);
	if (!rc && (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) ||
		    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report)))
		rc = err_sys(err, -errno, "can't make a socket");
	if (!rc)
		rc = start(g, talk, report, err);
	for (int i = 0; i < 2; i++) {
		if (talk[i] >= 0 && (rc || i))
			close(talk[i]);
		if (report[i] >= 0 && (rc || i))
			close(report[i]);
	}
	if (rc) {
		if (g->pid > 0)
			waitpid(g->pid, NULL, 0);
		core_state_close(&g->state);
		free(g);
		return rc;
	}
	g->talk = talk[0];
	*fd = report[0];
	*out = g;
	return 0;
}

/* The guard did not confirm that it restored the pattern: restores it here. */
static void take_back(struct core_guard *g)
{
	struct err err = ERR_INIT;

	if (core_state_restore(&g->state, &err))
		log_warn_err(&err);
}

void core_guard_stop(struct core_guard *g)
{
	struct pollfd p;
	struct guard_answer a = {.rc = -1};

	if (!g)
		return;
	p = (struct pollfd){.fd = g->talk, .events = POLLIN};
	shutdown(g->talk, SHUT_WR);
	if (poll(&p, 1, STOP_MS) <= 0 || recv(g->talk, &a, sizeof(a), MSG_DONTWAIT) != sizeof(a) ||
	    a.rc)
		take_back(g);
	else
		waitpid(g->pid, NULL, 0);
	close(g->talk);
	core_state_close(&g->state);
	free(g);
}

const char *core_guard_pattern(const struct core_guard *g)
{
	return g->pattern;
}
