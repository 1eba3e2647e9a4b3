// SPDX-License-Identifier: MIT
/* Chooses the CPUs and tasks of a recording; see target.h. Called once at start by cmd_record.c. */
#include "recorder/capture/target.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_cpu(int **cpus, size_t *nr, int cpu)
{
	if (!array_room(*cpus, *nr))
		return -ENOMEM;
	(*cpus)[(*nr)++] = cpu;
	return 0;
}

int target_cpus(bool present, int **cpus, size_t *nr, struct err *err)
{
	const char *path =
		present ? "/sys/devices/system/cpu/present" : "/sys/devices/system/cpu/online";
	FILE *f = fopen(path, "re");
	int from, to, rc = 0;
	size_t n = 0;
	int *v = NULL;

	if (!f)
		return err_sys(err, -errno, "can't read %s", path);
	while (!rc && fscanf(f, "%d", &from) == 1) {
		int c = fgetc(f);

		to = from;
		if (c == '-') {
			if (fscanf(f, "%d", &to) != 1)
				break;
			c = fgetc(f);
		}
		for (int cpu = from; cpu <= to && !rc; cpu++)
			rc = add_cpu(&v, &n, cpu);
		if (c != ',')
			break;
	}
	fclose(f);
	if (!rc && !n)
		rc = -EIO;
	if (rc) {
		free(v);
		return err_sys(err, rc, "can't tell which CPUs there are (%s)", path);
	}
	*cpus = v;
	*nr = n;
	return 0;
}

static bool has_cpu(const int *cpus, size_t nr, int cpu)
{
	for (size_t i = 0; i < nr; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

bool target_wants_cpu(const struct target *t, int cpu)
{
	return t->follow_cpus || (!t->per_thread && has_cpu(t->cpus, t->nr_cpus, cpu));
}

bool target_is_tasks(const struct target *t)
{
	return !t->system && t->cgroup_fd < 0;
}

/* The CPUs of -C, which must be online, or all online ones (for tasks: all present ones). */
static int choose_cpus(const struct config *c, bool tasks, struct target *t, struct err *err)
{
	int *online = NULL;
	size_t nr = 0;
	int rc = target_cpus(tasks && !c->nr_cpus, &online, &nr, err);

	if (rc)
		return rc;
	if (!c->nr_cpus) {
		t->cpus = online;
		t->nr_cpus = nr;
		t->follow_cpus = true;
		return 0;
	}
	for (size_t i = 0; i < c->nr_cpus && !rc; i++) {
		if (!has_cpu(online, nr, c->cpus[i])) {
			rc = err_set(err, -ENODEV, "CPU %d is not online", c->cpus[i]);
			err_hint(err, "cat /sys/devices/system/cpu/online shows which are");
		} else if (add_cpu(&t->cpus, &t->nr_cpus, c->cpus[i])) {
			rc = err_set(err, -ENOMEM, "out of memory");
		}
	}
	free(online);
	return rc;
}

/* Adds a thread once: two events on a thread would record everything twice. */
static int add_tid(struct target *t, pid_t tid, struct err *err)
{
	for (size_t i = 0; i < t->nr_tids; i++)
		if (t->tids[i] == tid)
			return 0;
	if (!array_room(t->tids, t->nr_tids))
		return err_set(err, -ENOMEM, "out of memory");
	t->tids[t->nr_tids++] = tid;
	return 0;
}

static int add_pid(struct target *t, uint32_t pid, struct err *err)
{
	for (size_t i = 0; i < t->nr_pids; i++)
		if (t->pids[i] == pid)
			return 0;
	if (!array_room(t->pids, t->nr_pids))
		return err_set(err, -ENOMEM, "out of memory");
	t->pids[t->nr_pids++] = pid;
	return 0;
}

static int no_such(const char *what, uint32_t id, struct err *err)
{
	err_set(err, -ESRCH, "there is no %s %u", what, id);
	err_hint(err, "ps -eLf lists processes (PID) and threads (LWP)");
	return -ESRCH;
}

/* Adds the current threads of a process. */
static int add_threads(struct target *t, uint32_t pid, struct err *err)
{
	char path[64];
	struct dirent *e;
	bool any = false;
	int rc = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return no_such("process", pid, err);
	while (!rc && (e = readdir(d))) {
		char *end;
		long tid = strtol(e->d_name, &end, 10);

		if (tid <= 0 || *end)
			continue;
		any = true;
		rc = add_tid(t, (pid_t)tid, err);
	}
	closedir(d);
	return rc || any ? rc : no_such("process", pid, err);
}

/* Adds a process with all its threads; later threads inherit the events. */
static int add_process(struct target *t, uint32_t pid, struct err *err)
{
	int rc = add_threads(t, pid, err);

	if (!rc)
		rc = add_pid(t, pid, err);
	if (!rc)
		t->nr_whole = t->nr_pids;
	return rc;
}

int target_refresh(struct target *t, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr_whole && !rc; i++) {
		rc = add_threads(t, t->pids[i], err);
		if (rc == -ESRCH)
			rc = 0;
	}
	return rc;
}

/* The thread group of a thread, from /proc/TID/status; 0: no such thread. */
static uint32_t tgid_of(uint32_t tid)
{
	char path[64], line[128];
	unsigned tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &tgid) == 1)
			break;
	fclose(f);
	return tgid;
}

static int add_thread(struct target *t, uint32_t tid, struct err *err)
{
	uint32_t tgid = tgid_of(tid);
	int rc;

	if (!tgid)
		return no_such("thread", tid, err);
	rc = add_tid(t, (pid_t)tid, err);
	return rc ? rc : add_pid(t, tgid, err);
}

/* True when the perf_event controller belongs to a v1 hierarchy, mounted or not. */
static bool perf_event_is_v1(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[128];
	int hierarchy = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "perf_event %d", &hierarchy) == 1)
			break;
	if (f)
		fclose(f);
	return hierarchy != 0;
}

/*
 * Opens a cgroup's directory: `path` itself if it is a directory, else below the hierarchy that
 * perf uses: v1 perf_event if it is mounted, otherwise the unified one.
 */
static int open_cgroup(struct target *t, const char *path, const struct caps *caps, struct err *err)
{
	const char *mount = caps->cgroup_v1 ? caps->cgroup_v1_mount : caps->cgroup_v2_mount;
	char full[4096];

	if (!caps->cgroup_v1 && !caps->cgroup_v2) {
		err_set(err, -ENOENT, "no cgroup hierarchy that perf events can use is mounted");
		err_hint(err, "mount -t cgroup2 none /sys/fs/cgroup/unified (or cgroup v1 with -o "
			      "perf_event)");
		return -ENOENT;
	}
	if (!caps->cgroup_v1 && perf_event_is_v1()) {
		err_set(err, -ENOENT,
			"the perf_event controller belongs to a cgroup v1 hierarchy that is not "
			"mounted");
		err_hint(err, "mount -t cgroup -o perf_event none DIR, and give a path below DIR");
		return -ENOENT;
	}
	if (!strncmp(path, mount, strlen(mount)))
		snprintf(full, sizeof(full), "%s", path);
	else
		snprintf(full, sizeof(full), "%s/%s", mount, path + (*path == '/'));
	t->cgroup_fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->cgroup_fd < 0) {
		int rc = -errno;

		err_sys(err, rc, "can't open cgroup '%s' (looked for %s)", path, full);
		err_hint(err, "give a path below %s; systemd-cgls or ls %s shows them", mount,
			 mount);
		return rc;
	}
	return 0;
}

static bool has_pid(const struct target *t, uint32_t pid)
{
	for (size_t i = 0; i < t->nr_pids; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

/*
 * Warns about children that already run: they are processes of their own and are not recorded, as
 * with perf -p, but a server's master process often does no work itself.
 * /proc/PID/task/TID/children: proc(5).
 */
static void tell_of_children(const struct target *t)
{
	for (size_t i = 0; i < t->nr_tids; i++) {
		char path[64], list[120] = "";
		size_t n = 0, nr = 0;
		uint32_t child;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", t->tids[i], t->tids[i]);
		f = fopen(path, "re");
		while (f && fscanf(f, "%u", &child) == 1) {
			if (has_pid(t, child))
				continue;
			nr++;
			if (n < sizeof(list) - 12)
				n += (size_t)snprintf(list + n, sizeof(list) - n, ",%u", child);
		}
		if (f)
			fclose(f);
		if (nr)
			log_warn("process %d has %zu children that run already and are not "
				 "recorded; "
				 "to record them too: -p %d%s",
				 t->tids[i], nr, t->tids[i], list);
	}
}

static int need_perfmon(const struct caps *caps, const char *what, struct err *err)
{
	if (caps->system_wide)
		return 0;
	err_set(err, -EACCES,
		"recording %s needs root, CAP_PERFMON or kernel.perf_event_paranoid <= 0 (it is "
		"%d)",
		what, caps->paranoid);
	err_hint(
		err,
		"sudo ringback record ..., or sudo sysctl kernel.perf_event_paranoid=-1, or record "
		"your own: ringback record -- COMMAND");
	return -EACCES;
}

static void describe(struct target *t, const struct config *c, pid_t command)
{
	bool one = command || c->nr_tids + c->nr_pids == 1;
	size_t n;

	if (t->cgroup_fd >= 0)
		snprintf(t->text, sizeof(t->text), "cgroup %s", c->cgroup);
	else if (t->system && c->nr_cpus)
		snprintf(t->text, sizeof(t->text), "%zu listed CPU%s", c->nr_cpus,
			 str_plural(c->nr_cpus));
	else if (t->system)
		snprintf(t->text, sizeof(t->text), "all CPUs");
	else if (command)
		snprintf(t->text, sizeof(t->text), "command %s (process %d)", c->command[0],
			 command);
	else if (c->nr_tids == 1)
		snprintf(t->text, sizeof(t->text), "thread %u", c->tids[0]);
	else if (c->nr_tids)
		snprintf(t->text, sizeof(t->text), "%zu threads, first %u", t->nr_tids, c->tids[0]);
	else if (c->nr_pids == 1)
		snprintf(t->text, sizeof(t->text), "process %u", c->pids[0]);
	else
		snprintf(t->text, sizeof(t->text), "%zu processes, first %u", c->nr_pids,
			 c->pids[0]);
	n = strlen(t->text);
	if (!t->system && t->cgroup_fd < 0 && t->inherit)
		snprintf(t->text + n, sizeof(t->text) - n, " and what %s",
			 one ? "it starts" : "they start");
}

static int add_tasks(const struct config *c, pid_t command, struct target *t, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->nr_pids && !rc; i++)
		rc = add_process(t, c->pids[i], err);
	for (size_t i = 0; i < c->nr_tids && !rc; i++)
		rc = add_thread(t, c->tids[i], err);
	if (!rc && command)
		rc = add_process(t, (uint32_t)command, err);
	return rc;
}

int target_open(const struct config *c, const struct caps *caps, pid_t command_pid,
		struct target *out, struct err *err)
{
	struct target t = {.cgroup_fd = -1};
	bool tasks = c->nr_pids || c->nr_tids;
	int rc = 0;

	if (command_pid && !c->all_cpus && !c->nr_cpus && !c->cgroup && !tasks)
		tasks = true;
	else
		command_pid = 0;
	if (c->cgroup)
		rc = need_perfmon(caps, "a cgroup", err);
	else if (!tasks)
		rc = need_perfmon(caps, "the whole system", err);
	if (!rc && c->cgroup)
		rc = open_cgroup(&t, c->cgroup, caps, err);
	if (!rc)
		rc = choose_cpus(c, tasks, &t, err);
	if (!rc && tasks)
		rc = add_tasks(c, command_pid, &t, err);
	if (rc) {
		target_close(&t);
		return rc;
	}
	t.system = !tasks && !c->cgroup;
	t.inherit = tasks && !c->no_inherit;
	t.per_thread = tasks && !t.inherit && !c->nr_cpus;
	if (t.per_thread)
		t.follow_cpus = false;
	if (c->nr_pids)
		tell_of_children(&t);
	describe(&t, c, command_pid);
	*out = t;
	return 0;
}

void target_close(struct target *t)
{
	if (t->cgroup_fd >= 0)
		close(t->cgroup_fd);
	free(t->cpus);
	free(t->tids);
	free(t->pids);
	*t = (struct target){.cgroup_fd = -1};
}
