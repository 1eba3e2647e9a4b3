// SPDX-License-Identifier: MIT
/*
 * Source "load>N": the load average over a minute. The kernel renews it each 5 s, so that is how
 * often it is looked at.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RENEWED_S 5

struct source {
	int fd; /* /proc/loadavg */
	struct poll_timer tick;
	struct threshold level;
};

static void load_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int check(const struct rule *r, double *threshold, struct err *err)
{
	int rc = rule_check_no_arg(r, "load>16", err);

	if (!rc)
		rc = rule_check_op(r, "><", "load>16", err);
	if (!rc)
		rc = rule_check_no_call(r, err);
	if (!rc)
		rc = rule_check_number(r, threshold, err);
	if (!rc && r->op == RULE_OP_BELOW && *threshold <= 0)
		rc = rule_err(r->text, r->threshold_at, err,
			      "the load is never below %s, so the rule can't be met", r->threshold);
	return rc;
}

static int load_open(const struct rule *r, const struct source_env *env, struct source **out,
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
	threshold_init(&s->level, r, threshold, 0);
	s->tick.fd = -1;
	s->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	rc = s->fd < 0 ? err_sys(err, -errno, "can't open /proc/loadavg")
		       : poll_timer_open(&s->tick, err);
	if (rc) {
		load_close(s);
		return rc;
	}
	poll_timer_in(&s->tick, poll_timer_now(), 1);
	*out = s;
	return 0;
}

static int load_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

static int load_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now();
	double one, five, fifteen;
	unsigned running, tasks;
	char text[128];
	ssize_t n;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	poll_timer_in(&s->tick, now, RENEWED_S);
	n = pread(s->fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return err_sys(err, -errno, "can't read /proc/loadavg");
	text[n] = '\0';
	if (sscanf(text, "%lf %lf %lf %u/%u", &one, &five, &fifteen, &running, &tasks) != 5)
		return err_set(err, -EPROTO, "/proc/loadavg does not look as it should: %.40s",
			       text);
	if (!threshold_feed(&s->level, one, now))
		return 0;
	what->ns = now;
	what->began_ns = s->level.for_ns ? s->level.began_ns : 0;
	sighting_add(what, "value=%.2f", one);
	sighting_add(what, "threshold=%g", s->level.threshold);
	sighting_add(what, "load5=%.2f", five);
	sighting_add(what, "load15=%.2f", fifteen);
	sighting_add(what, "runnable=%u", running);
	sighting_add(what, "threads=%u", tasks);
	return 1;
}

static void load_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "the load of one minute in /proc/loadavg");
	snprintf(out->costs, sizeof(out->costs), "a look each %d s, together with other rules",
		 RENEWED_S);
}

const struct source_ops source_load = {
	.name = "load",
	.syntax = "load>N",
	.help = "the load average over one minute is above (or below)",
	.example = "load>16",
	.open = load_open,
	.fd = load_fd,
	.ready = load_ready,
	.plan = load_plan,
	.close = load_close,
};
