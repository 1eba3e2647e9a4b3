// SPDX-License-Identifier: MIT
/* The command of --on-dump, in the recorder; see on_dump.h. Called by daemon.c. */
#include "recorder/daemon/on_dump.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/log.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct one_dump {
	char *env[8]; /* ended by NULL; [0] is RINGBACK_DUMP */
};

struct on_dump {
	const char *command;
	uid_t uid;
	gid_t gid;
	struct one_dump queue[ON_DUMP_QUEUE]; /* [0] is running, if pid is set */
	size_t nr;
	pid_t pid; /* also its process group; 0: none */
	int pidfd, timer_fd, epoll_fd;
	bool late; /* it was killed for its time */
	bool full; /* a warning was printed */
};

static const char *path_of(const struct one_dump *d)
{
	return d->env[0] + strlen("RINGBACK_DUMP=");
}

static void free_dump(struct one_dump *d)
{
	for (char **e = d->env; *e; e++)
		free(*e);
	*d = (struct one_dump){0};
}

/* ---- opening ---- */

static int find_user(struct on_dump *o, const char *user, struct err *err)
{
	struct passwd *p;

	o->uid = geteuid();
	o->gid = getegid();
	if (o->uid && !user)
		return 0;
	if (o->uid) {
		err_set(err, -EINVAL, "only root's recorder can run a command as another user");
		err_hint(err, "leave out --on-dump-user");
		return -EINVAL;
	}
	p = getpwnam(user ? user : "nobody");
	if (!p || !p->pw_uid) {
		err_set(err, -EINVAL,
			p ? "--on-dump runs nothing as root" : "there is no user '%s'",
			user ? user : "nobody");
		err_hint(err, "--on-dump-user USER names an unprivileged one");
		return -EINVAL;
	}
	o->uid = p->pw_uid;
	o->gid = p->pw_gid;
	return 0;
}

int on_dump_new(const char *command, const char *user, struct on_dump **out, struct err *err)
{
	struct on_dump *o = calloc(1, sizeof(*o));
	struct epoll_event ev = {.events = EPOLLIN};
	int rc;

	if (!o)
		return err_set(err, -ENOMEM, "out of memory");
	o->command = command;
	o->pidfd = -1;
	o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (o->timer_fd < 0 || o->epoll_fd < 0 ||
	    epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, o->timer_fd, &ev))
		rc = err_sys(err, -errno, "can't wait for the command of --on-dump");
	else
		rc = find_user(o, user, err);
	if (rc)
		on_dump_free(o);
	else
		*out = o;
	return rc;
}

int on_dump_fd(const struct on_dump *o)
{
	return o->epoll_fd;
}

/* ---- the command ---- */

static void set_timer(struct on_dump *o, uint64_t ns)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(ns / 1000000000)}};

	timerfd_settime(o->timer_fd, 0, &t, NULL);
}

static int spawn(struct on_dump *o)
{
	char uid[16], gid[16], command[] = "on-dump";
	char *argv[] = {"ringback", command, uid, gid, (char *)o->command, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	snprintf(uid, sizeof(uid), "%u", o->uid);
	snprintf(gid, sizeof(gid), "%u", o->gid);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(&o->pid, "/proc/self/exe", &files, &attr, argv, o->queue[0].env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

static void take_first(struct on_dump *o)
{
	free_dump(&o->queue[0]);
	o->nr--;
	memmove(&o->queue[0], &o->queue[1], o->nr * sizeof(o->queue[0]));
	o->queue[o->nr] = (struct one_dump){0};
}

/* Starts the next command, unless one runs. */
static void start(struct on_dump *o)
{
	struct epoll_event ev = {.events = EPOLLIN};

	while (!o->pid && o->nr) {
		int rc = spawn(o);

		if (rc) {
			o->pid = 0;
			log_warn("on-dump: can't run the command for %s: %s", path_of(&o->queue[0]),
				 strerror(-rc));
			take_first(o);
			continue;
		}
		o->late = false;
		o->pidfd = (int)syscall(SYS_pidfd_open, o->pid, 0);
		if (o->pidfd >= 0)
			epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, o->pidfd, &ev);
		set_timer(o, ON_DUMP_NS);
	}
}

static void log_end(const struct on_dump *o, int status)
{
	const char *path = path_of(&o->queue[0]);

	if (o->late)
		log_warn("on-dump: the command for %s was killed after %llu s", path,
			 ON_DUMP_NS / 1000000000);
	else if (WIFSIGNALED(status))
		log_warn("on-dump: the command for %s was killed by signal %d", path,
			 WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warn("on-dump: the command for %s exited with status %d", path,
			 WEXITSTATUS(status));
}

/* Kills what the command left in its process group, whose number is in use until it is reaped. */
static bool reap(struct on_dump *o)
{
	siginfo_t ended = {0};
	int status = 0;

	if (!o->pid || waitid(P_PID, (id_t)o->pid, &ended, WEXITED | WNOHANG | WNOWAIT) ||
	    !ended.si_pid)
		return false;
	kill(-o->pid, SIGKILL);
	waitpid(o->pid, &status, WNOHANG);
	if (o->pidfd >= 0)
		close(o->pidfd);
	o->pidfd = -1;
	o->pid = 0;
	set_timer(o, 0);
	log_end(o, status);
	take_first(o);
	return true;
}

void on_dump_woken(struct on_dump *o)
{
	uint64_t n;

	/* One that hangs in the kernel stays; the next ones wait for it. */
	if (read(o->timer_fd, &n, sizeof(n)) == sizeof(n) && o->pid) {
		o->late = true;
		kill(-o->pid, SIGKILL);
	}
	if (reap(o))
		start(o);
}

static char *variable(const char *name, const char *value)
{
	char *text;

	return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

void on_dump_add(struct on_dump *o, const char *path, const char *rule, const char *reason)
{
	struct one_dump *d = &o->queue[o->nr];

	if (o->nr == ON_DUMP_QUEUE) {
		if (!o->full)
			log_warn("on-dump: %d dumps wait for the command; it is not run for %s",
				 ON_DUMP_QUEUE, path);
		o->full = true;
		return;
	}
	o->full = false;
	*d = (struct one_dump){{variable("RINGBACK_DUMP", path), variable("RINGBACK_TRIGGER", rule),
				variable("RINGBACK_REASON", reason),
				variable("PATH", "/usr/local/bin:/usr/bin:/bin")}};
	o->nr++;
	for (int i = 0; i < 4; i++) {
		if (d->env[i])
			continue;
		log_warn("on-dump: out of memory; the command is not run for %s", path);
		for (int k = 0; k < 4; k++)
			free(d->env[k]);
		*d = (struct one_dump){0};
		o->nr--;
		return;
	}
	start(o);
}

void on_dump_free(struct on_dump *o)
{
	uint64_t now = clock_ns(), end = now + ON_DUMP_LEAVE_NS;

	if (!o)
		return;
	while (o->nr && now < end) {
		struct pollfd p = {.fd = o->epoll_fd, .events = POLLIN};

		if (poll(&p, 1, (int)((end - now) / 1000000 + 1)) > 0)
			on_dump_woken(o);
		now = clock_ns();
	}
	if (o->nr)
		log_warn("on-dump: the command for %s is killed, since the recorder ends",
			 path_of(&o->queue[0]));
	if (o->pid)
		kill(-o->pid, SIGKILL);
	while (o->nr)
		take_first(o);
	if (o->pidfd >= 0)
		close(o->pidfd);
	if (o->timer_fd >= 0)
		close(o->timer_fd);
	if (o->epoll_fd >= 0)
		close(o->epoll_fd);
	free(o);
}
