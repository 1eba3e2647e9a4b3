// SPDX-License-Identifier: MIT
/*
 * Source "watch:PATH:SYMBOL": a function is executed or a variable written, detected by hardware
 * breakpoints. A CPU has only a few (four on x86-64). The program itself is not modified.
 *
 * A breakpoint is at an address of one process. So each process that maps the file gets its own,
 * for all of its threads; forked processes inherit it. At the start, /proc shows these processes.
 * Later, a tap on sched:sched_process_exec reports new ones; its filter passes only programs of
 * that name.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"
#include "trigger/events/wakeup_ring.h"
#include "trigger/kernel/breakpoint.h"
#include "trigger/kernel/memory_reader.h"
#include "trigger/sources/threads.h"
#include "trigger/sources/watch_place.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MAX_WATCHED 64
#define RING_BYTES  8192

struct watched {
	pid_t pid;
	uint64_t addr;
	struct event event;
	struct wakeup_ring *tap;
	uint64_t value; /* as of the last read */
	bool has_value;
};

struct source {
	struct watch_place place;
	const struct rule *rule;
	const struct source_env *env;
	char *name; /* the event's name */
	struct watched *v[MAX_WATCHED];
	size_t nr;
	int epoll_fd;
	struct event_list exec_event;
	struct wakeup_ring *exec;     /* NULL: one process only */
	struct memory_reader *reader; /* NULL: no values, a function is watched */
	uint64_t nr_unwatched;
	char why[200]; /* why the last of these was not watched */
};

/* ---- processes ---- */

static void unwatch(struct source *s, size_t i)
{
	struct watched *w = s->v[i];

	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, wakeup_ring_fd(w->tap), NULL);
	wakeup_ring_close(w->tap);
	free(w);
	s->v[i] = s->v[--s->nr];
}

static int open_tap(const struct source *s, struct watched *w, struct err *err)
{
	struct wakeup_ring_options o = {
		.event = &w->event,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,
		.ring_bytes = RING_BYTES,
		.inherit = true,
	};
	pid_t *tids;
	int rc;

	wakeup_ring_set_stack(&o, s->rule);
	o.ring_bytes += 2ull * o.stack_bytes; /* small: each process has its own rings */
	rc = threads_list(w->pid, &tids, &o.nr_tids, err);

	if (rc)
		return rc;
	o.tids = tids;
	rc = wakeup_ring_open(&o, s->env, &w->tap, err);
	if (rc == -EINVAL && w->event.attr.remove_on_exec) {
		/* Before Linux 5.13 the breakpoint stays after exec; see is_ours(). */
		w->event.attr.remove_on_exec = 0;
		rc = wakeup_ring_open(&o, s->env, &w->tap, err);
	}
	free(tids);
	return rc;
}

static bool read_value(const struct source *s, pid_t pid, uint64_t addr, uint64_t *out)
{
	uint64_t v = 0;

	if (!s->reader || !memory_reader_read(s->reader, pid, addr, &v, s->place.bytes))
		return false;
	*out = v;
	return true;
}

/* Sets breakpoints at `addr` in all threads of a process. */
static int watch_process(struct source *s, pid_t pid, uint64_t addr, struct err *err)
{
	const struct caps *caps = s->env ? s->env->caps : NULL;
	struct watched *w;
	int rc;

	if (s->nr == MAX_WATCHED)
		return err_set(err, -ENOSPC, "%d processes have it, and more are not watched",
			       MAX_WATCHED);
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	w->pid = pid;
	w->addr = addr;
	w->event = (struct event){.kind = EVENT_PMU, .name = s->name};
	watch_place_attr(&s->place, addr, &w->event.attr);
	w->event.attr.remove_on_exec = 1;
	w->event.attr.exclude_kernel = caps && !caps->kernel_samples;
	w->has_value = read_value(s, pid, addr, &w->value);
	rc = open_tap(s, w, err);
	if (!rc) {
		rc = source_wait(&s->epoll_fd, wakeup_ring_fd(w->tap), s->name, err);
		if (rc)
			wakeup_ring_close(w->tap);
	}
	if (rc)
		free(w);
	else
		s->v[s->nr++] = w;
	return rc;
}

static void note_unwatched(struct source *s, const struct err *err)
{
	s->nr_unwatched++;
	snprintf(s->why, sizeof(s->why), "%.199s", err->what);
}

/* Handles the start of a program; ignores one that has already ended (-ESRCH). */
static void look_at(struct source *s, pid_t pid)
{
	struct err err = ERR_INIT;
	uint64_t addr;
	int rc;

	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i]->pid == pid && !wakeup_ring_ended(s->v[i]->tap))
			return;
	if (!watch_place_in(&s->place, pid, &addr))
		return;
	rc = watch_process(s, pid, addr, &err);
	if (rc && rc != -ESRCH)
		note_unwatched(s, &err);
}

/* Watches all processes that map the file now. If none can be watched, returns the first error. */
static int look_at_all(struct source *s, struct err *err)
{
	const struct dirent *e;
	DIR *proc = opendir("/proc");
	int first = 0;

	if (!proc)
		return err_sys(err, -errno, "can't read /proc");
	while ((e = readdir(proc))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		struct err why = ERR_INIT;
		uint64_t addr;
		int rc;

		if (pid <= 0 || pid == getpid() || memory_reader_is(pid) ||
		    !watch_place_in(&s->place, pid, &addr))
			continue;
		rc = watch_process(s, pid, addr, &why);
		if (!rc || rc == -ESRCH)
			continue;
		note_unwatched(s, &why);
		if (!first) {
			first = rc;
			if (err)
				*err = why;
		}
	}
	closedir(proc);
	return s->nr ? 0 : first;
}

/* ---- started programs ---- */

/* Writes "filename ~ "*NAME"" for the name as given and the one after symlinks are resolved. */
static int exec_filter(const struct source *s, char *out, size_t n, struct err *err)
{
	const char *real = strrchr(s->place.path, '/') + 1, *given = strrchr(s->place.given, '/');

	given = given ? given + 1 : s->place.given;
	if (strpbrk(real, "\"\\*?[]") || strpbrk(given, "\"\\*?[]"))
		return err_set(err, -EINVAL, "the kernel can't be asked for a program named %s",
			       real);
	if (strcmp(real, given) != 0)
		snprintf(out, n,
			 "sched:sched_process_exec[filename ~ \"*%s\" || filename ~ \"*%s\"]", real,
			 given);
	else
		snprintf(out, n, "sched:sched_process_exec[filename ~ \"*%s\"]", real);
	return 0;
}

static int watch_execs(struct source *s, struct err *err)
{
	struct wakeup_ring_options o = {.ring_bytes = RING_BYTES};
	char text[2 * NAME_MAX + 100];
	int rc = exec_filter(s, text, sizeof(text), err);

	if (!rc)
		rc = event_parse(text, s->env ? s->env->caps : NULL, &s->exec_event, err);
	if (rc)
		return rc;
	o.event = s->exec_event.v[0];
	rc = wakeup_ring_open(&o, s->env, &s->exec, err);
	return rc ? rc : source_wait(&s->epoll_fd, wakeup_ring_fd(s->exec), s->name, err);
}

/* ---- opening ---- */

static void watch_close(struct source *s)
{
	if (!s)
		return;
	while (s->nr)
		unwatch(s, s->nr - 1);
	wakeup_ring_close(s->exec);
	memory_reader_close(s->reader);
	event_list_free(&s->exec_event);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	watch_place_fini(&s->place);
	free(s->name);
	free(s);
}

static int check(const struct rule *r, struct err *err)
{
	int rc = rule_check_arg(r, "a file, ':' and a function or variable",
				"watch:/usr/sbin/nginx:main", err);

	if (!rc)
		rc = rule_check_no_op(r, err);
	if (!rc)
		rc = rule_check_moment(r, "an access", err);
	return rc;
}

static int watch_one(struct source *s, const struct rule *r, struct err *err)
{
	uint64_t addr;

	if (!watch_place_in(&s->place, s->place.pid, &addr))
		return rule_err(r->text, r->arg_at, err, "no permission to trace process %d",
				(int)s->place.pid);
	return watch_process(s, s->place.pid, addr, err);
}

/* A library is only found in processes that already map it: exec names programs only. */
static int check_library(const struct source *s, struct err *err)
{
	if (s->nr || !strstr(s->place.path, ".so"))
		return 0;
	err_set(err, -ESRCH, "no process has %s mapped, and those that load it later are not seen",
		s->place.path);
	err_hint(err,
		 "start the program first, or wait for calls of a library's function in all "
		 "processes with uprobe:%s",
		 s->place.what);
	return -ESRCH;
}

static int open_all(struct source *s, const struct rule *r, struct err *err)
{
	int rc;

	if (asprintf(&s->name, "watch:%s", s->place.what) < 0) {
		s->name = NULL;
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	if (s->place.pid)
		return watch_one(s, r, err);
	rc = watch_execs(s, err);
	if (!rc)
		rc = look_at_all(s, err);
	return rc ? rc : check_library(s, err);
}

static int watch_open(const struct rule *r, const struct source_env *env, struct source **out,
		      struct err *err)
{
	struct source *s;
	int rc = check(r, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->rule = r;
	s->env = env;
	s->epoll_fd = -1;
	rc = watch_place_parse(r, &s->place, err);
	if (!rc)
		rc = breakpoint_check(err);
	if (!rc && !s->place.code)
		rc = memory_reader_open(&s->reader, err);
	if (!rc)
		rc = open_all(s, r, err);
	if (rc)
		watch_close(s);
	else
		*out = s;
	return rc;
}

static int watch_fd(const struct source *s, uint32_t *events)
{
	return s->epoll_fd;
}

/* ---- hits ---- */

/* Reads the value now, after the access; the thread runs on and may have changed it again. */
static void add_values(const struct source *s, struct watched *w, struct sighting *what)
{
	uint64_t now;

	if (s->place.code)
		return;
	if (w->has_value)
		sighting_add(what, "old=%" PRIu64 " (%#" PRIx64 ")", w->value, w->value);
	w->has_value = read_value(s, (pid_t)what->pid, w->addr, &now);
	if (!w->has_value)
		return;
	sighting_add(what, "new=%" PRIu64 " (%#" PRIx64 ")", now, now);
	w->value = now;
}

static void tell(const struct source *s, struct watched *w, const struct wakeup_ring_sample *sample,
		 struct sighting *what)
{
	wakeup_ring_sighting(w->tap, sample, what);
	sighting_add(what, "watch=%s", s->place.what);
	sighting_add(what, "access=%s",
		     s->place.code	? "executed"
		     : s->place.reading ? "read or written"
					: "written");
	sighting_add(what, "address=%#" PRIx64, w->addr);
	if (!s->place.code)
		sighting_add(what, "ip=%#" PRIx64, sample->ip);
	add_values(s, w, what);
}

/* Before Linux 5.13 the breakpoint remains after exec, in a program it was not set for. */
static bool is_ours(const struct source *s, const struct watched *w,
		    const struct wakeup_ring_sample *h)
{
	uint64_t addr;

	return w->event.attr.remove_on_exec || !s->place.path ||
	       (watch_place_in(&s->place, (pid_t)h->pid, &addr) && addr == w->addr);
}

/* 1: a hit in *what; 0: none; or -errno. */
static int ask_one(struct source *s, struct watched *w, struct sighting *what, struct err *err)
{
	struct wakeup_ring_sample sample;
	int rc;

	while ((rc = wakeup_ring_next(w->tap, &sample, err)) == 1)
		if (is_ours(s, w, &sample)) {
			tell(s, w, &sample, what);
			return 1;
		}
	if (!rc)
		what->nr_hits = (uint32_t)wakeup_ring_take_lost(w->tap);
	return rc ? rc : what->nr_hits > 0;
}

static int ask_execs(struct source *s, struct err *err)
{
	struct wakeup_ring_sample sample;
	int rc = 0;

	while (s->exec && (rc = wakeup_ring_next(s->exec, &sample, err)) == 1)
		look_at(s, (pid_t)sample.pid);
	return rc;
}

static int over(const struct source *s, struct err *err)
{
	err_set(err, -ESRCH, "process %d has ended", (int)s->place.pid);
	err_hint(err, "to watch a program across restarts, name its file: watch:PATH:SYMBOL");
	return -ESRCH;
}

static int watch_ready(struct source *s, struct sighting *what, struct err *err)
{
	int rc = ask_execs(s, err);

	for (size_t i = 0; i < s->nr && !rc;) {
		rc = ask_one(s, s->v[i], what, err);
		if (!rc && wakeup_ring_ended(s->v[i]->tap))
			unwatch(s, i);
		else
			i++;
	}
	return !rc && s->place.pid && !s->nr ? over(s, err) : rc;
}

static uint64_t watch_skip(struct source *s)
{
	uint64_t nr = 0;

	ask_execs(s, NULL);
	for (size_t i = 0; i < s->nr; i++)
		nr += wakeup_ring_skip(s->v[i]->tap);
	return nr;
}

static int watch_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	int rc = s->exec ? wakeup_ring_cpu(s->exec, cpu, online, err) : 0;

	for (size_t i = 0; i < s->nr && !rc; i++)
		rc = wakeup_ring_cpu(s->v[i]->tap, cpu, online, err);
	return rc;
}

static void watch_plan(const struct source *s, struct source_plan *out)
{
	int n = snprintf(out->watches, sizeof(out->watches), "%s, ", s->place.what);

	if (s->place.code)
		n += snprintf(out->watches + n, sizeof(out->watches) - (size_t)n, "executed");
	else
		n += snprintf(out->watches + n, sizeof(out->watches) - (size_t)n, "%u byte%s %s",
			      s->place.bytes, str_plural(s->place.bytes),
			      s->place.reading ? "read or written" : "written");
	if (s->place.whole_bytes > s->place.bytes)
		n += snprintf(out->watches + n, sizeof(out->watches) - (size_t)n,
			      " (of %" PRIu64 ")", s->place.whole_bytes);
	snprintf(out->watches + n, sizeof(out->watches) - (size_t)n, ", in %zu process%s%s", s->nr,
		 s->nr == 1 ? "" : "es", s->exec ? " and those that are started" : "");
	snprintf(out->costs, sizeof(out->costs),
		 "one of the few hardware breakpoints of each CPU while these run; nothing until "
		 "it is met");
}

static bool watch_trouble(const struct source *s, char *out, size_t n)
{
	if (!s->nr_unwatched && !memory_reader_hangs(s->reader))
		return false;
	if (!s->nr_unwatched)
		snprintf(out, n, "values are no longer read: memory of a process did not answer");
	else
		snprintf(out, n, "%" PRIu64 " process%s not watched: %s", s->nr_unwatched,
			 s->nr_unwatched == 1 ? "" : "es", s->why);
	return true;
}

const struct source_ops source_watch = {
	.name = "watch",
	.stacks = true,
	.syntax = "watch:PATH:SYMBOL[:MODE]",
	.help = "a function is executed, or a variable written, seen by hardware breakpoints",
	.example = "watch:/usr/sbin/nginx:ngx_quit",
	.in_file = true,
	.open = watch_open,
	.fd = watch_fd,
	.ready = watch_ready,
	.skip = watch_skip,
	.cpu = watch_cpu,
	.plan = watch_plan,
	.trouble = watch_trouble,
	.close = watch_close,
};
