// SPDX-License-Identifier: MIT
/* Reads /proc of a crashed process; see core_process.h. Called by core_work.c. */
#include "recorder/coredump/core_process.h"

#include "trigger/kernel/clock.h"
#include "trigger/kernel/settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS_BYTES 65536

/* ---- files of /proc ---- */

static char *read_text(int dir, const char *name)
{
	char *text = calloc(1, STATUS_BYTES);
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	while (text && fd >= 0 && n > 0 && len < STATUS_BYTES - 1) {
		n = read(fd, text + len, STATUS_BYTES - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!len) {
		free(text);
		return NULL;
	}
	return text;
}

/* The text after "NAME:\t"; NULL: no such line. */
static const char *line_of(const char *status, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = status; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, n) && p[n] == ':')
			return p + n + 1 + strspn(p + n + 1, " \t");
		if (!*p)
			break;
	}
	return NULL;
}

/* Number `i` (from 0) in a line, or the last one if it has fewer. */
static uint64_t number_of(const char *line, unsigned i, int base)
{
	uint64_t v = 0;
	char *end;

	for (const char *p = line; p; p = end) {
		uint64_t next = strtoull(p, &end, base);

		if (end == p)
			break;
		v = next;
		end += strspn(end, " \t");
		if (!i-- || *end == '\n' || !*end)
			break;
	}
	return v;
}

static ino_t ns_of(const struct core_process *v, const char *name)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "ns/%s", name);
	return fstatat(v->proc_fd, path, &st, 0) ? 0 : st.st_ino;
}

/* ---- names ---- */

/* Gets the host name of the process; joins its UTS namespace for that. */
static void take_host(struct core_process *v)
{
	int fd = openat(v->proc_fd, "ns/uts", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (ns_of(v, "uts") != setting_ns("uts"))
			setns(fd, CLONE_NEWUTS);
		close(fd);
	}
	gethostname(v->names.host, sizeof(v->names.host) - 1);
}

static void take_exe(struct core_process *v)
{
	ssize_t n = readlinkat(v->proc_fd, "exe", v->names.exe, sizeof(v->names.exe) - 1);

	v->names.exe[n > 0 ? n : 0] = '\0';
}

/* The soft limit in a line of "limits". 0 when the line is missing: rather no core than one too
 * many. */
static uint64_t limit_of(const char *limits, const char *name)
{
	const char *p = limits ? strstr(limits, name) : NULL;

	if (!p)
		return 0;
	p += strlen(name);
	p += strspn(p, " ");
	return strncmp(p, "unlimited", 9) ? strtoull(p, NULL, 10) : UINT64_MAX;
}

/* Parsed from text, since prlimit() requires CAP_SYS_RESOURCE for processes of other users. */
static void take_limits(struct core_process *v)
{
	char *limits = read_text(v->proc_fd, "limits");

	v->names.core_limit = limit_of(limits, "\nMax core file size");
	v->file_limit = limit_of(limits, "\nMax file size");
	free(limits);
}

/* ---- its threads ---- */

static int add_tid(struct core_process *v, const char *name)
{
	char path[280], *status;
	const char *line;
	pid_t pair[2] = {0, (pid_t)strtol(name, NULL, 10)};
	int rc = 0;

	snprintf(path, sizeof(path), "task/%s/status", name);
	status = read_text(v->proc_fd, path);
	line = status ? line_of(status, "NSpid") : NULL;
	if (line) {
		pair[0] = (pid_t)number_of(line, 64, 10);
		rc = buf_put(&v->tids, pair, sizeof(pair));
	}
	free(status);
	return rc;
}

/* Thread ids differ from ours only in another pid namespace. */
static int list_tids(struct core_process *v)
{
	const struct dirent *e;
	DIR *dir;
	int fd, rc = 0;

	if (ns_of(v, "pid") == setting_ns("pid"))
		return 0;
	fd = openat(v->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ESRCH;
	}
	while (!rc && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			rc = add_tid(v, e->d_name);
	closedir(dir);
	return rc;
}

pid_t core_process_tid(const struct core_process *v, pid_t own_tid)
{
	pid_t pair[2];

	if (!v->tids.len)
		return own_tid;
	for (size_t i = 0; i < v->tids.len; i += sizeof(pair)) {
		memcpy(pair, v->tids.p + i, sizeof(pair));
		if (pair[0] == own_tid)
			return pair[1];
	}
	return 0;
}

/* ---- permissions ---- */

static int take_groups(struct core_process *v, const char *line)
{
	char *end;
	int rc = 0;

	for (const char *p = line; p && !rc; p = end) {
		gid_t gid = (gid_t)strtoul(p, &end, 10);

		if (end == p || memchr(p, '\n', (size_t)(end - p)))
			break;
		rc = buf_put(&v->groups, &gid, sizeof(gid));
		end += strspn(end, " \t");
		if (*end == '\n')
			break;
	}
	return rc;
}

/* Capabilities from another user namespace do not count. */
static int take_rights(struct core_process *v, const char *status)
{
	const char *uid = line_of(status, "Uid"), *gid = line_of(status, "Gid");

	if (!uid || !gid)
		return -ESRCH;
	v->names.uid = (uint32_t)number_of(uid, 0, 10);
	v->names.gid = (uint32_t)number_of(gid, 0, 10);
	v->fsuid = (uint32_t)number_of(uid, 3, 10);
	v->fsgid = (uint32_t)number_of(gid, 3, 10);
	if (ns_of(v, "user") == setting_ns("user"))
		v->caps = number_of(line_of(status, "CapEff"), 0, 16);
	return take_groups(v, line_of(status, "Groups"));
}

static void take_comm(struct core_process *v, const char *path)
{
	char *text = read_text(v->proc_fd, path);

	if (!text)
		return;
	text[strcspn(text, "\n")] = '\0';
	snprintf(v->names.comm, sizeof(v->names.comm), "%.15s", text);
	free(text);
}

/* The last CPU: field 39 of stat, counted from the end of the name, which may contain anything. */
static void take_cpu(struct core_process *v, const char *path)
{
	char *text = read_text(v->proc_fd, path), *p = text ? strrchr(text, ')') : NULL;

	for (int i = 2; p && i < 39; i++)
		p = strchr(p + 1, ' ');
	if (p)
		v->names.cpu = atoi(p + 1);
	free(text);
}

static int open_of(const struct core_process *v, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", (int)v->names.tid, name);
	return openat(v->proc_fd, path, flags | O_CLOEXEC);
}

int core_process_thread(struct core_process *v, pid_t own_tid)
{
	bool has_cpu = v->names.tid != 0;
	char path[64], *status;
	int rc = list_tids(v);

	v->names.own_tid = own_tid;
	v->names.tid = core_process_tid(v, own_tid);
	snprintf(path, sizeof(path), "task/%d/status", (int)v->names.tid);
	if (rc || !v->names.tid || faccessat(v->proc_fd, path, F_OK, 0)) {
		v->names.tid = v->names.pid;
		snprintf(path, sizeof(path), "task/%d/status", (int)v->names.pid);
	}
	status = read_text(v->proc_fd, path);
	if (!status)
		return -ESRCH;
	rc = take_rights(v, status);
	free(status);
	snprintf(path, sizeof(path), "task/%d/comm", (int)v->names.tid);
	take_comm(v, path);
	snprintf(path, sizeof(path), "task/%d/stat", (int)v->names.tid);
	if (!has_cpu)
		take_cpu(v, path);
	v->root_fd = open_of(v, "root", O_PATH | O_DIRECTORY);
	v->cwd_fd = open_of(v, "cwd", O_PATH | O_DIRECTORY);
	v->mem_fd = open_of(v, "mem", O_RDONLY);
	return rc;
}

/* ---- all ---- */

int core_process_open(struct core_process *v, int pidfd, const struct core_names *names)
{
	char path[32], *status;
	const char *line;

	*v = (struct core_process){.names = *names,
				   .pidfd = pidfd,
				   .proc_fd = -1,
				   .root_fd = -1,
				   .cwd_fd = -1,
				   .mem_fd = -1};
	v->names.real_s = (int64_t)(clock_of(CLOCK_REALTIME) / 1000000000u);
	snprintf(path, sizeof(path), "/proc/%d", (int)names->pid);
	v->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* If the process still exists, the directory that was opened is the right one. */
	if (v->proc_fd < 0 || syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		return -ESRCH;
	status = read_text(v->proc_fd, "status");
	line = status ? line_of(status, "NSpid") : NULL;
	v->names.own_pid = line ? (pid_t)number_of(line, 64, 10) : v->names.pid;
	free(status);
	take_exe(v);
	take_limits(v);
	take_host(v);
	return 0;
}

void core_process_close(struct core_process *v)
{
	const int fds[] = {v->pidfd, v->proc_fd, v->root_fd, v->cwd_fd, v->mem_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_free(&v->groups);
	buf_free(&v->tids);
}
