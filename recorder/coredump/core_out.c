// SPDX-License-Identifier: MIT
/* Writes a core to its destination; see core_out.h. Called by core_work.c, in a separate
 * process. */
#include "recorder/coredump/core_out.h"

#include "dump/base/str.h"
#include "recorder/coredump/core_process.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel looks for zeros by pages of a core, too. */
#define PAGE	      4096u
#define DUMPABLE_ROOT 2
#define TAKES_MS      (5 * 60 * 1000)

static void say(struct core_out *o, const char *what, const char *why)
{
	char safe[160];

	snprintf(o->says, sizeof(o->says), "%s%s", str_safe(safe, sizeof(safe), what, strlen(what)),
		 why);
}

/* ---- files ---- */

/* Drops capabilities that the crashed process lacks, so that no file is created where that process
 * could not create one. */
static int take_caps(uint64_t caps)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -errno;
	d[0].effective &= (uint32_t)caps;
	d[1].effective &= (uint32_t)(caps >> 32);
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

/* Takes on the root and current directory, the user ids and the limits of the crashed process, for
 * good. */
static int become(const struct core_process *v)
{
	struct rlimit r = {v->file_limit, v->file_limit};

	if (v->root_fd < 0 || v->cwd_fd < 0 || fchdir(v->root_fd) || chroot(".") ||
	    fchdir(v->cwd_fd))
		return -EACCES;
	if (setgroups(v->groups.len / sizeof(gid_t), (const gid_t *)v->groups.p))
		return -errno;
	setfsgid(v->fsgid);
	setfsuid(v->fsuid);
	if ((uint32_t)setfsuid((uid_t)-1) != v->fsuid || (uint32_t)setfsgid((gid_t)-1) != v->fsgid)
		return -EPERM;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &r);
	return take_caps(v->caps);
}

static int open_file(const char *path, const struct core_process *v)
{
	bool as_root = v->names.dumpable == DUMPABLE_ROOT;
	uint32_t uid = as_root ? 0 : v->fsuid;
	struct stat st;
	int fd, rc = 0;

	if (as_root && *path != '/')
		return -EPERM;
	if (!as_root)
		rc = become(v);
	if (rc)
		return rc;
	umask(0);
	if (!as_root)
		unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_NOFOLLOW | O_EXCL | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_nlink != 1 || !S_ISREG(st.st_mode) || st.st_uid != uid ||
	    (st.st_mode & 0677) != 0600) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static void to_file(struct core_out *o, const char *path, const struct core_process *v)
{
	char why[64];
	int fd;

	if (v->names.core_limit < PAGE) {
		snprintf(why, sizeof(why), "none: RLIMIT_CORE is %llu",
			 (unsigned long long)v->names.core_limit);
		say(o, why, "");
		return;
	}
	fd = open_file(path, v);
	if (fd < 0) {
		snprintf(why, sizeof(why), ": %s", strerror(-fd));
		say(o, path, why);
		return;
	}
	o->fd = fd;
	o->is_file = true;
	o->limit = v->names.core_limit;
	say(o, path, "");
}

/* ---- programs ---- */

static void be_program(char **argv, int in, int pidfd)
{
	static char *const no_env[] = {NULL};
	struct rlimit r = {1, 1}; /* keeps the program itself from dumping core, as in the kernel */
	int null = open("/dev/null", O_RDWR);

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	if (chdir("/") || dup2(in, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	if (pidfd >= 0 &&
	    (pidfd == CORE_PIDFD ? fcntl(pidfd, F_SETFD, 0) : dup2(pidfd, CORE_PIDFD)) < 0)
		_exit(127);
	setrlimit(RLIMIT_CORE, &r);
	execve(argv[0], argv, no_env);
	_exit(127);
}

static void to_program(struct core_out *o, char **argv, int pidfd, const struct core_process *v)
{
	int p[2];

	if (v->names.core_limit == 1) {
		say(o, "none: RLIMIT_CORE is 1", "");
		return;
	}
	if (pipe2(p, O_CLOEXEC) || fcntl(p[1], F_SETFL, O_NONBLOCK)) {
		say(o, argv[0], ": no pipe");
		return;
	}
	o->program = fork();
	if (!o->program)
		be_program(argv, p[0], pidfd);
	close(p[0]);
	if (o->program < 0) {
		close(p[1]);
		o->program = 0;
		say(o, argv[0], ": can't fork");
		return;
	}
	o->fd = p[1];
	o->limit = UINT64_MAX;
	o->says[0] = '|';
	str_safe(o->says + 1, sizeof(o->says) - 1, argv[0], strlen(argv[0]));
}

void core_out_open(struct core_out *o, const char *pattern, const struct core_process *v)
{
	char *argv[CORE_PATTERN_ARGS + 1] = {NULL};
	size_t args[CORE_PATTERN_ARGS], nr = 0;
	struct buf name = {0};
	int64_t uses_pid = 0;

	*o = (struct core_out){.fd = -1, .takes_ms = TAKES_MS};
	setting_number("kernel/core_uses_pid", &uses_pid);
	if (core_pattern_expand(pattern, &v->names, uses_pid, &name, args, &nr)) {
		say(o, "none: kernel.core_pattern was empty", "");
	} else if (core_pattern_kind(pattern) == CORE_FILE) {
		to_file(o, (const char *)name.p, v);
	} else if (core_pattern_kind(pattern) == CORE_PIPE) {
		for (size_t i = 0; i < nr; i++)
			argv[i] = (char *)name.p + args[i];
		to_program(o, argv, strstr(pattern, "%F") ? v->pidfd : -1, v);
	} else {
		say(o, "none: to a socket it can't be handed on", "");
	}
	buf_free(&name);
}

/* ---- bytes ---- */

static bool all_zero(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

static bool may_write(const struct core_out *o)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};

	return poll(&p, 1, o->takes_ms) > 0;
}

static bool put(struct core_out *o, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t w = o->is_file ? pwrite(o->fd, p, n, (off_t)o->at) : write(o->fd, p, n);

		if (w < 0 && (errno == EINTR || (errno == EAGAIN && may_write(o))))
			continue;
		if (w <= 0)
			return false;
		o->at += (uint64_t)w;
		o->written += (uint64_t)w;
		p += w;
		n -= (size_t)w;
	}
	o->hole = false;
	return true;
}

/* The number of bytes for one write: up to the next page of zeros, or up to the limit. */
static size_t run_of(const struct core_out *o, struct bytes b, bool *zero)
{
	size_t n = 0, to_page;

	*zero = false;
	while (n < b.len) {
		to_page = PAGE - (o->at + n) % PAGE;
		if (to_page > b.len - n)
			to_page = b.len - n;
		if (to_page == PAGE && all_zero(b.p + n, PAGE)) {
			*zero = !n;
			return n ? n : PAGE;
		}
		if (!span_fits(o->written + n, to_page, o->limit))
			break;
		n += to_page;
	}
	return n;
}

bool core_out_write(struct core_out *o, struct bytes b)
{
	bool zero;
	size_t n;

	if (!o->is_file)
		return put(o, b.p, b.len);
	while (b.len) {
		n = run_of(o, b, &zero);
		if (!n || (!zero && !put(o, b.p, n)))
			return false;
		if (zero)
			o->at += n;
		o->hole |= zero;
		b.p += n;
		b.len -= n;
	}
	return true;
}

void core_out_close(struct core_out *o)
{
	if (o->fd < 0)
		return;
	if (o->hole && ftruncate(o->fd, (off_t)o->at))
		o->hole = false; /* can't extend the file; leave it short */
	close(o->fd);
	o->fd = -1;
}

bool core_out_waits(void)
{
	int64_t limit = 0;

	return setting_number("kernel/core_pipe_limit", &limit) && limit > 0;
}

void core_out_wait(struct core_out *o)
{
	while (o->program && waitpid(o->program, NULL, 0) < 0 && errno == EINTR)
		;
}
