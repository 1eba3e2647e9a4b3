// SPDX-License-Identifier: MIT
/*
 * Source "psi:RESOURCE:some|full[:CGROUP]>STALL/WINDOW": tasks of the machine or of a cgroup were
 * stalled for lack of a resource for STALL within WINDOW. The kernel watches this itself: "some
 * 150000 1000000" written to the pressure file makes it a PSI trigger, which reports EPOLLPRI. So
 * nothing wakes the recorder before. The kernel reports at most once per window while the pressure
 * lasts; the first report is the hit.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/settings.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Windows that the kernel accepts; UNPRIVILEGED: the unit without CAP_SYS_RESOURCE. */
#define SHORTEST_WINDOW (500 * (int64_t)1000000)
#define LONGEST_WINDOW	(10 * (int64_t)TICK_NS)
#define UNPRIVILEGED	(2 * (int64_t)TICK_NS)

/* The parsed argument and threshold of the rule. */
struct psi_args {
	char resource[8]; /* "memory" */
	bool full;
	const char *cgroup; /* points into the rule's text; NULL: the machine */
	int64_t stall_ns, window_ns;
	char file[600]; /* "/proc/pressure/memory" */
};

struct source {
	int fd;
	struct pulse pulse;
	uint64_t told_ns; /* time of the kernel's report, until ready() handles it; 0: none */
	/*
	 * The total stall when the trigger was armed, and the stall needed since then. Without
	 * CAP_SYS_RESOURCE the kernel's first window starts at a total of 0 (psi_trigger_create()
	 * in kernel/sched/psi.c, seen on 6.18), so that the stall since boot counts as one
	 * window's.
	 */
	uint64_t armed_us, stall_us;
	bool proven; /* stall_us was reached since arming */
	bool gone;   /* the cgroup was removed */
	bool full;
	char of[16]; /* "memory:some" */
	char file[600];
	char cgroup[160]; /* "" for the machine */
	char threshold[32];
	bool stretched;	  /* to a window that the kernel accepts */
	char watched[48]; /* "300 ms/2 s" */
};

/* ---- the rule ---- */

static int parse_arg(const struct rule *r, struct psi_args *w, struct err *err)
{
	static const char *const resources[] = {"memory", "cpu", "io", "irq"};
	size_t n = strcspn(r->arg, ":"), m;
	const char *kind = r->arg + n + (r->arg[n] == ':');

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		if (n == strlen(resources[i]) && !strncmp(resources[i], r->arg, n))
			snprintf(w->resource, sizeof(w->resource), "%s", resources[i]);
	if (!*w->resource)
		return rule_err(r->text, r->arg_at, err,
				"expected memory, cpu, io or irq, found '%.*s'", (int)n, r->arg);
	m = strcspn(kind, ":");
	w->full = m == 4 && !strncmp(kind, "full", 4);
	if (!w->full && (m != 4 || strncmp(kind, "some", 4) != 0))
		return rule_err(r->text, r->arg_at + (size_t)(kind - r->arg), err,
				"expected some (at least one task stalls) or full (all do), found "
				"'%.*s'",
				(int)m, kind);
	if (kind[m] != ':')
		return 0;
	w->cgroup = kind + m + 1;
	if (!*w->cgroup)
		return rule_err(r->text, r->arg_at + (size_t)(w->cgroup - r->arg), err,
				"expected the path of a cgroup, such as /system.slice");
	return 0;
}

static int parse_threshold(const struct rule *r, struct psi_args *w, struct err *err)
{
	size_t window_at = r->threshold_at + strcspn(r->threshold, "/") + 1;
	char stall[32], size[32];
	int rc;

	w->window_ns = 0;
	rc = rule_check_per(r, stall, sizeof(stall), &w->window_ns, err);
	if (rc)
		return rc;
	if (str_time(stall, &w->stall_ns, NULL) || w->stall_ns < 1000)
		return rule_err(r->text, r->threshold_at, err,
				"expected a time of 1us or longer, such as 150ms, found '%s'",
				stall);
	if (w->window_ns < SHORTEST_WINDOW || w->window_ns > LONGEST_WINDOW)
		return rule_err(r->text, window_at, err,
				"the kernel watches windows of 500ms to 10s, not of %s",
				str_fmt_time(size, sizeof(size), w->window_ns));
	if (w->stall_ns > w->window_ns)
		return rule_err(r->text, r->threshold_at, err,
				"there is no more than %s in a window of %s, so the rule can't be "
				"met",
				r->threshold + (window_at - r->threshold_at),
				r->threshold + (window_at - r->threshold_at));
	return 0;
}

static int check(const struct rule *r, struct psi_args *w, struct err *err)
{
	static const char example[] = "psi:memory:some>150ms/1s";
	int rc = rule_check_value(r, "a resource", ">", example, err);

	if (!rc)
		rc = parse_arg(r, w, err);
	if (!rc)
		rc = parse_threshold(r, w, err);
	if (rc)
		return rc;
	if (r->hysteresis_percent >= 0)
		return rule_err(r->text, strcspn(r->text, ";"), err,
				"the kernel only reports that the pressure is above: hysteresis= "
				"does not apply");
	if (w->full && !w->cgroup && !strcmp(w->resource, "cpu"))
		return rule_err(
			r->text, r->arg_at, err,
			"cpu:full is never met for the whole machine: some task always runs; use "
			"some, or a cgroup");
	if (!w->full && !strcmp(w->resource, "irq"))
		return rule_err(r->text, r->arg_at, err,
				"interrupts stall every task: use irq:full");
	return 0;
}

/* ---- opening ---- */

static void pressure_file(struct psi_args *w, const struct source_env *env)
{
	const struct caps *caps = env ? env->caps : NULL;
	const char *mount = caps && caps->cgroup_v2 ? caps->cgroup_v2_mount : "/sys/fs/cgroup";
	size_t n = strlen(mount);
	const char *path = w->cgroup;

	if (!path) {
		snprintf(w->file, sizeof(w->file), "/proc/pressure/%s", w->resource);
		return;
	}
	if (!strncmp(path, mount, n) && (path[n] == '/' || !path[n]))
		path += n;
	snprintf(w->file, sizeof(w->file), "%s/%s/%s.pressure", mount, path + (*path == '/'),
		 w->resource);
}

static bool cgroup_is_there(const struct psi_args *w)
{
	char dir[600];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", w->file);
	slash = strrchr(dir, '/');
	*slash = '\0';
	return !access(dir, F_OK);
}

static int no_pressure_file(const struct rule *r, const struct psi_args *w, int rc, struct err *err)
{
	if (w->cgroup && rc == -ENOENT && !cgroup_is_there(w)) {
		rule_err(r->text, r->arg_at + (size_t)(w->cgroup - r->arg), err,
			 "there is no cgroup '%s' (looked for %s)", w->cgroup, w->file);
		return -ENOENT;
	}
	err_sys(err, rc, "can't watch pressure in %s", w->file);
	if (rc != -ENOENT && rc != -EOPNOTSUPP && rc != -ENOTDIR)
		return rc;
	if (!strcmp(w->resource, "irq"))
		err_hint(err, "it needs Linux 6.1 or newer, built with "
			      "CONFIG_IRQ_TIME_ACCOUNTING");
	else if (w->cgroup)
		err_hint(err, "cgroup v2 has it, on Linux 4.20 or newer with CONFIG_PSI, where the "
			      "cgroup's file cgroup.pressure does not say 0");
	else
		err_hint(err, "it needs CONFIG_PSI, and psi=1 on the kernel's command line where "
			      "that is not the default");
	return w->cgroup ? rc : -EOPNOTSUPP;
}

/* `text`: the trigger as written to the kernel. 0 or -errno. */
static int tell_kernel(const struct psi_args *w, int fd, char *text, size_t size)
{
	int n = snprintf(text, size, "%s %lld %lld", w->full ? "full" : "some",
			 (long long)(w->stall_ns / 1000), (long long)(w->window_ns / 1000));

	return write(fd, text, (size_t)n + 1) < 0 ? -errno : 0;
}

/* Without CAP_SYS_RESOURCE the kernel accepts only multiples of 2 s and checks every 2 s. Then this
 * arms the same share of a longer window. */
static int arm(struct psi_args *w, int fd, bool *stretched, struct err *err)
{
	char text[64];
	int rc = tell_kernel(w, fd, text, sizeof(text));

	if (rc == -EINVAL && w->window_ns % UNPRIVILEGED) {
		struct psi_args longer = *w;

		longer.window_ns = (w->window_ns / UNPRIVILEGED + 1) * UNPRIVILEGED;
		longer.stall_ns = (int64_t)((double)w->stall_ns * (double)longer.window_ns /
					    (double)w->window_ns);
		rc = tell_kernel(&longer, fd, text, sizeof(text));
		*stretched = !rc;
		if (!rc)
			*w = longer;
	}
	if (!rc)
		return 0;
	err_sys(err, rc, "the kernel refuses '%s' in %s", text, w->file);
	if (rc == -EINVAL || rc == -EPERM)
		err_hint(err, "it needs CAP_SYS_RESOURCE, or Linux 6.5 or newer and a window of "
			      "2s, 4s, ... 10s");
	return rc;
}

struct pressure {
	double avg10, avg60, avg300;
	unsigned long long total_us;
};

/* Reads our line: "some avg10=1.53 avg60=0.87 avg300=0.73 total=1828". */
static bool read_pressure(const struct source *s, struct pressure *p)
{
	char text[512], *line;
	ssize_t n = pread(s->fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, s->full ? "full " : "some ");
	return line && sscanf(line + 5, "avg10=%lf avg60=%lf avg300=%lf total=%llu", &p->avg10,
			      &p->avg60, &p->avg300, &p->total_us) == 4;
}

static void psi_close(struct source *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int psi_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct psi_args w = {.file = ""};
	char stall[20], window[20];
	struct pressure now;
	struct source *s;
	int rc = check(r, &w, err);

	if (rc)
		return rc;
	pressure_file(&w, env);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->full = w.full;
	snprintf(s->of, sizeof(s->of), "%s:%s", w.resource, w.full ? "full" : "some");
	snprintf(s->file, sizeof(s->file), "%s", w.file);
	snprintf(s->cgroup, sizeof(s->cgroup), "%s", w.cgroup ? w.cgroup : "");
	snprintf(s->threshold, sizeof(s->threshold), "%s", r->threshold);
	s->fd = open(w.file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	rc = s->fd < 0 ? no_pressure_file(r, &w, -errno, err) : arm(&w, s->fd, &s->stretched, err);
	if (rc) {
		psi_close(s);
		return rc;
	}
	s->stall_us = (uint64_t)w.stall_ns / 1000;
	if (read_pressure(s, &now))
		s->armed_us = now.total_us;
	str_fmt_time(stall, sizeof(stall), w.stall_ns);
	str_fmt_time(window, sizeof(window), w.window_ns);
	snprintf(s->watched, sizeof(s->watched), "%s/%s", stall, window);
	/* The kernel reports every window, or every second one if it checks slightly early. */
	s->pulse = (struct pulse){.gap_ns = 3 * (uint64_t)w.window_ns,
				  .for_ns = r->for_ns > 0 ? (uint64_t)r->for_ns : 0};
	*out = s;
	return 0;
}

static int psi_fd(const struct source *s, uint32_t *events)
{
	*events = EPOLLPRI;
	return s->fd;
}

/* ---- hits ---- */

static void psi_woken(struct source *s, uint32_t events)
{
	if (events & EPOLLERR)
		s->gone = true;
	else if (events & EPOLLPRI)
		s->told_ns = poll_timer_now();
}

static void add_averages(const struct source *s, struct sighting *what)
{
	struct pressure p;
	char total[32];

	if (!read_pressure(s, &p))
		return;
	sighting_add(what, "avg10=%.2f%%", p.avg10);
	sighting_add(what, "avg60=%.2f%%", p.avg60);
	sighting_add(what, "avg300=%.2f%%", p.avg300);
	sighting_add(
		what, "total=%s",
		str_fmt_time(total, sizeof(total), (int64_t)(p.total_us % (1ull << 53)) * 1000));
}

/* True if tasks have stalled long enough since arming. */
static bool is_true(struct source *s)
{
	struct pressure p;

	if (!s->proven && read_pressure(s, &p) && p.total_us - s->armed_us < s->stall_us)
		return false;
	s->proven = true;
	return true;
}

static int psi_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t ns = s->told_ns;
	char cgroup[160];

	if (s->gone)
		return err_set(err, -ENOENT, "%s is no longer there: the cgroup was removed",
			       s->file);
	if (!ns)
		return 0;
	s->told_ns = 0;
	if (!is_true(s))
		return 0;
	if (!pulse_feed(&s->pulse, ns))
		return 0;
	what->ns = ns;
	what->began_ns = s->pulse.for_ns ? s->pulse.began_ns : 0;
	sighting_add(what, "pressure=%s", s->of);
	/* The kernel reports no exact value. */
	sighting_add(what, "value=%s or more", s->watched);
	sighting_add(what, "threshold=%s", s->threshold);
	if (*s->cgroup)
		sighting_add(what, "cgroup=%s",
			     str_safe(cgroup, sizeof(cgroup), s->cgroup, strlen(s->cgroup)));
	add_averages(s, what);
	return 1;
}

static void psi_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "the kernel's own trigger on %.160s, %.40s%s",
		 s->file, s->watched,
		 s->stretched ? " (without CAP_SYS_RESOURCE: multiples of 2s only)" : "");
	snprintf(out->costs, sizeof(out->costs),
		 "nothing until it fires; while tasks stall, the kernel checks ten times in a "
		 "window");
}

static bool psi_trouble(const struct source *s, char *out, size_t n)
{
	if (s->stretched)
		snprintf(out, n,
			 "watched as %s: without CAP_SYS_RESOURCE the kernel takes windows "
			 "of 2s, 4s, ... 10s only",
			 s->watched);
	return s->stretched;
}

const struct source_ops source_psi = {
	.name = "psi",
	.syntax = "psi:RESOURCE:some|full[:CGROUP]>STALL/WINDOW",
	.help = "tasks were stalled for so long for want of memory, cpu, io or by irq",
	.example = "psi:memory:some>150ms/1s",
	.capability = CAP_SYS_RESOURCE,
	.open = psi_open,
	.fd = psi_fd,
	.woken = psi_woken,
	.ready = psi_ready,
	.plan = psi_plan,
	.trouble = psi_trouble,
	.close = psi_close,
};
