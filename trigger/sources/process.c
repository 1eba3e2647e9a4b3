// SPDX-License-Identifier: MIT
/* A process named by its pid, safe against reuse of the pid; see process.h. */
#include "trigger/sources/process.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first version of struct pidfd_info in <linux/pidfd.h>, Linux 6.13 and later. */
struct pidfd_info_v0 {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info_v0) == 64, "the size is a part of the ioctl's number");

#define GET_INFO      _IOWR(0xff, 11, struct pidfd_info_v0)
#define GET_INFO_EXIT (1u << 3)

#define STAT_EXIT_CODE 52 /* field of /proc/PID/stat, counted from 1; proc(5) */

/* ---- opening ---- */

static int which_pid(const struct rule *r, const struct source_env *env, pid_t *pid,
		     struct err *err)
{
	uint64_t v;

	if (!strcmp(r->arg, "command")) {
		if (!env || !env->command_pid)
			return rule_err(r->text, r->arg_at, err,
					"there is no command: write it after '--'");
		*pid = env->command_pid;
		return 0;
	}
	if (str_u64(r->arg, &v, NULL) || !v || v > INT_MAX)
		return rule_err(r->text, r->arg_at, err,
				"expected the pid of a process, or command, found '%s'", r->arg);
	*pid = (pid_t)v;
	return 0;
}

static int no_such_process(const struct rule *r, pid_t pid, struct err *err)
{
	rule_err(r->text, r->arg_at, err, "there is no process %d", pid);
	return -ESRCH;
}

static void look_at_comm(struct process *p)
{
	char raw[64];
	int fd = process_file(p, "comm");
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, raw, sizeof(raw));
	close(fd);
	if (n > 0 && raw[n - 1] == '\n')
		n--;
	if (n >= (ssize_t)sizeof(p->comm))
		n = sizeof(p->comm) - 1;
	if (n > 0)
		snprintf(p->comm, sizeof(p->comm), "%.*s", (int)n, raw);
}

static int open_dir(const struct rule *r, struct process *p, struct err *err)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", p->pid);
	p->dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->dir_fd < 0 && errno == ENOENT)
		return no_such_process(r, p->pid, err);
	if (p->dir_fd < 0 || fstat(p->dir_fd, &st))
		return err_sys(err, -errno, "can't look at process %d", p->pid);
	p->uid = st.st_uid;
	return 0;
}

/* The directory was opened first. If it still has a process, the pidfd is of the same one. */
static int open_pidfd(const struct rule *r, struct process *p, struct err *err)
{
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	if (p->pidfd < 0 && errno == ESRCH)
		return no_such_process(r, p->pid, err);
	/* The pid of a thread gives EINVAL, or ENOENT since Linux 6.15. */
	if (p->pidfd < 0 && (errno == EINVAL || errno == ENOENT))
		return rule_err(r->text, r->arg_at, err,
				"%d is a thread, not a process: give the pid of its process",
				p->pid);
	if (p->pidfd < 0)
		return err_sys(err, -errno, "pidfd_open of process %d", p->pid);
	if (faccessat(p->dir_fd, "stat", F_OK, 0) || process_ended(p))
		return no_such_process(r, p->pid, err);
	return 0;
}

int process_open(const struct rule *r, const struct source_env *env, struct process *out,
		 struct err *err)
{
	struct process p = {.pidfd = -1, .dir_fd = -1};
	int rc = which_pid(r, env, &p.pid, err);

	if (!rc)
		rc = open_dir(r, &p, err);
	if (!rc)
		rc = open_pidfd(r, &p, err);
	if (rc) {
		process_close(&p);
		return rc;
	}
	look_at_comm(&p);
	*out = p;
	return 0;
}

void process_close(struct process *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->dir_fd >= 0)
		close(p->dir_fd);
	p->pidfd = p->dir_fd = -1;
}

/* ---- state ---- */

bool process_ended(const struct process *p)
{
	struct pollfd poll_fd = {.fd = p->pidfd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0;
}

int process_gone(const struct process *p, struct err *err)
{
	char comm[80];

	return err_set(err, -ESRCH, "process %d (%s) has ended", p->pid,
		       str_safe(comm, sizeof(comm), p->comm, strlen(p->comm)));
}

int process_file(const struct process *p, const char *name)
{
	int fd = openat(p->dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void process_who(struct process *p, struct sighting *what)
{
	char comm[80];

	if (!process_ended(p))
		look_at_comm(p);
	what->pid = what->tid = (uint32_t)p->pid;
	what->uid = p->uid;
	snprintf(what->comm, sizeof(what->comm), "%s", p->comm);
	sighting_add(what, "pid=%d", p->pid);
	sighting_add(what, "comm=%s", str_safe(comm, sizeof(comm), p->comm, strlen(p->comm)));
}

/* ---- its end ---- */

static void decode(int status, struct process_end *out)
{
	*out = (struct process_end){
		.known = true,
		.core = WIFSIGNALED(status) && WCOREDUMP(status),
		.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
		.sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
}

/* The wait status of a zombie, from /proc/PID/stat. Needs permission to trace the process. */
static bool status_of_zombie(const struct process *p, int *status)
{
	char buf[1024], *at, *next;
	int fd = process_file(p, "stat");
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	/* The name may contain any character; the third field starts after the last ')'. */
	at = strrchr(buf, ')');
	if (!at || (at[1] && at[2] != 'Z' && at[2] != 'X'))
		return false;
	at = strtok_r(at + 1, " \n", &next);
	for (int field = 3; at && field < STAT_EXIT_CODE; field++)
		at = strtok_r(NULL, " \n", &next);
	if (!at)
		return false;
	*status = atoi(at);
	/* The kernel also shows 0 to readers without permission. */
	return *status || !geteuid();
}

static bool status_of_reaped(const struct process *p, int *status)
{
	struct pidfd_info_v0 info = {.mask = GET_INFO_EXIT};

	if (ioctl(p->pidfd, GET_INFO, &info) || !(info.mask & GET_INFO_EXIT))
		return false;
	*status = info.exit_code;
	return true;
}

void process_how_ended(const struct process *p, struct process_end *out)
{
	int status;

	*out = (struct process_end){0};
	/* The zombie first: the process may be reaped between the two. */
	if (status_of_zombie(p, &status) || status_of_reaped(p, &status))
		decode(status, out);
}
