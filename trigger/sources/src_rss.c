// SPDX-License-Identifier: MIT
/*
 * Source "rss:PID>SIZE": the memory that a process has in use. Looked at each second near the
 * threshold, less often far from it. When the process ends, the rule is over.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/process.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_TICK 10 /* s */

struct source {
	struct process process;
	int fd; /* its statm */
	struct poll_timer tick;
	struct threshold level;
	double fastest; /* bytes a second that it can be expected to grow by */
	char threshold[32];
};

static double memory(void)
{
	return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* 0 or -errno; 0 bytes of a process without memory. */
static int read_rss(const struct source *s, double *bytes)
{
	unsigned long size, resident;
	char text[128];
	ssize_t n = pread(s->fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (sscanf(text, "%lu %lu", &size, &resident) != 2)
		return -EPROTO;
	*bytes = size ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
	return 0;
}

static int check(const struct rule *r, double *threshold, struct err *err)
{
	char size[32];
	int rc = rule_check_arg(r, "the pid of a process", "rss:812>2G", err);

	if (!rc)
		rc = rule_check_op(r, "><", "rss:812>2G", err);
	if (!rc)
		rc = rule_check_no_call(r, err);
	if (!rc)
		rc = rule_check_size(r, memory(), threshold, err);
	if (rc)
		return rc;
	value_fmt_size(size, sizeof(size), memory());
	if (r->op == RULE_OP_ABOVE && *threshold >= memory())
		return rule_err(r->text, r->threshold_at, err,
				"this machine has %s of memory, so the rule can't be met", size);
	if (r->op == RULE_OP_BELOW && *threshold <= 0)
		return rule_err(r->text, r->threshold_at, err,
				"nothing is below %s, so the rule can't be met", r->threshold);
	return 0;
}

static void rss_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	process_close(&s->process);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int open_files(struct source *s, const struct rule *r, const struct source_env *env,
		      struct err *err)
{
	double bytes;
	int rc = process_open(r, env, &s->process, err);

	if (rc)
		return rc;
	s->fd = process_file(&s->process, "statm");
	if (s->fd < 0)
		return err_sys(err, s->fd, "can't open /proc/%d/statm", s->process.pid);
	rc = read_rss(s, &bytes);
	if (rc)
		return err_sys(err, rc, "can't read /proc/%d/statm", s->process.pid);
	if (!bytes)
		return rule_err(r->text, r->arg_at, err,
				"process %d (%s) is a thread of the kernel and has no memory of "
				"its own",
				s->process.pid, s->process.comm);
	return poll_timer_open(&s->tick, err);
}

static int rss_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct source *s;
	double threshold = 0;
	int rc = check(r, &threshold, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->fd = s->tick.fd = s->process.pidfd = s->process.dir_fd = -1;
	s->fastest = memory() / 10;
	threshold_init(&s->level, r, threshold, memory());
	snprintf(s->threshold, sizeof(s->threshold), "%s", r->threshold);
	rc = open_files(s, r, env, err);
	if (rc) {
		rss_close(s);
		return rc;
	}
	poll_timer_in(&s->tick, poll_timer_now(), 1);
	*out = s;
	return 0;
}

static int rss_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

static int rss_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now();
	char size[32];
	double bytes;
	bool hit;
	int rc;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	rc = read_rss(s, &bytes);
	if (rc == -ESRCH || process_ended(&s->process))
		return process_gone(&s->process, err);
	if (rc)
		return err_sys(err, rc, "can't read /proc/%d/statm", s->process.pid);
	hit = threshold_feed(&s->level, bytes, now);
	poll_timer_in(
		&s->tick, now,
		poll_timer_seconds(threshold_distance(&s->level, bytes), s->fastest, LONGEST_TICK));
	if (!hit)
		return 0;
	what->ns = now;
	what->began_ns = s->level.for_ns ? s->level.began_ns : 0;
	sighting_add(what, "value=%s", value_fmt_size(size, sizeof(size), bytes));
	sighting_add(what, "threshold=%s", s->threshold);
	process_who(&s->process, what);
	return 1;
}

static void rss_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "the resident memory of process %d (%s)",
		 s->process.pid, s->process.comm);
	snprintf(out->costs, sizeof(out->costs),
		 "a look each second near the threshold, each %d s far from it, together with "
		 "other rules that look",
		 LONGEST_TICK);
}

const struct source_ops source_rss = {
	.name = "rss",
	.syntax = "rss:PID>SIZE",
	.help = "a process has more (or less) memory in use than this",
	.example = "rss:812>2G",
	.open = rss_open,
	.fd = rss_fd,
	.ready = rss_ready,
	.plan = rss_plan,
	.close = rss_close,
};
