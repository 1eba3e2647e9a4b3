// SPDX-License-Identifier: MIT
/*
 * Reads /proc into the ledger, in a thread of its own at low priority:
 *
 *	pass 1  names, start times, parents of all threads,
 *	        arguments, cgroup, namespaces of processes   ─▶ proc_scan_wait(all = false) returns
 *	pass 2  executable mappings                          ─▶ proc_scan_wait(all = true) returns
 *
 * Tasks that vanish during the scan or can't be read are skipped. Records tell of tasks that end or
 * start meanwhile. Reading the mappings of other users needs privileges.
 */
#include "recorder/ledger/proc_scan.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"
#include "recorder/base/log.h"
#include "recorder/ledger/proc_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NICE 5

struct found {
	uint32_t pid, ppid;
	bool wanted;
};

enum stage { SCAN_NAMES, SCAN_MAPS, SCAN_DONE };

struct proc_scan {
	struct ledger *ledger;
	uint32_t *targets; /* nr_targets 0: all processes */
	size_t nr_targets;
	int proc_fd;
	struct proc_file *file;
	struct buf found; /* struct found[], ascending by pid */

	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum stage stage; /* under lock */
	atomic_bool stop;
};

static bool stopped(const struct proc_scan *s)
{
	return s->stop;
}

static void set_stage(struct proc_scan *s, enum stage stage)
{
	pthread_mutex_lock(&s->lock);
	s->stage = stage;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- processes found ---- */

static struct found *found_of(const struct proc_scan *s, size_t *nr)
{
	*nr = s->found.len / sizeof(struct found);
	return (struct found *)s->found.p;
}

/* A directory name as a number; 0 when it is not one. */
static uint32_t number(const char *name)
{
	return isdigit((unsigned char)name[0]) ? strtoul(name, NULL, 10) : 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Lists all processes. */
static int list(struct proc_scan *s)
{
	int fd = openat(s->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t nr;

	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (!rc && (e = readdir(dir))) {
		struct found f = {.pid = number(e->d_name), .wanted = !s->nr_targets};

		if (f.pid)
			rc = buf_put(&s->found, &f, sizeof(f));
	}
	closedir(dir);
	found_of(s, &nr);
	if (nr)
		qsort(s->found.p, nr, sizeof(struct found), by_pid);
	return rc;
}

static struct found *find(const struct proc_scan *s, uint32_t pid)
{
	struct found key = {.pid = pid}, *v;
	size_t nr;

	v = found_of(s, &nr);
	return nr ? bsearch(&key, v, nr, sizeof(key), by_pid) : NULL;
}

/* Marks the targets and their descendants. */
static void choose(struct proc_scan *s)
{
	struct proc_file_stat st;
	struct found *v, *parent;
	bool more = true;
	size_t nr;

	v = found_of(s, &nr);
	for (size_t i = 0; i < nr && !stopped(s); i++) {
		if (proc_file_stat(s->file, v[i].pid, 0, &st))
			v[i].ppid = st.ppid;
		for (size_t k = 0; k < s->nr_targets; k++)
			v[i].wanted |= v[i].pid == s->targets[k];
	}
	while (more && !stopped(s)) {
		more = false;
		for (size_t i = 0; i < nr; i++) {
			parent = v[i].wanted ? NULL : find(s, v[i].ppid);
			if (parent && parent->wanted)
				more = v[i].wanted = true;
		}
	}
}

/* ---- pass 1 ---- */

static void scan_thread(struct proc_scan *s, uint32_t pid, uint32_t tid, uint32_t uid)
{
	uint64_t ns = clock_ns();
	struct proc_file_stat st;

	if (!proc_file_stat(s->file, pid, tid, &st) || st.gone)
		return;
	ledger_seen_task(s->ledger, ns,
			 &(struct ledger_seen_task){
				 .tid = tid,
				 .pid = pid,
				 .ppid = st.ppid,
				 .uid = uid,
				 .start_ns = st.start_ns,
				 .comm = st.comm,
			 });
}

static void scan_threads(struct proc_scan *s, uint32_t pid, uint32_t uid)
{
	DIR *dir = proc_file_tasks(s->file, pid);
	struct dirent *e;
	uint32_t tid;

	if (!dir)
		return;
	while (!stopped(s) && (e = readdir(dir))) {
		tid = number(e->d_name);
		if (tid && tid != pid)
			scan_thread(s, pid, tid, uid);
	}
	closedir(dir);
}

static void scan_names(struct proc_scan *s, uint32_t pid)
{
	struct ledger_seen_task seen = {.tid = pid, .pid = pid};
	uint64_t ns = clock_ns();
	struct proc_file_stat st;

	if (!proc_file_uid(s->file, pid, &seen.uid) || !proc_file_stat(s->file, pid, 0, &st) ||
	    st.gone)
		return;
	seen.ppid = st.ppid;
	seen.start_ns = st.start_ns;
	seen.comm = st.comm;
	if (!st.exited) { /* an exited leader has left its cgroup, its threads have not */
		seen.cmdline = proc_file_cmdline(s->file, pid, &seen.cmdline_bytes);
		seen.cgroup = proc_file_cgroup(s->file, pid);
		seen.namespaces = proc_file_namespaces(s->file, pid, &seen.nr_namespaces);
	}
	ledger_seen_task(s->ledger, ns, &seen);
	if (st.nr_threads > 1)
		scan_threads(s, pid, seen.uid);
}

/* ---- pass 2 ---- */

static void scan_maps(struct proc_scan *s, uint32_t pid)
{
	const struct ledger_seen_map *maps;
	uint64_t ns = clock_ns();
	size_t nr;

	if (proc_file_maps(s->file, pid, &maps, &nr))
		ledger_seen_maps(s->ledger, ns, pid, maps, nr);
}

static void *run(void *arg)
{
	struct proc_scan *s = arg;
	uint64_t began_ns = clock_ns();
	struct found *v;
	size_t nr;
	sigset_t all;
	int rc;

	/* The main loop reads signals from a signalfd. Block them all here: a reload can add a rule
	 * with a new signal, and its default action would end the process. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	/* Linux has a nice value per thread; this sets only ours. */
	setpriority(PRIO_PROCESS, gettid(), NICE);
	rc = list(s);
	if (rc)
		log_warn("can't list the processes in /proc: %s; those that were started before "
			 "have no names in dumps",
			 strerror(-rc));
	if (s->nr_targets)
		choose(s);
	/* Youngest first, roughly by pid: short-lived processes may exit soon. */
	v = found_of(s, &nr);
	for (size_t i = nr; i-- && !stopped(s);) {
		if (v[i].wanted)
			scan_names(s, v[i].pid);
	}
	if (!rc && !s->nr_targets && !stopped(s))
		ledger_seen_all(s->ledger, began_ns);
	set_stage(s, SCAN_MAPS);
	for (size_t i = nr; i-- && !stopped(s);) {
		if (v[i].wanted)
			scan_maps(s, v[i].pid);
	}
	set_stage(s, SCAN_DONE);
	return NULL;
}

/* ---- interface ---- */

static void init_lock(struct proc_scan *s)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static int copy_targets(struct proc_scan *s, const uint32_t *pids, size_t nr)
{
	if (!nr)
		return 0;
	s->targets = malloc(nr * sizeof(*pids));
	if (!s->targets)
		return -ENOMEM;
	memcpy(s->targets, pids, nr * sizeof(*pids));
	s->nr_targets = nr;
	return 0;
}

int proc_scan_start(struct ledger *l, const uint32_t *pids, size_t nr, struct proc_scan **out,
		    struct err *err)
{
	struct proc_scan *s = calloc(1, sizeof(*s));
	int rc = -ENOMEM;

	if (!s)
		return err_set(err, rc, "no memory for reading /proc");
	s->ledger = l;
	init_lock(s);
	s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->proc_fd < 0) {
		rc = err_sys(err, -errno, "cannot open /proc");
		err_hint(err, "mount -t proc proc /proc");
		goto fail;
	}
	rc = copy_targets(s, pids, nr);
	if (!rc)
		rc = proc_file_new(s->proc_fd, &s->file);
	if (rc) {
		err_set(err, rc, "no memory for reading /proc");
		goto fail;
	}
	rc = -pthread_create(&s->thread, NULL, run, s);
	if (rc) {
		err_sys(err, rc, "cannot start a thread to read /proc");
		goto fail;
	}
	s->started = true;
	*out = s;
	return 0;
fail:
	proc_scan_free(s);
	return rc;
}

void proc_scan_cgroups(struct ledger *l)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_file *file = NULL;
	struct buf list = {0};

	if (proc_fd < 0 || proc_file_new(proc_fd, &file) || ledger_living(l, &list))
		goto out;
	for (size_t i = 0; i < list.len / sizeof(struct ledger_thread); i++) {
		const struct ledger_thread *t = (struct ledger_thread *)list.p + i;
		uint64_t ns = clock_ns();

		if (t->guessed_cgroup)
			ledger_seen_cgroup(l, ns, t->pid, proc_file_cgroup(file, t->pid));
	}
out:
	buf_free(&list);
	proc_file_free(file);
	if (proc_fd >= 0)
		close(proc_fd);
}

bool proc_scan_wait(struct proc_scan *s, bool all, uint64_t timeout_ns)
{
	enum stage want = all ? SCAN_DONE : SCAN_MAPS;
	uint64_t now_ns = clock_ns(), until_ns = now_ns + timeout_ns;
	struct timespec until;
	bool done;

	if (until_ns < now_ns || until_ns > INT64_MAX)
		until_ns = INT64_MAX;
	until.tv_sec = until_ns / 1000000000u;
	until.tv_nsec = until_ns % 1000000000u;
	pthread_mutex_lock(&s->lock);
	while (s->stage < want &&
	       pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
		;
	done = s->stage >= want;
	pthread_mutex_unlock(&s->lock);
	return done;
}

void proc_scan_free(struct proc_scan *s)
{
	if (!s)
		return;
	s->stop = true;
	if (s->started)
		pthread_join(s->thread, NULL);
	proc_file_free(s->file);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	buf_free(&s->found);
	free(s->targets);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
